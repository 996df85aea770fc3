package reconcile

import (
	"maps"
	"slices"
	"time"

	"github.com/tidelock/tidelock/internal/apply"
	"github.com/tidelock/tidelock/internal/desired"
)

// switchDeadline is how long a route may wait for its new backend before the instance is Stalled and prunes the rest.
const switchDeadline = 5 * time.Minute

// settle returns where a pass left the instance: a function of where it stood before, and what the pass found and did.
func settle(was standing, out outcome, at time.Time) standing {
	now := was
	now.spec, now.generation, now.asked = out.newest.spec, out.newest.generation, out.look.asked
	now.refused, now.unknown, now.unchecked = out.newest.refused, out.newest.unknown, out.newest.unchecked
	now.checking, now.trouble = out.newest.checking, out.err
	if !out.acted {
		// Nothing was done, so what failed before is as it was.
		now.result = apply.Result{Failed: was.result.Failed, Contested: was.result.Contested, Kept: was.result.Kept}
		now.again = 0
		return now.backingOff(was, at)
	}
	now.accepted, now.thought = out.want.commit, out.want
	now.writing, now.pruning = out.writing, out.pruning
	now.published, now.mocks, now.result = out.published, out.mocks, out.result
	now.live, now.full = inForce(was, out)
	now.waits = out.waits()
	now.since = since(was.since, now.waits, at)
	now.shown = shownSince(was.shown, out, now.waits, at)
	now.drift = drifted(was.drift, out.result.Corrected, at)
	if !now.accepted.is(was.accepted) {
		now.lost, now.released, now.done = nil, nil, nil
		now.remarks = out.want.plan.Warnings
		now.told.sync = nil // it was told of the acceptance
	}
	now.done = now.done.with(out.result)
	if wrote(out) {
		now.released = merge(now.released, out.result.Released)
	}
	if wrote(out) || len(out.result.Failed) > 0 || out.err != nil {
		// A plan that was carried out, or could not be, is no ground for the next one.
		now.thought.key = key{}
	}
	now.again = 0
	if wrote(out) || !sameMocks(was.mocks, out.mocks) {
		now.again = was.again + 1
	}
	return now.backingOff(was, at)
}

// backingOff counts the passes that ended in trouble. One that news of something else brought about does not count.
func (s standing) backingOff(was standing, at time.Time) standing {
	switch {
	case s.trouble == nil && s.unknown == nil && s.unchecked == nil:
		s.failures, s.retry = 0, time.Time{}
	case !at.Before(was.retry):
		s.failures = was.failures + 1
		s.retry = at.Add(backOff(s.failures))
	}
	return s
}

func wrote(out outcome) bool {
	r := out.result
	return len(r.Created)+len(r.Changed)+len(r.Pruned)+len(r.Released) > 0
}

func merge(a, b []desired.ID) []desired.ID {
	all := slices.Concat(a, b)
	slices.SortFunc(all, desired.ID.Compare)
	return slices.Compact(all)
}

// inForce returns, by group, the routes that its proxies may serve from now on, and the commit that they serve in full.
func inForce(was standing, out outcome) (map[string][]desired.Route, map[string]string) {
	live, full := maps.Clone(was.live), maps.Clone(was.full)
	if live == nil {
		live, full = map[string][]desired.Route{}, map[string]string{}
	}
	for i := range out.want.snapshots {
		snap := &out.want.snapshots[i]
		progress := out.published[snap.Group]
		if progress.Reverted {
			if routes, ok := out.reverted[snap.Group]; ok {
				live[snap.Group] = routes
			}
			continue
		}
		live[snap.Group] = snap.InForce
		if progress.Settled && len(snap.Held) == 0 {
			full[snap.Group] = snap.Commit
		}
	}
	return live, full
}

// waits is all that a pass left outstanding, sorted, each once.
func (out outcome) waits() []desired.Wait {
	waits := slices.Concat(out.want.waits, out.want.plan.Waits, out.result.Waits, out.held())
	for _, p := range out.published {
		waits = append(waits, p.Waits...)
	}
	slices.SortFunc(waits, desired.Wait.Compare)
	return slices.Compact(waits)
}

// since keeps the moment at which each wait began. A wait belongs to its content, so a newer commit does not push it out.
func since(was map[desired.Wait]time.Time, waits []desired.Wait, at time.Time) map[desired.Wait]time.Time {
	if len(waits) == 0 {
		return nil
	}
	now := make(map[desired.Wait]time.Time, len(waits))
	for _, w := range waits {
		now[w] = began(was, w, at)
	}
	return now
}

func began(since map[desired.Wait]time.Time, w desired.Wait, at time.Time) time.Time {
	if t, ok := since[w]; ok {
		return t
	}
	return at
}
