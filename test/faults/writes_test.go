//go:build e2e

package faults

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// trial is an instance that goes to and fro between two commits, and what both look like when nothing fails.
type trial struct {
	*daemon
	text    [2]string
	want    [2]world
	writes  int // that a commit takes
	last    world
	foreign []client.Object
	pushed  int                  // how many commits were pushed
	fired   map[string]types.UID // the Jobs of schedules that were seen so far, by name
}

// newTrial starts an instance and has it go to both commits undisturbed.
func newTrial(t *testing.T) *trial {
	t.Helper()
	x := prepare(t)
	x.undisturbed(t)
	return x
}

// prepare makes an instance that has not been started.
func prepare(t *testing.T) *trial {
	t.Helper()
	return &trial{daemon: newDaemon(t), fired: map[string]types.UID{}}
}

// undisturbed starts the instance and has it go to both commits.
func (x *trial) undisturbed(t *testing.T) {
	t.Helper()
	x.foreign = x.daemon.foreign(t)
	if x.text[0] == "" {
		x.text[0], x.text[1] = mixed(x.name)
	}
	for i, text := range x.text {
		commit := x.push(t, text)
		if i == 0 {
			x.start(t)
		}
		x.proxy.arm(writes, many, nil)
		x.settled(t, commit, nil)
		x.writes = max(x.writes, x.proxy.count())
		var err error
		if x.want[i], err = x.world(t.Context()); err != nil {
			t.Fatal(err)
		}
		x.same(t, x.want[i])
		x.once(t)
	}
	x.last = x.want[1]
}

// texts are the contents of the commits, one after the other, after the undisturbed ones.
func (x *trial) texts(n int) string { return x.text[(n-1)%2] }

// check waits until the instance is where commit i leaves it.
func (x *trial) check(t *testing.T, i int, commit string) {
	t.Helper()
	x.settled(t, commit, nil)
	now := x.same(t, x.want[i])
	stayed(t, x.last, now)
	x.untouched(t, x.foreign)
	x.once(t)
	x.last = now
}

// push makes one of the commits, with an instant more, the newest.
func (x *trial) push(t *testing.T, text string) string {
	t.Helper()
	x.pushed++
	return x.repo.Push(t, map[string]string{"all.yaml": text + fmt.Sprintf(instant, x.name, x.pushed)})
}

// once waits for the Job of the newest instant, and fails where any fired again: each has one Job for ever, also where its
// schedule left and came back.
func (x *trial) once(t *testing.T) {
	t.Helper()
	x.Eventually(t, "the newest instant to fire", func(ctx context.Context) error {
		var list batchv1.JobList
		if err := x.client.List(ctx, &list, client.InNamespace(x.name)); err != nil {
			return err
		}
		for i := range list.Items {
			job := &list.Items[i]
			if job.Name == migration {
				continue
			}
			if first, ok := x.fired[job.Name]; ok && first != job.UID {
				t.Errorf("Job %s was made twice", job.Name)
			}
			x.fired[job.Name] = job.UID
		}
		newest := fmt.Sprintf("instant-%d", x.pushed)
		if _, ok := x.fired[newest]; !ok {
			return errors.New("no Job " + newest)
		}
		return nil
	})
}

// stride is how many writes lie between two that fail, where not every one does; many is more than there are.
const (
	stride = 23
	many   = 1 << 20
)

// places returns which of the n-th writes fail for the k-th way to fail: all, or a sample that differs by k.
func places(k int) (first, step int) {
	if *every {
		return 1, 1
	}
	return 1 + 5*k%stride, stride
}

// Each write fails in each way, in both directions: the daemon gets over it, and the end is the same.
func TestAnyWriteMayFail(t *testing.T) {
	t.Parallel()
	ways := []struct {
		name  string
		fault fault
	}{
		{"refused with 500", refuse(http.StatusInternalServerError, "InternalError")},
		{"refused with 503", refuse(http.StatusServiceUnavailable, "ServiceUnavailable")},
		{"refused with 429", busy},
		{"conflict", refuse(http.StatusConflict, "Conflict")},
		{"connection cut before", cut},
		{"answer lost", lose},
		{"time-out after success", late},
		{"half an answer", half},
	}
	var injected, runs atomic.Int64
	t.Cleanup(func() {
		t.Logf("%d runs, %d faults injected, all converged: %v", runs.Load(), injected.Load(), !t.Failed())
	})
	for k, way := range ways {
		t.Run(way.name, func(t *testing.T) {
			t.Parallel()
			x := newTrial(t)
			first, step := places(k)
			for n, struck := first, true; struck || n <= x.writes; n += step {
				struck = false
				for i, text := range x.text {
					x.proxy.arm(writes, n, way.fault)
					x.check(t, i, x.push(t, text))
					runs.Add(1)
					if what := x.proxy.disarm(); what != "" {
						injected.Add(1)
						struck = true
					}
				}
				struck = struck && *every
			}
		})
	}
}

// The daemon is killed at each write, before or after it is done, and starts again.
func TestAnyWriteMayBeTheLast(t *testing.T) {
	t.Parallel()
	var kills atomic.Int64
	t.Cleanup(func() { t.Logf("%d kills, all converged: %v", kills.Load(), !t.Failed()) })
	for k, name := range []string{"killed before", "killed after"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := newTrial(t)
			first, step := places(k)
			for n, struck := first, true; struck || n <= x.writes; n += step {
				struck = false
				for i, text := range x.text {
					g := newGate(name == "killed after")
					x.proxy.arm(writes, n, g.hold)
					commit := x.push(t, text)
					if !x.settled(t, commit, g.held) {
						x.kill(t)
						close(g.open)
						x.proxy.disarm()
						x.start(t)
						kills.Add(1)
						struck = true
					}
					x.check(t, i, commit)
				}
				struck = struck && *every
			}
		})
	}
}
