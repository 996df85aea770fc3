package schedule

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/tidelock/tidelock/internal/desired"
	"github.com/tidelock/tidelock/internal/redact"
)

// Config is what a Runner works with. All fields but Hidden and Now are required.
type Config struct {
	// Instance is the name of the daemon's instance; its runs are labelled with it.
	Instance string
	Jobs     Jobs
	Sight    Sight
	Ledger   Ledger
	Events   Events
	// Hidden takes secrets out of what the ledger, events and standings say.
	Hidden *redact.Shared
	// Logger hides them by itself.
	Logger *slog.Logger
	// Now is the wall clock; time.Now where it is nil.
	Now func() time.Time
}

// Runner fires schedules while Run runs. Its other methods are safe for concurrent use and never wait for the cluster.
type Runner struct {
	cfg     Config
	set     chan struct{}
	changed chan struct{}

	mu        sync.Mutex
	known     bool
	schedules []desired.Schedule
	standings map[desired.Key]Standing
	upcoming  []Upcoming
	version   uint64
	news      map[desired.Key]bool
	tally     Tally
}

// New returns a Runner that fires nothing yet.
func New(cfg Config) *Runner {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &Runner{
		cfg: cfg, set: make(chan struct{}, 1), changed: make(chan struct{}, 1),
		standings: map[desired.Key]Standing{}, news: map[desired.Key]bool{},
	}
}

// Set replaces the table of schedules. The list is shared and must not be changed. The same list again costs nothing.
func (r *Runner) Set(schedules []desired.Schedule) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.known && same(r.schedules, schedules) {
		return
	}
	r.known, r.schedules = true, schedules
	signal(r.set)
}

func same(a, b []desired.Schedule) bool { return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0]) }

// Forget makes the table unknown: nothing fires until Set is called again.
func (r *Runner) Forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.known, r.schedules = false, nil
}

// Standing returns what a schedule shows of itself; false where it is not known yet.
func (r *Runner) Standing(k desired.Key) (Standing, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s, ok := r.standings[k]
	return s, ok
}

// Upcoming returns the next few instants of all schedules, and a number that changes when anything about any of them does.
func (r *Runner) Upcoming() ([]Upcoming, uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.upcoming, r.version
}

// News returns the schedules whose standing changed since it was called last, in no order: one caller keeps up with them.
func (r *Runner) News() []desired.Key {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := slices.Collect(maps.Keys(r.news))
	clear(r.news)
	return out
}

// Tally returns what was done since the Runner was made.
func (r *Runner) Tally() Tally {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.tally
}

// count changes the tally.
func (r *Runner) count(change func(*Tally)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change(&r.tally)
}

// Changed has room for one value, and holds it once a standing has changed.
func (r *Runner) Changed() <-chan struct{} { return r.changed }

// Run fires what Set says until ctx is done. It must run in one process at a time; should there be another one all the same,
// nothing fires twice, and the slower of the two reads the ledger again.
func (r *Runner) Run(ctx context.Context) error {
	for {
		err := r.tenure(ctx)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.Is(err, ErrConflict):
			r.cfg.Logger.WarnContext(ctx, "the ledger of schedules was written by another; reading it again")
		default:
			return err
		}
	}
}

// tenure works from what the ledger says until ctx is done, or somebody else writes to it.
func (r *Runner) tenure(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	t := newTenure(r, cancel)
	defer t.wg.Wait()
	defer cancel(nil)
	if err := t.load(ctx); err != nil {
		return err
	}
	t.wg.Go(func() {
		err := r.cfg.Sight.Watch(ctx, func(s Seen) { t.post(ctx, func() { t.see(ctx, s) }) })
		if ctx.Err() == nil {
			cancel(fmt.Errorf("watch the Jobs of schedules: %w", err))
		}
	})
	r.mu.Lock()
	if r.known {
		signal(r.set)
	}
	r.mu.Unlock()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-r.set:
			t.replace(ctx)
		case then := <-t.results:
			then()
			t.drain()
		case <-timer.C:
		}
		t.fire(ctx)
		t.store(ctx)
		t.publish()
		timer.Reset(t.rest())
	}
}

// signal notes news in a channel with room for one.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// publish shows what changed since it was shown last.
func (t *tenure) publish() {
	if len(t.stale) == 0 {
		return
	}
	r := t.runner
	r.mu.Lock()
	defer r.mu.Unlock()
	changed := false
	for k := range t.stale {
		now, ok := t.standing(k)
		was, shown := r.standings[k]
		switch {
		case !ok && shown:
			delete(r.standings, k)
			changed, r.news[k] = true, true
		case ok && (!shown || !now.equal(was)):
			r.standings[k] = now
			changed, r.news[k] = true, true
		}
	}
	clear(t.stale)
	if next := t.table.soonest(); !slices.Equal(next, r.upcoming) {
		r.upcoming, changed = next, true
	}
	if changed {
		r.version++
		signal(r.changed)
	}
}

// standing is what a schedule of the table shows.
func (t *tenure) standing(k desired.Key) (Standing, bool) {
	e := t.table.entries[k]
	if e == nil {
		return Standing{}, false
	}
	s := Standing{Next: e.next, Ahead: !e.next.IsZero(), Suspended: e.Suspend, Active: t.active(k)}
	if e.Suspend {
		s.Ahead = !e.instants.Next(t.now()).IsZero()
	}
	for _, c := range e.record.Claims {
		if c.UID == "" {
			s.Active++
		}
		if c.why != "" {
			s.Waiting = c.why
		}
	}
	if last := e.record.Last; last != nil {
		run := *last
		s.Last = &run
	}
	if n := len(e.record.Misses); n > 0 {
		m := e.record.Misses[n-1]
		m.Told = false
		s.Missed = &m
	}
	return s, true
}

func (s Standing) equal(o Standing) bool {
	return s.Next.Equal(o.Next) && s.Ahead == o.Ahead && s.Active == o.Active && s.Suspended == o.Suspended && s.Waiting == o.Waiting &&
		equalRuns(s.Last, o.Last) && (s.Missed == nil) == (o.Missed == nil) && (s.Missed == nil || *s.Missed == *o.Missed)
}

func equalRuns(a, b *Run) bool {
	if a == nil || b == nil {
		return a == b
	}
	if (a.ExitCode == nil) != (b.ExitCode == nil) || a.ExitCode != nil && *a.ExitCode != *b.ExitCode {
		return false
	}
	return a.UID == b.UID && a.Outcome == b.Outcome && a.Started.Equal(b.Started) && a.Finished.Equal(b.Finished) && a.Reason == b.Reason
}
