package reconcile

import (
	"maps"
	"slices"
	"time"

	"github.com/tidelock/tidelock/api/v1alpha1"
	"github.com/tidelock/tidelock/internal/apply"
	"github.com/tidelock/tidelock/internal/desired"
	"github.com/tidelock/tidelock/internal/schedule"
)

// schedule replaces the table of schedules by that of the commit in force. A run whose At or Namespace could not be written
// yet waits for it by itself.
func (l *Loop) schedule(out outcome) {
	if l.Schedules != nil {
		l.Schedules.Set(out.want.commit.state.Schedules)
	}
}

// runs changes when the standing of any schedule does.
func (l *Loop) runs() uint64 {
	if l.Schedules == nil {
		return 0
	}
	_, version := l.Schedules.Upcoming()
	return version
}

// fired are the schedules whose standing changed since the last report.
func (l *Loop) fired() []desired.Key {
	if l.Schedules == nil {
		return nil
	}
	return l.Schedules.News()
}

// toldOfRuns notes and returns the new statuses of some Ats, where nothing else is new: one that fires costs what it is, and
// not what all others are. What was told belongs to the loop alone, and a report that fails forgets it.
func (l *Loop) toldOfRuns(now standing, ats []desired.Key) []apply.ObjectStatus {
	objects, entries, remarks := now.accepted.state.Objects, l.Cluster.Inventory().Entries, l.remarks(now)
	some := map[desired.ID]toldOf{}
	for _, k := range ats {
		id := desired.ID{Group: v1alpha1.Group, Kind: v1alpha1.KindAt, Namespace: k.Namespace, Name: k.Name}
		i, ok := slices.BinarySearchFunc(objects, id, func(o desired.Object, id desired.ID) int { return o.Compare(id) })
		if !ok {
			continue
		}
		if s, known := l.statusOf(now, &objects[i], entries[id], remarks); known {
			some[id] = s
		}
	}
	news := newStatuses(now.told.objects, some)
	maps.Copy(now.told.objects, some)
	return news
}

// runsOf returns how the schedule of an object stands; false where it has one and that is not known: the ledger is not read
// yet, or nothing fires here.
func (l *Loop) runsOf(o *desired.Object) (schedule.Standing, bool) {
	if o.Kind != v1alpha1.KindAt {
		return schedule.Standing{}, true
	}
	if l.Schedules == nil {
		return schedule.Standing{}, false
	}
	return l.Schedules.Standing(desired.Key{Namespace: o.Namespace, Name: o.Name})
}

// nextRuns are the next instants, as the Sync shows them.
func (l *Loop) nextRuns() []string {
	if l.Schedules == nil {
		return nil
	}
	upcoming, _ := l.Schedules.Upcoming()
	var out []string
	for _, u := range upcoming {
		out = append(out, stamp(u.At)+" At "+u.Key.String())
	}
	return out
}

// atStatus is what an At shows: how its schedule stands, beside what keeps the object itself from being in.
func (l *Loop) atStatus(standing schedule.Standing, s v1alpha1.Status) v1alpha1.AtStatus {
	s.Phase = phaseOf(standing)
	out := v1alpha1.AtStatus{Status: s, NextRun: stamp(standing.Next), Active: count(standing.Active)}
	if r := standing.Last; r != nil {
		out.LastRun = &v1alpha1.AtRun{
			Instant: stamp(r.At), Job: r.Job, Outcome: string(r.Outcome), Started: stamp(r.Started), Finished: stamp(r.Finished),
			ExitCode: r.ExitCode, Reason: l.hide(r.Reason),
		}
	}
	if m := standing.Missed; m != nil {
		out.LastMissed = &v1alpha1.AtMissed{
			From: stamp(m.From), Until: stamp(m.Until), Count: count(m.Count), Reason: bounded(l.hide(m.Reason)),
		}
	}
	text := bounded(l.hide(words(standing)))
	if out.Message == "" {
		out.Message = text
	}
	if standing.Waiting != "" {
		out.Conditions[0] = condition(v1alpha1.ConditionReady, false, v1alpha1.PhaseWaiting, text)
	}
	switch {
	case missedLast(standing):
		out.Conditions = append(out.Conditions, condition(v1alpha1.ConditionSucceeded, false, "Missed", text))
	case standing.Last != nil && standing.Last.Outcome != schedule.Running:
		ok, reason := standing.Last.Outcome == schedule.Succeeded, string(standing.Last.Outcome)
		out.Conditions = append(out.Conditions, condition(v1alpha1.ConditionSucceeded, ok, reason, l.hide(standing.Last.Reason)))
	}
	return out
}

// words say what is not as one might expect.
func words(s schedule.Standing) string {
	switch {
	case s.Waiting != "":
		return "an instant has come and waits: " + s.Waiting
	case missedLast(s):
		return s.Missed.String()
	case s.Suspended:
		return "suspended"
	}
	return ""
}

// missedLast reports whether the latest instant that has come did not run.
func missedLast(s schedule.Standing) bool {
	return s.Missed != nil && (s.Last == nil || s.Missed.Until.After(s.Last.At))
}

func phaseOf(s schedule.Standing) string {
	switch {
	case s.Active > 0:
		return v1alpha1.AtRunning
	case s.Ahead || s.Last == nil && s.Missed == nil:
		return v1alpha1.AtPending
	case missedLast(s) || s.Last.Outcome == schedule.Failed || s.Last.Outcome == schedule.Deleted:
		return v1alpha1.AtFailed
	default:
		return v1alpha1.AtDone
	}
}

// stamp writes a time as a status has it; nothing for none.
func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

func count(n int) int32 { return int32(min(n, 1<<30)) } //nolint:gosec // bounded
