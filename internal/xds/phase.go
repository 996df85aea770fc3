package xds

import (
	"fmt"
	"slices"
	"time"

	"github.com/tidelock/tidelock/internal/desired"
)

// before are the types that must be in before routes name them; then come listeners and routes.
func before() []string { return []string{TypeRuntime, TypeCluster, TypeEndpoint, TypeSecret} }

// advance moves a group one phase after the other, until one has to wait.
func (s *Server) advance(g *group, now time.Time) Progress {
	phases := []struct {
		serve func()
		types []string
	}{
		{g.serveUnion, before()},
		{g.serveRoutes, served()},
		{g.serveWithout, served()},
	}
	for i, phase := range phases {
		if i == len(phases)-1 {
			if waits := g.absentees(now); len(waits) > 0 {
				return s.progress(g, waits)
			}
		}
		phase.serve()
		if g.judge(g.serving) {
			return s.advance(g, now)
		}
		for _, st := range g.ordered() {
			s.offerAll(st)
		}
		if waits := s.waits(g, phase.types, now); len(waits) > 0 {
			return s.progress(g, waits)
		}
	}
	return s.progress(g, nil)
}

func (s *Server) progress(g *group, waits []desired.Wait) Progress {
	p := Progress{
		Waits:      waits,
		Rejections: slices.Clone(g.against),
		Reverted:   g.goal != g.target,
		Serving:    g.routes.snap.Commit,
		Settled:    len(waits) == 0 && len(g.against) == 0,
	}
	for _, r := range g.refusing() {
		if !slices.Contains(p.Rejections, r) {
			p.Rejections = append(p.Rejections, r)
		}
	}
	return p
}

// serveUnion serves what the goal needs beside what is served. A group that goes back does not keep what was refused: only
// what routes name that a proxy may hold. The first layer of a group is served whole.
func (g *group) serveUnion() {
	g.serve(g.goal.sets[TypeRuntime])
	kept := g.retained(g.absent)
	for _, typeURL := range []string{TypeCluster, TypeEndpoint, TypeSecret} {
		lists := [][]Resource{kept[typeURL]}
		if g.goal == g.target || typeURL == TypeEndpoint {
			lists = append(lists, g.listed(typeURL))
		}
		for _, l := range append([]*layer{g.routes}, g.under...) {
			lists = append(lists, l.list(typeURL))
		}
		g.serveMerged(typeURL, lists...)
	}
	if g.routes == nil {
		g.serveRoutes()
	}
}

// serveMerged serves the goal's resources of a type, and those of others by other names.
func (g *group) serveMerged(typeURL string, others ...[]Resource) {
	list := merged(g.goal.list(typeURL), others...)
	if own := g.goal.sets[typeURL]; sameResources(own.list, list) {
		g.serve(own)
		return
	}
	g.serve(newSet(typeURL, list, nil))
}

// serveRoutes serves the goal's listeners and routes.
func (g *group) serveRoutes() {
	if old := g.routes; old != nil && old != g.goal && !sameResources(old.list(TypeCluster), g.goal.list(TypeCluster)) {
		g.under = append([]*layer{old}, g.under...)
	}
	g.routes = g.goal
	g.serve(g.goal.sets[TypeListener])
	g.serve(g.goal.sets[TypeRoute])
}

// serveWithout takes away what the goal does not need, except for proxies that were not waited for.
func (g *group) serveWithout() {
	g.under = nil
	kept := g.retained(g.absent)
	g.serveMerged(TypeCluster, kept[TypeCluster])
	g.serveMerged(TypeEndpoint, g.awaited())
	g.serveMerged(TypeSecret, kept[TypeSecret])
}

