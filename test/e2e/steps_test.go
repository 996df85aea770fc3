//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/tidelock/tidelock/api/v1alpha1"
	"github.com/tidelock/tidelock/test/env"
)

// seen is one answer: who gave it, and when it was asked for and had.
type seen struct {
	asked, had time.Time
	who        string
	err        error
}

// stepping is the split of who, whose weights change at each of two instants.
func stepping(ns string, port int, first, second time.Time) string {
	steps := fmt.Sprintf("  steps:\n  - {at: %q, weights: {v1: 0, v2: 100}}\n  - {at: %q, weights: {v1: 100, v2: 0}}\n",
		first.Format(time.RFC3339Nano), second.Format(time.RFC3339Nano))
	return strings.Replace(split(ns, 100, 0, port), "  targets:\n", steps+"  targets:\n", 1)
}

// Envoy follows the clock: no push, no request lost, and a restart between the steps changes nothing.
func TestWeightsStepAtTheirInstant(t *testing.T) {
	t.Parallel()
	r := env.NewRepo(t)
	d := newDaemon(t, r, "--local-mocks")
	ns, port := d.namespace, env.FreePort(t)
	url := fmt.Sprintf("http://127.0.0.1:%d/who", port)
	mocks := answering(ns, "v1", "one") + "---\n" + answering(ns, "v2", "two")
	d.begin(t, r, files{"mocks.yaml": mocks, "routes.yaml": split(ns, 100, 0, port)})
	d.envoy(t)
	d.Eventually(t, "the first answer", func(ctx context.Context) error {
		_, err := get(ctx, url, whoHost)
		return err
	})

	first := time.Now().Add(4 * time.Second).Truncate(time.Millisecond)
	second := first.Add(1500 * time.Millisecond)
	commit := r.Push(t, files{"routes.yaml": stepping(ns, port, first, second)})
	d.settled(t, commit)
	if !time.Now().Before(first) {
		t.Fatal("the commit came in after the instant of its first step: this machine is too slow for this test")
	}
	d.weights(t, "v1=100 v2=0")
	answers := askUntil(t, url, second.Add(time.Second))
	lags := []time.Duration{lag(t, answers, first, second, "two"), lag(t, answers, second, second.Add(time.Second), "one")}
	t.Logf("%d requests; Envoy followed %s and %s after the instants", len(answers), lags[0], lags[1])
	const most = time.Second // two cores, many tests; alone it is some ten milliseconds
	if slices.Max(lags) > most {
		t.Errorf("Envoy followed after %s, want at most %s", lags, most)
	}
	d.weights(t, "v1=100 v2=0")

	d.Kill(t)
	d.start(t)
	d.settled(t, commit)
	d.Eventually(t, "the mocks of the new process", func(ctx context.Context) error { // they moved with it
		body, err := get(ctx, url, whoHost)
		if err == nil && !strings.Contains(body, "one") {
			t.Errorf("after a restart: answered by %q", body)
		}
		return err
	})
	d.weights(t, "v1=100 v2=0")
	d.Stop(t)
}

// begin pushes the first commit, starts the daemon, and waits for it.
func (d *daemon) begin(t *testing.T, r *env.Repo, f files) {
	t.Helper()
	commit := r.Push(t, f)
	d.start(t)
	d.settled(t, commit)
}

// weights waits until the status of the split of who shows them.
func (d *daemon) weights(t *testing.T, want string) {
	t.Helper()
	d.Eventually(t, "the weights in the split's status", func(ctx context.Context) error {
		var s v1alpha1.TrafficSplit
		err := d.client.Get(ctx, client.ObjectKey{Namespace: d.namespace, Name: "who"}, &s)
		if err == nil && s.Status.Weights != want {
			err = errors.New("weights " + s.Status.Weights)
		}
		return err
	})
}

// askUntil asks without a pause, two at a time, until an instant.
func askUntil(t *testing.T, url string, end time.Time) []seen {
	t.Helper()
	var mu sync.Mutex
	var out []seen
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for time.Now().Before(end) {
				s := seen{asked: time.Now()}
				s.who, s.err = get(t.Context(), url, whoHost)
				s.had = time.Now()
				mu.Lock()
				out = append(out, s)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return out
}

// lag is how long after an instant the last answer of anybody else than who was given; before the instant none is who's.
func lag(t *testing.T, answers []seen, at, until time.Time, who string) time.Duration {
	t.Helper()
	var last time.Duration
	for _, s := range answers {
		switch is := strings.Contains(s.who, who); {
		case s.err != nil:
			t.Errorf("a request was lost: %v", s.err)
		case is && s.had.Before(at) && at.Sub(s.had) < time.Second:
			t.Errorf("%q answered %s before its instant", who, at.Sub(s.had))
		case !is && s.asked.After(at) && s.asked.Before(until):
			last = max(last, s.asked.Sub(at))
		}
	}
	return last
}
