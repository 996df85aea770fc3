package schedule

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/tidelock/tidelock/internal/desired"
)

const (
	// glance is how often the wall clock is looked at: it may be set, and a laptop sleeps.
	glance = 30 * time.Second
	// patience is how long one request may take.
	patience = 30 * time.Second
	// atOnce is how many requests are under way at once.
	atOnce = 16
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
	results chan func()
}

func newTenure(r *Runner, cancel context.CancelCauseFunc) *tenure {
	return &tenure{
		runner: r, cancel: cancel, book: newBook(), table: newTable(), jobs: map[desired.Key]map[string]Job{},
		removed: map[string]bool{}, stale: map[desired.Key]bool{}, slots: make(chan struct{}, atOnce), results: make(chan func()),
	}
}

// now is the wall clock, which may be set back; the monotonic one would hide that.
func (t *tenure) now() time.Time { return t.runner.cfg.Now().Round(0) }

func (t *tenure) log() *slog.Logger { return t.runner.cfg.Logger }

// load reads the ledger; it tries until that works.
func (t *tenure) load(ctx context.Context) error {
	for try := 1; ; try++ {
		pages, err := t.runner.cfg.Ledger.Load(ctx)
		if err == nil {
			return t.read(pages)
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		t.log().WarnContext(ctx, "the ledger of schedules cannot be read; trying again", slog.Any("error", err))
		timer := time.NewTimer(backOff(try))
		select {
		case <-ctx.Done():
		case <-timer.C:
		}
		timer.Stop()
	}
}

func (t *tenure) read(pages []Page) error {
	slices.SortFunc(pages, func(a, b Page) int { return a.Number - b.Number })
	for _, p := range pages {
		if err := t.book.read(p); err != nil {
			return err
		}
	}
	return nil
}

// replace takes a new table of schedules in.
func (t *tenure) replace(ctx context.Context) {
	t.runner.mu.Lock()
	known, list := t.runner.known, t.runner.schedules
	t.runner.mu.Unlock()
	if !known {
		return
	}
	now, old := t.now(), t.table
	t.table = newTable()
	for i := range list {
		s := &list[i]
		e := &entry{Schedule: s, place: -1}
		if was := old.entries[s.Key]; was != nil && was.Schedule.Schedule == s.Schedule && was.TimeZone == s.TimeZone {
			e.instants = was.instants
		} else if parsed, err := desired.ParseSchedule(s.Schedule, s.TimeZone); err == nil {
			e.instants = parsed
		} else {
			t.log().ErrorContext(ctx, "schedule not understood", slog.String("at", s.Key.String()), slog.Any("error", err))
			continue
		}
		t.enter(e, now)
	}
	for k := range old.entries {
		t.stale[k] = true
	}
	for _, r := range t.book.left(func(k desired.Key) bool { return t.table.entries[k] != nil }, now) {
		t.pursue(ctx, r)
	}
	t.book.forget()
	for _, e := range t.table.entries {
		t.pursue(ctx, e.record)
	}
}

// enter puts a schedule into the table.
func (t *tenure) enter(e *entry, now time.Time) {
	if e.record = t.book.records[e.Key]; e.record == nil {
		e.record = t.book.add(e.Key)
	}
	if !e.record.arms(e.Schedule) {
		e.record.arm(e.Schedule, e.instants, now)
		t.book.touch(e.record)
	}
	t.rewind(e.record, now)
	t.table.entries[e.Key] = e
	t.stale[e.Key] = true
	t.plan(e)
}

// plan sets when a schedule is due: at the first instant that is not handled.
func (t *tenure) plan(e *entry) {
	next := time.Time{}
	if !e.Suspend {
		next = e.instants.Next(e.record.Handled)
	}
	t.table.plan(e, next)
	t.stale[e.Key] = true
}

// fire decides about what is due.
func (t *tenure) fire(ctx context.Context) {
	now := t.now()
	if now.Before(t.clock.Add(-farAhead)) {
		t.setBack(ctx, now)
	}
	t.clock = now
	for e := t.table.first(); e != nil && !e.next.After(now); e = t.table.first() {
		t.due(e, now)
	}
}

// due claims the latest instant of a schedule that has come.
func (t *tenure) due(e *entry, now time.Time) {
	r := e.record
	d := decide(e.instants, r.Handled, now, e.StartingDeadlineSeconds)
	r.Handled = d.handled
	r.miss(d.missed)
	t.book.touch(r)
	if !d.run.IsZero() && !d.run.Equal(r.Early) {
		for _, c := range slices.Clone(r.Claims) {
			if c.UID == "" && !c.busy {
				t.giveUp(r, c, "a later instant came before it could run"+because(c.why))
			}
		}
		r.Claims = append(r.Claims, &claim{At: d.run, saved: t.book.touch(r)})
	}
	t.plan(e)
}

// setBack has schedules go on from now whose instants were handled while the clock was far ahead.
func (t *tenure) setBack(ctx context.Context, now time.Time) {
	for _, e := range t.table.entries {
		if t.rewind(e.record, now) {
			t.log().WarnContext(ctx, "the clock was set back: schedule goes on from now", slog.String("at", e.Key.String()))
			t.plan(e)
		}
	}
}

// rewind makes a record that is far ahead of the clock one of now; what ran ahead of it does not run again.
func (t *tenure) rewind(r *record, now time.Time) bool {
	if !r.Handled.After(now.Add(farAhead)) {
		return false
	}
	r.Handled = now
	if at := r.lastAt(); at.After(now) {
		r.Early = at
	}
	t.book.touch(r)
	return true
}

func because(why string) string {
	if why == "" {
		return ""
	}
	return ": " + why
}

// giveUp ends a claim without a run. A Job of it that an earlier life made, or a request that seemed to fail, goes.
func (t *tenure) giveUp(r *record, c *claim, reason string) {
	r.drop(c)
	for _, j := range t.jobs[r.key()] {
		if j.Pending && j.Instant.Equal(c.At) {
			r.unwanted = append(r.unwanted, j)
		}
	}
	r.miss(&Missed{From: c.At, Until: c.At, Count: 1, Reason: reason})
	t.book.touch(r)
	t.stale[r.key()] = true
}

// rest is how long there is nothing to do.
func (t *tenure) rest() time.Duration {
	if e := t.table.first(); e != nil {
		return max(min(e.next.Sub(t.now()), glance), 0)
	}
	return glance
}

// beside makes a request in another goroutine, and then does what it returns in this one.
func (t *tenure) beside(ctx context.Context, request func(context.Context) func()) {
	t.wg.Go(func() {
		select {
		case t.slots <- struct{}{}:
		case <-ctx.Done():
			return
		}
		limited, cancel := context.WithTimeout(ctx, patience)
		then := request(limited)
		cancel()
		<-t.slots
		t.post(ctx, then)
	})
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

// store saves the pages that changed. A page is saved by one request at a time.
func (t *tenure) store(ctx context.Context) {
	for p := range t.book.dirty {
		if !p.saving {
			delete(t.book.dirty, p)
			t.save(ctx, p)
		}
	}
}

func (t *tenure) save(ctx context.Context, p *page) {
	data, err := p.data()
	if err != nil {
		t.cancel(fmt.Errorf("encode the ledger of schedules: %w", err))
		return
	}
	state, version := p.state, p.version
	p.saving = true
	p.sent[sha256.Sum256(data)] = true
	t.beside(ctx, func(limited context.Context) func() {
		version, err := t.runner.cfg.Ledger.Save(limited, Page{Number: p.number, Version: version, Data: data})
		return func() { t.saved(ctx, p, state, version, err) }
	})
}

// saved goes on from the answer to a save.
func (t *tenure) saved(ctx context.Context, p *page, state int, version string, err error) {
	switch {
	case err == nil:
		p.version, p.stored, p.tries, p.saving = version, state, 0, false
		clear(p.sent)
		for _, r := range p.records {
			t.pursue(ctx, r)
			t.tell(ctx, r)
		}
	case errors.Is(err, ErrConflict):
		t.reread(ctx, p)
	default:
		t.again(ctx, p, err)
	}
}

// again saves a page later.
func (t *tenure) again(ctx context.Context, p *page, err error) {
	if p.tries++; p.tries == 1 {
		t.log().WarnContext(ctx, "the ledger of schedules is not written; trying again", slog.Any("error", err))
	}
	t.later(ctx, backOff(p.tries), func() {
		p.saving = false
		t.book.dirty[p] = true
	})
}

// reread finds out who wrote a page: a request of ours whose answer was lost, or somebody else.
func (t *tenure) reread(ctx context.Context, p *page) {
	t.beside(ctx, func(limited context.Context) func() {
		pages, err := t.runner.cfg.Ledger.Load(limited)
		return func() {
			if err != nil {
				t.again(ctx, p, err)
				return
			}
			i := slices.IndexFunc(pages, func(stored Page) bool { return stored.Number == p.number })
			switch {
			case i < 0: // somebody removed it
				p.version = ""
			case p.sent[sha256.Sum256(pages[i].Data)]:
				p.version = pages[i].Version
			default:
				t.cancel(ErrConflict)
				return
			}
			p.saving = false
			t.book.dirty[p] = true
		}
	})
}