// retained returns the served clusters, with what belongs to them, that routes name which a proxy may still hold: routes
// that it has not replaced because it lags or refused the new ones. Listeners may name clusters that nobody has listed, so
// a proxy with an old listener keeps all. The absent are proxies that may come back.
func (g *group) retained(absent map[string]*absence) map[string][]Resource {
	all, keep := false, map[string]bool{}
	for _, st := range g.streams {
		if sub := st.subs[TypeListener]; sub != nil && !g.current(sub) {
			all = true
		}
		if sub := st.subs[TypeRoute]; sub != nil && !g.current(sub) {
			for _, name := range sub.clusters() {
				keep[name] = true
			}
		}
	}
	for _, a := range absent {
		all = all || a.oldListener(g.sets[TypeListener])
		if held := a.held[TypeRoute]; held != nil {
			for _, name := range held.clusters {
				keep[name] = true
			}
		}
	}
	if !all && len(keep) == 0 {
		return nil
	}
	out := map[string][]Resource{TypeSecret: g.listed(TypeSecret)}
	out[TypeCluster] = slices.DeleteFunc(slices.Clone(g.listed(TypeCluster)), func(r Resource) bool { return !all && !keep[r.Name] })
	return out
}

// awaited returns the served endpoints of clusters that some proxy has or is about to get: it asks for them, and would wait
// for them in vain.
func (g *group) awaited() []Resource {
	list := g.listed(TypeEndpoint)
	if sameResources(list, g.goal.list(TypeEndpoint)) {
		return nil
	}
	given := map[*answer]bool{}
	for _, st := range g.streams {
		if sub := st.subs[TypeCluster]; sub != nil && sub.given() != nil {
			given[sub.given()] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(list), func(r Resource) bool {
		for a := range given {
			if _, found := a.hashes[r.Name]; found {
				return false
			}
		}
		return true
	})
}

func (g *group) listed(typeURL string) []Resource {
	if s := g.sets[typeURL]; s != nil {
		return s.list
	}
	return nil
}

// clusters are those that routes name which the client may hold.
func (sub *subscription) clusters() []string {
	var out []string
	if sub.acked != nil {
		out = append(out, sub.acked.clusters...)
	}
	if sub.pending {
		out = append(out, sub.sent.clusters...)
	}
	if sub.queued != nil {
		out = append(out, sub.queued.clusters...)
	}
	return out
}

// current reports whether the client holds all that is served of its type, and owes nothing.
func (g *group) current(sub *subscription) bool {
	s := g.sets[sub.typeURL]
	if s == nil {
		return false
	}
	a := sub.answer(s)
	return !sub.owes() && (sub.nothing(a) || sub.holds(a))
}

// stuck reports whether a proxy is not waited for: it refused what is served, or has owed an ACK for too long.
func (s *Server) stuck(st *stream, now time.Time) bool {
	for _, sub := range st.subs {
		if sub.lags(now, s.cfg.LagAfter) {
			return true
		}
		if set := st.group.sets[sub.typeURL]; set != nil {
			if _, refused := st.group.rejects(st, sub, sub.answer(set)); refused {
				return true
			}
		}
	}
	return false
}

// waits returns the ACKs of some types that are outstanding.
func (s *Server) waits(g *group, types []string, now time.Time) []desired.Wait {
	var out []desired.Wait
	for _, st := range g.ordered() {
		if s.stuck(st, now) {
			continue
		}
		for _, typeURL := range types {
			if sub := st.subs[typeURL]; sub != nil && !g.current(sub) {
				out = append(out, desired.Wait{
					For:   "configuration of proxies " + quoted(g.name),
					Until: fmt.Sprintf("the ACK of %s by proxy %s", kindOf(typeURL), quoted(st.node)),
				})
			}
		}
	}
	return out
}

// refusing returns the refusals of what is served now.
func (g *group) refusing() []Rejection {
	var out []Rejection
	for _, st := range g.ordered() {
		for _, typeURL := range served() {
			sub, set := st.subs[typeURL], g.sets[typeURL]
			if sub == nil || set == nil {
				continue
			}
			if r, refused := g.rejects(st, sub, sub.answer(set)); refused {
				out = append(out, r)
			}
		}
	}
	return out
}

func quoted(s string) string {
	if s == "" {
		return "(unnamed)"
	}
	return s
}
