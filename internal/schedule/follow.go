package schedule

import (
	"context"
	"fmt"
	"log/slog"
	"slices"

	"github.com/tidelock/tidelock/internal/desired"
)

// see takes in what the watch has seen.
func (t *tenure) see(ctx context.Context, s Seen) {
	gone := s.Gone
	if s.All {
		gone = t.missing(s.Jobs)
	}
	for _, j := range s.Jobs {
		was := t.jobs[j.Schedule][j.Name]
		t.note(j)
		if r := t.book.records[j.Schedule]; r != nil {
			t.settle(ctx, r, j, was)
		}
	}
	for _, j := range gone {
		t.gone(ctx, j)
	}
	if !s.All {
		return
	}
	t.listed = true
	for _, r := range t.book.records {
		t.lookFor(r)
		t.pursue(ctx, r)
		t.tell(ctx, r)
	}
}

// missing are the runs that are not in a full list.
func (t *tenure) missing(all []Job) []Job {
	there := make(map[string]bool, len(all))
	for _, j := range all {
		there[j.UID] = true
	}
	var out []Job
	for _, jobs := range t.jobs {
		for _, j := range jobs {
			if !there[j.UID] {
				out = append(out, j)
			}
		}
	}
	return out
}

// note remembers a run as it is.
func (t *tenure) note(j Job) {
	jobs := t.jobs[j.Schedule]
	if jobs == nil {
		jobs = map[string]Job{}
		t.jobs[j.Schedule] = jobs
	}
	jobs[j.Name] = j
	t.stale[j.Schedule] = true
}

// gone forgets a run; one that had not ended was deleted.
func (t *tenure) gone(ctx context.Context, j Job) {
	if t.jobs[j.Schedule][j.Name].UID != j.UID {
		return
	}
	delete(t.jobs[j.Schedule], j.Name)
	delete(t.removed, j.UID)
	if len(t.jobs[j.Schedule]) == 0 {
		delete(t.jobs, j.Schedule)
	}
	t.stale[j.Schedule] = true
	r := t.book.records[j.Schedule]
	if r == nil {
		return
	}
	if last := r.Last; last != nil && last.UID == j.UID && last.Outcome == Running && j.Outcome == Running {
		last.Outcome, last.Finished = Deleted, t.now()
		t.runner.count(func(n *Tally) { n.Deleted++ })
		t.book.touch(r)
	}
	t.rouse(ctx, r)
}

// lookFor notes that the last run went while nobody looked.
func (t *tenure) lookFor(r *record) {
	if last := r.Last; last != nil && last.Outcome == Running && t.jobs[r.key()][last.Job].UID != last.UID {
		last.Outcome = Unknown
		t.book.touch(r)
		t.stale[r.key()] = true
	}
}

// settle draws from a run what is to be drawn: that nobody wants it, that it goes on, or how it ended. was is how it was
// seen before.
func (t *tenure) settle(ctx context.Context, r *record, j, was Job) {
	last := r.Last
	if last != nil && last.UID != j.UID {
		last = nil
	}
	switch {
	case j.Pending && last == nil && r.claimOf(j.Instant) == nil && !j.Instant.After(r.Handled):
		// Made by a process that had lost the Lease: nobody will let it go.
		r.unwanted = append(r.unwanted, j)
		t.book.touch(r)
	case j.Outcome == Running:
		if last != nil && (last.Outcome == Deleted || last.Outcome == Unknown || !last.Started.Equal(j.Started)) {
			last.Outcome, last.Started = Running, j.Started // a list was older than the run
			t.book.touch(r)
		}
	case last != nil && last.Outcome != j.Outcome || was.UID == j.UID && was.Outcome == Running:
		t.ended(ctx, r, j)
	default:
		t.trim(ctx, j.Schedule)
	}
}

// ended notes how a run ended.
func (t *tenure) ended(ctx context.Context, r *record, j Job) {
	t.runner.count(func(n *Tally) {
		if j.Outcome == Failed {
			n.Failed++
		} else {
			n.Succeeded++
		}
	})
	if last := r.Last; last != nil && last.UID == j.UID {
		last.Outcome, last.Started, last.Finished, last.Reason = j.Outcome, j.Started, j.Finished, t.hide(j.Reason)
		t.book.touch(r)
	}
	t.after(ctx, func(limited context.Context) func() {
		code, err := t.runner.cfg.Sight.ExitCode(limited, j)
		return func() {
			if err != nil {
				t.log().DebugContext(ctx, "exit code not found", slog.String("job", j.Key.String()), slog.Any("error", err))
			}
			if code != nil && r.Last != nil && r.Last.UID == j.UID {
				r.Last.ExitCode = code
				t.book.touch(r)
				t.stale[r.key()] = true
			}
			if j.Outcome == Failed {
				t.event(ctx, Event{At: r.key(), Reason: ReasonFailed, Warning: true, Note: failureNote(j, code)})
			}
			t.trim(ctx, j.Schedule)
		}
	})
	t.rouse(ctx, r)
}

func failureNote(j Job, code *int32) string {
	note := fmt.Sprintf("Job %s for %s failed: %s", j.Name, stamp(j.Instant), j.Reason)
	if code != nil {
		note += fmt.Sprintf(", exit code %d", *code)
	}
	return note
}

// trim deletes finished runs beyond the schedule's limits, the oldest first.
func (t *tenure) trim(ctx context.Context, k desired.Key) {
	e := t.table.entries[k]
	if e == nil {
		return
	}
	var ended []Job
	for _, j := range t.jobs[k] {
		if j.Outcome != Running {
			ended = append(ended, j)
		}
	}
	slices.SortFunc(ended, func(a, b Job) int { return b.Instant.Compare(a.Instant) })
	left := map[Outcome]int32{Succeeded: e.SuccessfulJobsHistoryLimit, Failed: e.FailedJobsHistoryLimit}
	for _, j := range ended {
		if left[j.Outcome]--; left[j.Outcome] < 0 {
			t.remove(ctx, j)
		}
	}
}

// remove deletes a Job once; the watch tells that it is gone.
func (t *tenure) remove(ctx context.Context, j Job) {
	if t.removed[j.UID] {
		return
	}
	t.removed[j.UID] = true
	t.beside(ctx, func(limited context.Context) func() {
		err := t.runner.cfg.Jobs.Delete(limited, j)
		return func() {
			if err != nil {
				delete(t.removed, j.UID)
				t.log().DebugContext(ctx, "Job not deleted", slog.String("job", j.Key.String()), slog.Any("error", err))
			}
		}
	})
}

// active counts the runs of a schedule that go on.
func (t *tenure) active(k desired.Key) int {
	n := 0
	for _, j := range t.jobs[k] {
		if j.Outcome == Running {
			n++
		}
	}
	return n
}

// going are the runs of a schedule that go on, but for the one of a name, the oldest first.
func (t *tenure) going(k desired.Key, but string) []Job {
	var out []Job
	for _, j := range t.jobs[k] {
		if j.Outcome == Running && j.Name != but {
			out = append(out, j)
		}
	}
	slices.SortFunc(out, func(a, b Job) int { return a.Instant.Compare(b.Instant) })
	return out
}
