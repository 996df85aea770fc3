package xds

import (
	"maps"
	"slices"
	"strings"
	"time"
)

// ProxyState says how a proxy stands to what its group is served.
type ProxyState string

// The states, from the best to the worst.
const (
	// Current: it acknowledged all that it asked for.
	Current ProxyState = "Current"
	// Updating: an ACK is outstanding, or there is nothing to send yet.
	Updating ProxyState = "Updating"
	// Lagging: an ACK has been outstanding for so long that nothing waits for it.
	Lagging ProxyState = "Lagging"
	// Rejected: it refused what was sent.
	Rejected ProxyState = "Rejected"
)

// Proxy is one connected proxy.
type Proxy struct {
	// Node is its id, Group its cluster.
	Node, Group string
	State       ProxyState
	// Message says why, where State is not Current.
	Message string
	// Acked are the versions that it acknowledged, by type URL.
	Acked map[string]string
}

// Proxies returns the connected proxies, by group and node.
func (s *Server) Proxies() []Proxy {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	var out []Proxy
	for _, name := range names(s.groups) {
		g := s.groups[name]
		refusals := slices.Concat(g.refusing(), g.against)
		byNode := map[string]*Proxy{}
		for _, st := range g.ordered() {
			p := byNode[st.node]
			if p == nil {
				p = &Proxy{Node: st.node, Group: name, State: Current, Acked: map[string]string{}}
				byNode[st.node] = p
			}
			s.describe(st, p, refusals, now)
		}
		for _, node := range names(byNode) {
			out = append(out, *byNode[node])
		}
	}
	return out
}

// describe adds one stream to what is said of its proxy: the worst of its types counts.
func (s *Server) describe(st *stream, p *Proxy, refusals []Rejection, now time.Time) {
	for _, typeURL := range served() {
		sub := st.subs[typeURL]
		if sub == nil {
			continue
		}
		if sub.acked != nil {
			p.Acked[typeURL] = sub.acked.version
		}
		state, message := s.state(st, sub, now)
		if i := slices.IndexFunc(refusals, sub.refusedBy(st.node)); i >= 0 {
			state, message = Rejected, refusals[i].Message
		}
		if state.worse(p.State) {
			p.State, p.Message = state, message
		}
	}
}

func (s ProxyState) worse(o ProxyState) bool {
	order := []ProxyState{Current, Updating, Lagging, Rejected}
	return slices.Index(order, s) > slices.Index(order, o)
}

func (sub *subscription) refusedBy(node string) func(Rejection) bool {
	return func(r Rejection) bool { return r.Node == node && r.TypeURL == sub.typeURL }
}

func (s *Server) state(st *stream, sub *subscription, now time.Time) (ProxyState, string) {
	g := st.group
	switch {
	case g.sets[sub.typeURL] == nil:
		return Updating, "waits for its first snapshot"
	case sub.lags(now, s.cfg.LagAfter):
		return Lagging, "no ACK of " + kindOf(sub.typeURL) + " since " + sub.since.UTC().Format(time.RFC3339)
	case sub.withholds(g.sets[sub.typeURL]):
		return Updating, "private keys do not go over this connection: use mutual TLS, a Unix socket or loopback"
	case !g.current(sub):
		return Updating, "waits for the ACK of " + kindOf(sub.typeURL)
	default:
		return Current, ""
	}
}

// withholds reports whether there is more for the client than its connection may carry.
func (sub *subscription) withholds(s *set) bool {
	open := sub.question
	open.public = false
	return sub.public && sub.typeURL == TypeSecret && len(s.answer(open).hashes) > len(sub.answer(s).hashes)
}

// Served returns what a group is served now, with the commit whose routes it is; false where there is nothing yet.
func (s *Server) Served(group string) (Snapshot, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	g := s.groups[group]
	if g == nil || g.routes == nil {
		return Snapshot{}, false
	}
	snap := g.routes.snap
	snap.Resources = map[string][]Resource{}
	for typeURL, set := range g.sets {
		snap.Resources[typeURL] = set.list
	}
	snap.Refs = maps.Clone(snap.Refs)
	return snap, true
}

// String returns "edge-1 (edge): Rejected: reason".
func (p Proxy) String() string {
	parts := []string{p.Node + " (" + p.Group + ")", string(p.State)}
	if p.Message != "" {
		parts = append(parts, p.Message)
	}
	return strings.Join(parts, ": ")
}
