package schedule

import (
	"context"
	"errors"
	"flag"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/tidelock/tidelock/internal/desired"
)

var lives = flag.Int("lives", 40, "how many random histories TestEachInstantRunsOnceOrIsReported goes through")

// Whatever is killed, fails, is deleted or jumps: in the end each instant has exactly one run or one reported miss.
func TestEachInstantRunsOnceOrIsReported(t *testing.T) {
	t.Parallel()
	for seed := range uint64(*lives) {
		synctest.Test(t, func(t *testing.T) {
			h := &history{r: rand.New(rand.NewPCG(seed, 0)), faults: rand.New(rand.NewPCG(seed, 1)), c: newCluster()}
			h.live(t)
			if t.Failed() {
				t.Fatalf("seed %d", seed)
			}
		})
	}
}

// history is one random history of a cluster and the daemons in it.
type history struct {
	r *rand.Rand
	c *cluster

	mu    sync.Mutex
	wrong time.Duration // the wall clock's error
	kill  func()        // ends the present life at the request that comes when fuse is 0
	fuse  int
	calm  bool
	// faults are drawn by requests, under mu; r belongs to the test.
	faults *rand.Rand
}

func (h *history) now() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return time.Now().Add(h.wrong)
}

// fault lets requests fail before or after they are carried out, and kills the daemon in their midst.
func (h *history) fault(string) (bool, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.calm {
		return true, nil
	}
	if h.fuse--; h.fuse == 0 {
		h.kill()
		return h.faults.IntN(2) == 0, context.Canceled
	}
	switch h.faults.IntN(12) {
	case 0:
		return false, errors.New("the server is on fire (503)")
	case 1:
		return true, context.DeadlineExceeded // done, and the answer was lost
	case 2:
		return false, context.DeadlineExceeded
	}
	return true, nil
}

func (h *history) schedules() []desired.Schedule {
	some := func() func(*desired.Schedule) {
		switch h.r.IntN(4) {
		case 0:
			return deadline(h.r.Int64N(300))
		case 1:
			return policy(batchv1.ForbidConcurrent)
		case 2:
			return policy(batchv1.ReplaceConcurrent)
		}
		return policy(batchv1.AllowConcurrent)
	}
	once := time.Date(2000, 1, 1, h.r.IntN(6), h.r.IntN(60), h.r.IntN(60), 0, time.UTC).Format(time.RFC3339)
	return []desired.Schedule{
		at("minutely", "* * * * *", some()), at("seven", "*/7 * * * *", some()), at("hourly", "0 * * * *", some()),
		at("once", once, some()), at("past", "1999-12-31T23:00:00Z", some()),
	}
}

func (h *history) live(t *testing.T) {
	t.Helper()
	h.c.fault = h.fault
	h.c.lasts = time.Duration(h.r.IntN(150)) * time.Second
	h.c.keeps = time.Duration(h.r.IntN(3)) * time.Minute
	list := h.schedules()
	var old *daemon
	for time.Now().Before(time.Date(2000, 1, 1, 8, 0, 0, 0, time.UTC)) {
		ctx, cancel := context.WithCancel(t.Context())
		h.mu.Lock()
		h.kill, h.fuse = cancel, 1+h.r.IntN(60)
		h.mu.Unlock()
		d := start(ctx, h.c, h.now, list...)
		for range h.r.IntN(12) {
			<-time.After(time.Duration(h.r.IntN(400)) * time.Second)
			h.disturb()
		}
		if old != nil {
			old.end() // it had lost the Lease, and did not know it for a while
			old = nil
		}
		if h.r.IntN(4) == 0 {
			old = d
			continue
		}
		cancel()
		d.end()
		<-time.After(time.Duration(h.r.IntN(1200)) * time.Second)
	}
	if old != nil {
		old.end()
	}
	h.settle(t, list)
}

// disturb does what people and machines do.
func (h *history) disturb() {
	switch h.r.IntN(4) {
	case 0:
		h.mu.Lock()
		h.wrong = time.Duration(h.r.IntN(7200)-3600) * time.Second
		h.mu.Unlock()
	case 1:
		h.c.mu.Lock()
		for k, j := range h.c.jobs {
			if !j.Pending { // by hand: nobody is that fast
				h.c.drop(k, j.UID)
				break
			}
		}
		h.c.mu.Unlock()
	}
}

// settle lets a last daemon live in peace, and looks at what has become of each instant.
func (h *history) settle(t *testing.T, list []desired.Schedule) {
	t.Helper()
	h.mu.Lock()
	h.calm, h.wrong = true, 0
	h.mu.Unlock()
	d := start(t.Context(), h.c, h.now, list...)
	<-time.After(time.Until(time.Now().Truncate(time.Minute).Add(3*time.Hour + 30*time.Second))) // between two instants
	d.end()
	<-time.After(time.Hour) // what still runs ends
	records := h.c.records(t)
	for _, s := range list {
		r := records[s.Key]
		if r == nil || len(r.Claims) > 0 {
			t.Errorf("%s: the record is %+v", s.Key, r)
			continue
		}
		h.account(t, s, r.Handled)
	}
	for _, j := range h.c.jobs {
		if j.Pending {
			t.Errorf("the Job %s was made and never let go", j.Key)
		}
	}
}

// account compares runs and misses with the instants that a schedule had.
func (h *history) account(t *testing.T, s desired.Schedule, handled time.Time) {
	t.Helper()
	i, err := desired.ParseSchedule(s.Schedule, s.TimeZone)
	if err != nil {
		t.Fatal(err)
	}
	missed := map[time.Time]int{}
	for m := range h.c.missed[s.Key] {
		for at := i.Next(m.From.Add(-1)); !at.IsZero() && !at.After(m.Until); at = i.Next(at) {
			missed[at.UTC()]++
		}
	}
	first := i.Next(time.Date(1999, 1, 1, 0, 0, 0, 0, time.UTC))
	if i.Repeats() { // from the first that anything is known of
		first = time.Time{}
		for at := range h.c.began[s.Key] {
			if first.IsZero() || at.Before(first) {
				first = at
			}
		}
		for at := range missed {
			if first.IsZero() || at.Before(first) {
				first = at
			}
		}
	}
	count := 0
	for at := first; !at.IsZero() && !at.After(handled); at = i.Next(at) {
		count++
		if runs, misses := h.c.began[s.Key][at.UTC()], missed[at.UTC()]; runs+misses != 1 {
			t.Errorf("%s (%+v): %s ran %d times and was reported as missed %d times", s.Name, s.ConcurrencyPolicy, stamp(at), runs, misses)
		}
	}
	if count == 0 && !i.Repeats() {
		t.Errorf("%s: no instant was handled", s.Name)
	}
}
