package xds

import (
	"maps"
	"slices"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"

	"github.com/tidelock/tidelock/internal/desired"
)

// Progress is how far a group has come with what was published to it.
type Progress struct {
	// Settled is set once every proxy of the group that does not lag has acknowledged the snapshot, the removals included.
	Settled bool
	// Waits are what the group waits for.
	Waits []desired.Wait
	// Rejections are refusals of what is published now.
	Rejections []Rejection
	// Reverted is set where the group went back to what it acknowledged last, because of Rejections.
	Reverted bool
	// Serving is the commit whose routes are served.
	Serving string
}

// Publish makes snap the newest of its group and moves the group towards it, as far as the ACKs that are in allow: first
// the clusters of old and new together, then the routes, then the clusters without the old. It never waits: the caller
// comes again when Changed says so. An equal snapshot sends nothing.
func (s *Server) Publish(snap Snapshot) Progress {
	s.mu.Lock()
	defer s.mu.Unlock()
	g := s.group(snap.Group)
	if !g.take(snap) && !g.news && g.last.Settled {
		g.last.Serving = g.routes.snap.Commit
		return g.last
	}
	g.news = false
	g.last = s.advance(g, time.Now())
	return g.last
}

// take makes snap the target, and reports whether it differs; content that is the target already only renames it.
func (g *group) take(snap Snapshot) bool {
	if g.target != nil && g.target.same(snap) {
		g.target.rename(snap)
		return false
	}
	g.target = newLayer(snap)
	g.goal, g.against = g.target, nil
	g.history = append([]*layer{g.target}, g.history...)
	g.review()
	// What was refused before is refused still: nothing of it goes out a second time.
	g.judge(func(typeURL string) *set { return g.target.sets[typeURL] })
	return true
}

// rename gives a layer the commit, notes and origins of an equal snapshot.
func (l *layer) rename(snap Snapshot) {
	if l.snap.Commit != snap.Commit {
		l.cp = &corev3.ControlPlane{Identifier: snap.Commit}
	}
	snap.Resources = l.snap.Resources
	l.snap = snap
}

// review looks at what is known of a new target: what of it proxies hold already. What was noted about content that is gone
// is dropped: acknowledged versions that no proxy holds, and refusals by proxies that are gone.
func (g *group) review() {
	held := map[string]bool{}
	for _, st := range g.streams {
		for _, sub := range st.subs {
			g.target.credit(sub)
			if sub.acked != nil {
				held[sub.typeURL+" "+sub.acked.version] = true
			}
		}
	}
	g.accepted = held
	maps.DeleteFunc(g.refused, func(r refuser, _ Rejection) bool { return !g.connected(r.node) })
	g.endRetries(false)
	g.history = g.worthKeeping()
}

// worthKeeping returns the layers that the group may be led back to: acknowledged ones, and those whose ACKs may be on
// their way.
func (g *group) worthKeeping() []*layer {
	const keptGood, keptOpen = 2, 4
	var out []*layer
	good, open := 0, 0
	for _, l := range g.history {
		switch {
		case g.took(l) && good < keptGood:
			good++
		case !g.took(l) && open < keptOpen:
			open++
		default:
			continue
		}
		out = append(out, l)
	}
	return out
}

// took reports whether each type that a proxy of the group asks for was acknowledged as l has it.
func (g *group) took(l *layer) bool {
	asked := 0
	for _, st := range g.streams {
		for typeURL, sub := range st.subs {
			if typeURL == TypeRuntime || sub.nothing(l.sets[typeURL].answer(sub.question)) {
				continue
			}
			if !l.taken[typeURL] {
				return false
			}
			asked++
		}
	}
	return asked > 0 || len(l.taken) > 0
}

// judge looks whether sets were refused, and leads the group back where they were; it reports whether it did.
func (g *group) judge(sets func(typeURL string) *set) bool {
	if g.goal != g.target {
		return false
	}
	g.against = g.rejections(sets)
	return len(g.against) > 0 && g.revert()
}

// rejections returns the refusals of sets that no proxy acknowledged: they speak against the content, not the proxy.
func (g *group) rejections(sets func(typeURL string) *set) []Rejection {
	var out []Rejection
	for _, st := range g.ordered() {
		for _, typeURL := range served() {
			sub, set := st.subs[typeURL], sets(typeURL)
			if sub == nil || set == nil {
				continue
			}
			// What is asked here may be a set that is not served, so the subscription's own memory is left alone.
			r, found := g.rejects(st, sub, set.answer(sub.question))
			if found && !g.accepted[typeURL+" "+r.Version] {
				out = append(out, r)
			}
		}
	}
	return out
}

// revert leads the group back to the newest layer that was acknowledged; false where there is none. Endpoints and
// certificates stay those of the target, unless they are what was refused: pods come and go meanwhile.
func (g *group) revert() bool {
	i := slices.IndexFunc(g.history, func(l *layer) bool { return l != g.target && g.took(l) })
	if i < 0 {
		return false
	}
	back := g.history[i].snap
	back.Resources = maps.Clone(back.Resources)
	for _, typeURL := range []string{TypeEndpoint, TypeSecret} {
		if !slices.ContainsFunc(g.against, func(r Rejection) bool { return r.TypeURL == typeURL }) {
			back.Resources[typeURL] = merged(g.target.list(typeURL), back.Resources[typeURL])
		}
	}
	g.goal = newLayer(back)
	return true
}
