package xds

import (
	"fmt"
	"time"

	"github.com/tidelock/tidelock/internal/desired"
)

// absence is a proxy that is not connected and may come back with routes that it holds, so that their clusters stay until
// it has said what it holds.
type absence struct {
	until time.Time
	timer *time.Timer
	// held is what it acknowledged, by type, and has not claimed on a new stream yet.
	held map[string]*answer
	// again are the types that its last stream had yet to send once more.
	again map[string]bool
	// expected is set where the proxy is known from before a restart: nothing is settled without it.
	expected bool
}

// Expect tells of proxies that were connected before a restart. Until each has come back, or the time is over, no cluster
// is taken away from their group and it is not settled. What they still hold is known if it is published first.
func (s *Server) Expect(group string, nodes []string, until time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	g := s.group(group)
	for _, node := range nodes {
		if !g.connected(node) {
			s.await(g, node, absence{until: until, expected: true, held: map[string]*answer{TypeRoute: nil}})
		}
	}
	s.tell(g)
}

// await remembers a proxy that is not connected.
func (s *Server) await(g *group, node string, a absence) {
	if s.closed {
		return
	}
	g.back(node)
	a.timer = time.AfterFunc(time.Until(a.until), s.signal)
	g.absent[node] = &a
}

// leave takes a stream out of its group. A proxy that held routes may come back with them, so it is remembered for as long
// as an ACK would be waited for.
func (s *Server) leave(st *stream) {
	g := st.group
	delete(g.streams, st.id)
	held := map[string]*answer{}
	for _, typeURL := range []string{TypeCluster, TypeListener, TypeRoute} {
		if sub := st.subs[typeURL]; sub != nil && sub.acked != nil {
			held[typeURL] = sub.acked
		}
	}
	// What was not acknowledged may not have arrived.
	for typeURL, sub := range st.subs {
		if sub.owes() {
			st.again[typeURL] = true
		}
	}
	if held[TypeListener] != nil || held[TypeRoute] != nil {
		s.await(g, st.node, absence{until: time.Now().Add(s.cfg.LagAfter), held: held, again: st.again})
	}
	if g.target == nil && len(g.streams) == 0 && len(g.absent) == 0 {
		delete(s.groups, g.name)
	}
	s.tell(g)
}

// claim takes what a proxy says on a new stream that it holds of a type, and returns what that is, if it is known.
func (g *group) claim(st *stream, sub *subscription) *answer {
	a := g.absent[st.node]
	if a != nil && sub.typeURL == TypeCluster && sub.presented == "" {
		g.back(st.node) // a process that starts holds nothing
		return nil
	}
	var known *answer
	if a != nil {
		known = a.held[sub.typeURL]
		delete(a.held, sub.typeURL)
		if len(a.held) == 0 {
			g.back(st.node)
		}
	}
	if sub.presented == "" {
		return nil
	}
	if known != nil && known.version == sub.presented {
		return known
	}
	for _, l := range g.history {
		if known := l.sets[sub.typeURL].answer(sub.question); known.version == sub.presented {
			return known
		}
	}
	return nil
}

// absentees returns the proxies that may come back with routes whose clusters would go now.
func (g *group) absentees(now time.Time) []desired.Wait {
	removes := !sameResources(merged(g.goal.list(TypeCluster), g.retained(nil)[TypeCluster]), g.listed(TypeCluster))
	var out []desired.Wait
	for _, node := range names(g.absent) {
		a := g.absent[node]
		if !now.Before(a.until) {
			g.back(node)
			continue
		}
		if removes || a.expected {
			out = append(out, desired.Wait{
				For:   "configuration of proxies " + quoted(g.name),
				Until: fmt.Sprintf("proxy %s to come back", quoted(node)),
			})
		}
	}
	return out
}

// oldListener reports whether a proxy that is away holds listeners other than those that are served.
func (a *absence) oldListener(s *set) bool {
	held := a.held[TypeListener]
	return held != nil && s != nil && held.version != s.answer(question{wildcard: true}).version
}

// silent reports whether a proxy has yet to say on its new stream which clusters it holds: Envoy does not while they warm.
func (g *group) silent(node string) bool {
	a := g.absent[node]
	return a != nil && a.held[TypeCluster] != nil
}

// back notes that there is nothing more to wait for of an absent proxy.
func (g *group) back(node string) {
	if a := g.absent[node]; a != nil {
		a.timer.Stop()
		delete(g.absent, node)
	}
}

// connected reports whether a proxy has a stream.
func (g *group) connected(node string) bool {
	for _, st := range g.streams {
		if st.node == node {
			return true
		}
	}
	return false
}
