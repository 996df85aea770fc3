package reconcile

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/tidelock/tidelock/internal/desired"
	"github.com/tidelock/tidelock/internal/xds"
)

// How long things may take before the loop does something about it.
const (
	// switchDeadline is how long a route may wait for its new backend before the instance is Stalled and prunes the rest.
	switchDeadline = 5 * time.Minute
	// recheckAfter is how long a commit that the cluster refused rests before it is looked at again, without a write.
	recheckAfter = 2 * time.Minute
	// firstRetry and lastRetry bound the back-off after trouble.
	firstRetry = time.Second
	lastRetry  = time.Minute
	// glance is how often an instance that waits for something looks up, should no news come.
	glance = 5 * time.Second
)

// settle returns where a pass left the instance: a function of where it stood before, and what the pass found and did.
func settle(was standing, out outcome, at time.Time) standing {
	now := was
	now.refused, now.unknown, now.trouble = out.newest.refused, out.newest.unknown, out.err
	now.result = out.result
	now.failures = 0
	if out.err != nil || len(out.result.Failed) > 0 {
		now.failures = was.failures + 1
	}
	now.again = false
	if !out.acted {
		if len(out.want.waits) > 0 {
			now.waits = out.want.waits
		}
		return now
	}
	now.accepted, now.thought = out.want.commit, out.want
	now.published, now.mocks = out.published, out.mocks
	now.live, now.full = inForce(was, out)
	now.waits = out.waits()
	now.since = since(was.since, now.waits, at)
	now.again = wrote(out) || !sameMocks(was.mocks, out.mocks)
	if wrote(out) {
		// A plan that was carried out is no ground for the next one.
		now.thought.key, now.last = key{}, out.result
	}
	return now
}

func wrote(out outcome) bool {
	r := out.result
	return len(r.Created)+len(r.Changed)+len(r.Pruned)+len(r.Released) > 0
}

// inForce returns, by group, the routes that its proxies may serve from now on, and the commit that they serve in full.
func inForce(was standing, out outcome) (map[string][]desired.Route, map[string]string) {
	live, full := maps.Clone(was.live), maps.Clone(was.full)
	if live == nil {
		live, full = map[string][]desired.Route{}, map[string]string{}
	}
	for _, snap := range out.want.snapshots {
		progress := out.published[snap.Group]
		if progress.Reverted {
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

// next returns how long the loop may rest if no news comes, and whether it may rest at all; 0 means for ever.
func (s standing) next(at time.Time) (rest time.Duration, goOn bool) {
	var rests []time.Duration
	switch {
	case s.failures > 0:
		rests = append(rests, backOff(s.failures))
	case s.again:
		return 0, true
	case len(s.waits) > 0 || s.unknown != nil:
		rests = append(rests, glance)
	}
	if s.refused != nil && !s.refused.again.IsZero() {
		rests = append(rests, max(s.refused.again.Sub(at), firstRetry))
	}
	if len(rests) == 0 {
		return 0, false
	}
	return slices.Min(rests), false
}

// settled reports whether nothing is left to do.
func (s standing) settled() bool {
	return s.accepted.known() && s.refused == nil && s.unknown == nil && s.trouble == nil &&
		len(s.waits) == 0 && len(s.result.Failed) == 0 && len(s.rejections()) == 0 && !s.again
}

// rejections are what proxies said against what is published now, by group.
func (s standing) rejections() []xds.Rejection {
	var out []xds.Rejection
	for _, group := range slices.Sorted(maps.Keys(s.published)) {
		out = append(out, s.published[group].Rejections...)
	}
	return out
}

// verdict is why the newest commit will not come in by itself.
func (s standing) verdict() error {
	switch {
	case s.refused != nil:
		return fmt.Errorf("%s is refused:\n%w", s.refused.rev, s.refused.err)
	case s.unknown != nil && !s.accepted.known():
		return s.unknown
	default:
		return nil
	}
}

// overdue are the waits that have gone on for longer than they may.
func (s standing) overdue(at time.Time) []desired.Wait {
	var out []desired.Wait
	for _, w := range s.waits {
		if at.Sub(began(s.since, w, at)) >= switchDeadline {
			out = append(out, w)
		}
	}
	return out
}

// backOff doubles from firstRetry to lastRetry.
func backOff(failures int) time.Duration {
	const doublings = 6
	return min(firstRetry<<min(failures-1, doublings), lastRetry)
}
