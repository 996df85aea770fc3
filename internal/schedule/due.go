package schedule

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/tidelock/tidelock/internal/desired"
)

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
	r.miss(&Missed{From: c.At, Until: c.At, Count: 1, Reason: t.hide(reason)})
	t.book.touch(r)
	t.stale[r.key()] = true
}
