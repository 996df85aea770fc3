package reconcile

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/tidelock/tidelock/internal/apply"
	"github.com/tidelock/tidelock/internal/desired"
)

// prune deletes what left the repository, once nothing can need it any more: everything is in, every route has switched,
// and the proxies have let go.
func (l *Loop) prune(ctx context.Context, out outcome, was standing) outcome {
	defer l.watch.enter(stepPrune)()
	plan := out.want.plan
	if len(plan.Prunes) == 0 && !l.mocksToEnd(out) {
		return out
	}
	why := out.holdsPrune(was.since, l.now())
	if len(was.unserved) > 0 {
		why = append(why, desired.Wait{For: "prune", Until: "proxies " + strings.Join(was.unserved, ", ") + " to be served: tidelock run"})
	}
	if len(why) > 0 {
		out.result.Waits = append(out.result.Waits, why...)
		return out
	}
	digest := func() string { return digestOf(plan.Prunes) }
	if was.pruning.rests(digest, l.now()) {
		out.pruning = was.pruning
		out.result.Add(was.pruning.left)
		return out
	}
	spared := spare(out.want)
	res, err := l.Cluster.Prune(ctx, plan, spared.keeps)
	if len(res.Failed) > 0 {
		out.pruning = was.pruning.next(digestOf(remaining(plan.Prunes, res)), res, l.now())
	}
	out.result.Add(res)
	out.err = errors.Join(out.err, err)
	return l.endMocks(ctx, out, spared)
}

// remaining are the changes that a prune did not make.
func remaining(prunes []apply.Change, res apply.Result) []apply.Change {
	done := map[desired.ID]bool{}
	for _, id := range slices.Concat(res.Pruned, res.Released) {
		done[id] = true
	}
	return slices.DeleteFunc(slices.Clone(prunes), func(c apply.Change) bool { return done[c.ID] })
}

func digestOf(changes []apply.Change) string {
	ids := make([]string, len(changes))
	for i := range changes {
		ids[i] = changes[i].Group + " " + changes[i].String()
	}
	slices.Sort(ids)
	return strings.Join(ids, "\n")
}

// holdsPrune says what must happen before anything may be deleted, each thing once. A route that has been held back for too
// long holds back only what it reaches, and an object that others fight for is in.
func (out outcome) holdsPrune(since map[desired.Wait]time.Time, at time.Time) []desired.Wait {
	var why []desired.Wait
	hold := func(until string) { why = append(why, desired.Wait{For: "prune", Until: until}) }
	if out.err != nil {
		hold("a pass without an error")
	}
	if n := len(out.result.Failed); n > 0 {
		hold(fmt.Sprintf("%d failed writes to succeed", n))
	}
	for _, w := range out.want.waits {
		hold(w.Until)
	}
	for _, w := range out.result.Waits {
		if !slices.ContainsFunc(out.result.Contested, func(id desired.ID) bool { return id.String() == w.For }) {
			hold(w.For + " to be in")
		}
	}
	for _, w := range out.held() {
		if at.Sub(began(since, w, at)) < switchDeadline {
			hold("the switch of " + w.For)
		}
	}
	for _, group := range slices.Sorted(maps.Keys(out.published)) {
		if !out.published[group].Settled {
			hold("proxies " + groupName(group) + " to take the configuration")
		}
	}
	slices.SortFunc(why, desired.Wait.Compare)
	return slices.Compact(why)
}

// groupName names a group, also the nameless one.
func groupName(group string) string {
	if group == "" {
		return "(unnamed)"
	}
	return group
}

// held are the switches that wait for a backend, each once.
func (out outcome) held() []desired.Wait {
	var waits []desired.Wait
	for i := range out.want.snapshots {
		waits = append(waits, out.want.snapshots[i].Held...)
	}
	slices.SortFunc(waits, desired.Wait.Compare)
	return slices.Compact(waits)
}

// spared is what routes reach that should have switched and have not: by namespace, since which pods and settings are
// behind a Service is not known here, and by mock.
type spared struct {
	namespaces map[string]string
	mocks      map[desired.Key]bool
}

// spare finds what only the routes reach that are held back.
func spare(want thought) spared {
	out := spared{namespaces: map[string]string{}, mocks: map[desired.Key]bool{}}
	for i := range want.snapshots {
		snap := &want.snapshots[i]
		if len(snap.Held) == 0 {
			continue
		}
		why := "the switch of " + snap.Held[0].For
		for _, r := range missing(snap.InForce, inGroup(want.commit.state.Routes, snap.Group)) {
			for u := range r.Upstreams() {
				if u.Service != (desired.Key{}) {
					out.namespaces[u.Service.Namespace] = why
					out.mocks[u.Service] = out.mocks[u.Service] || u.Mock
				}
				if tls := u.TLS; tls != nil && tls.CASecret != (desired.Key{}) {
					out.namespaces[tls.CASecret.Namespace] = why
				}
			}
		}
	}
	return out
}

// keeps says why an object has to stay for now, or "".
func (s spared) keeps(id desired.ID) string {
	if id.Kind == "Namespace" && id.Group == "" {
		return s.namespaces[id.Name]
	}
	return s.namespaces[id.Namespace]
}

// inGroup returns the routes that a proxy group receives.
func inGroup(routes []desired.Route, group string) []desired.Route {
	others := func(r desired.Route) bool { return len(r.Proxies) > 0 && !slices.Contains(r.Proxies, group) }
	if !slices.ContainsFunc(routes, others) {
		return routes
	}
	return slices.DeleteFunc(slices.Clone(routes), others)
}
