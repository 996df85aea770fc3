package schedule

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/tidelock/tidelock/internal/desired"
)

const (
	// glance is how often the wall clock is looked at: it may be set, and a laptop sleeps.
	glance = 30 * time.Second
	// patience is how long one request may take.
	patience = 30 * time.Second
	// atOnce is how many requests are under way at once, and notes how many more that no run waits for.
	atOnce, notes = 32, 4
	// firstRetry and lastRetry bound the back-off.
	firstRetry = time.Second
	lastRetry  = time.Minute
)

// tenure is what a Runner knows from one reading of the ledger on. It belongs to the goroutine of Run; requests are made
// beside it, and what they bring is done there.
type tenure struct {
	runner *Runner
	cancel context.CancelCauseFunc
	book   *book
	table  table
	// jobs are the runs that there are, by schedule and name; listed is set once the first list is in.
	jobs   map[desired.Key]map[string]Job
	listed bool
	// removed are the UIDs of those that are being deleted.
	removed map[string]bool
	// clock is what the wall clock showed last.
	clock time.Time
	// stale are the schedules whose standing may have changed.
	stale map[desired.Key]bool

	wg      sync.WaitGroup
	slots   chan struct{}
	aside   chan struct{}
	results chan func()
}

func newTenure(r *Runner, cancel context.CancelCauseFunc) *tenure {
	return &tenure{
		runner: r, cancel: cancel, book: newBook(), table: newTable(), jobs: map[desired.Key]map[string]Job{},
		removed: map[string]bool{}, stale: map[desired.Key]bool{}, slots: make(chan struct{}, atOnce),
		aside: make(chan struct{}, notes), results: make(chan func()),
	}
}

// now is the wall clock, which may be set back; the monotonic one would hide that.
func (t *tenure) now() time.Time { return t.runner.cfg.Now().Round(0) }

func (t *tenure) log() *slog.Logger { return t.runner.cfg.Logger }

// hide returns text without what is secret: answers of the API server, and of what it asks, may quote what it was sent.
func (t *tenure) hide(text string) string { return t.runner.cfg.Hidden.String(text) }

// rest is how long there is nothing to do.
func (t *tenure) rest() time.Duration {
	if e := t.table.first(); e != nil {
		return max(min(e.next.Sub(t.now()), glance), 0)
	}
	return glance
}

// beside makes a request in another goroutine, and then does what it returns in this one.
func (t *tenure) beside(ctx context.Context, request func(context.Context) func()) {
	t.within(ctx, t.slots, request)
}

// after makes a request that must not hold up a run.
func (t *tenure) after(ctx context.Context, request func(context.Context) func()) {
	t.within(ctx, t.aside, request)
}

func (t *tenure) within(ctx context.Context, slots chan struct{}, request func(context.Context) func()) {
	t.wg.Go(func() {
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			return
		}
		limited, cancel := context.WithTimeout(ctx, patience)
		then := request(limited)
		cancel()
		<-slots
		t.post(ctx, then)
	})
}

// drain does what else there is to do already, so that what came in together is stored by one write.
func (t *tenure) drain() {
	for {
		select {
		case then := <-t.results:
			then()
		default:
			return
		}
	}
}

// later does something in this goroutine after a while.
func (t *tenure) later(ctx context.Context, d time.Duration, then func()) {
	t.wg.Go(func() {
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-ctx.Done():
		case <-timer.C:
			t.post(ctx, then)
		}
	})
}

func (t *tenure) post(ctx context.Context, then func()) {
	select {
	case t.results <- then:
	case <-ctx.Done():
	}
}

// backOff doubles from firstRetry to lastRetry.
func backOff(tries int) time.Duration {
	const doublings = 6
	return min(firstRetry<<min(max(tries, 1)-1, doublings), lastRetry)
}
