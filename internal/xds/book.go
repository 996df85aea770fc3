package xds

import (
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	cachev3 "github.com/envoyproxy/go-control-plane/pkg/cache/v3"
)

// Rejection is a proxy's refusal of what it was sent.
type Rejection struct {
	// Node is the id of the proxy.
	Node string
	// TypeURL and Version of the answer that it refused.
	TypeURL string
	Version string
	// Message is the proxy's reason.
	Message string
	// Commit that the answer was made from.
	Commit string
}

// maxMessage bounds the reason that is kept of a rejection.
const maxMessage = 2048

// refuser is a proxy and a type that it refused.
type refuser struct{ node, typeURL string }

// book enters a request that is not stale: an ACK or a NACK of what was sent last, and what the client asks for now.
func (s *Server) book(st *stream, sub *subscription, req *discoveryv3.DiscoveryRequest, asked cachev3.Subscription, fresh bool) {
	g := st.group
	news := fresh
	if sub.pending {
		news = true
		if detail := req.GetErrorDetail(); detail != nil {
			s.reject(st, sub, detail.GetMessage())
		} else {
			s.exchange(sub.typeURL).ACKs++
			g.accept(sub, sub.sent)
			delete(g.refused, refuser{st.node, sub.typeURL})
		}
		sub.settle()
	}
	if fresh && sub.presented == "" {
		// A process that starts holds nothing: what its predecessor refused may suit it.
		delete(g.refused, refuser{st.node, sub.typeURL})
	}
	q := question{wildcard: asked.IsWildcard(), names: slices.Sorted(maps.Keys(asked.SubscribedResources()))}
	grew := sub.ask(q)
	if fresh {
		if held := g.claim(st, sub); held != nil {
			g.accept(sub, held)
		}
	} else if grew {
		st.again[sub.typeURL] = true
	}
	s.offer(st, sub, true)
	// An ACK of clusters may free the routes that name them.
	s.offerAll(st)
	if news {
		s.tell(g)
	}
}

func (s *Server) reject(st *stream, sub *subscription, message string) {
	s.exchange(sub.typeURL).NACKs++
	r := Rejection{
		Node: st.node, TypeURL: sub.typeURL, Version: sub.sent.version, Message: shorten(message), Commit: sub.commit,
	}
	st.group.refused[refuser{st.node, sub.typeURL}] = r
	s.retryLater(st.group, content{r.TypeURL, r.Version})
	if isWildcard(sub.typeURL) {
		sub.acked = sub.acked.after(sub.sent)
	}
	s.log.Warn("proxy rejected configuration", slog.String("node", r.Node), slog.String("group", st.group.name),
		slog.String("type", kindOf(r.TypeURL)), slog.String("version", r.Version), slog.String("reason", r.Message))
}

// accept notes that the client holds a.
func (g *group) accept(sub *subscription, a *answer) {
	sub.acked = a
	g.accepted[sub.typeURL+" "+a.version] = true
	for _, l := range g.history {
		l.credit(sub)
	}
}

// credit notes that a proxy holds what l has of a type; in the course of a change it may hold more.
func (l *layer) credit(sub *subscription) {
	if sub.acked != nil && !l.taken[sub.typeURL] && l.sets[sub.typeURL].answer(sub.question).within(sub.acked) {
		l.taken[sub.typeURL] = true
	}
}

// rejects returns why a proxy refused a; false where it did not.
func (g *group) rejects(st *stream, sub *subscription, a *answer) (Rejection, bool) {
	r, found := g.refused[refuser{st.node, sub.typeURL}]
	return r, found && r.Version == a.version
}

// offerAll sends a stream what it lacks, in the order of ADS.
func (s *Server) offerAll(st *stream) {
	for _, typeURL := range served() {
		sub := st.subs[typeURL]
		if sub == nil {
			continue
		}
		s.offer(st, sub, false)
		if !sub.owes() {
			sub.settle()
		}
	}
}

// offer sends the client the answer to its question if it lacks it and may have it now; asked is set where the client has
// just sent a request.
func (s *Server) offer(st *stream, sub *subscription, asked bool) {
	set := st.group.serving(sub.typeURL)
	if sub.watch == nil || set == nil {
		return
	}
	a := sub.answer(set)
	if sub.sent == nil && sub.acked == nil && sub.presented != "" && sub.presented == a.version {
		st.group.accept(sub, a)
	}
	if sub.nothing(a) || sub.holds(a) && !(asked && st.again[sub.typeURL]) {
		return
	}
	if _, rejected := st.group.rejects(st, sub, a); rejected || !st.group.mayHave(st, sub) {
		return
	}
	if sub.since.IsZero() {
		sub.since = time.Now()
		sub.timer = time.AfterFunc(s.cfg.LagAfter, s.signal)
	}
	sub.queued, sub.commit = a, st.group.commit()
	sub.watch.out <- &cachev3.PassthroughResponse{
		Request: sub.watch.request,
		DiscoveryResponse: &discoveryv3.DiscoveryResponse{
			VersionInfo:  a.version,
			Resources:    a.resources,
			TypeUrl:      sub.typeURL,
			ControlPlane: st.group.controlPlane(),
		},
	}
	sub.watch = nil
}

// sent notes that the queued answer went out under nonce.
func (st *stream) sent(sub *subscription, nonce string) {
	held := sub.acked
	sub.sent, sub.queued, sub.nonce, sub.pending = sub.queued, nil, nonce, true
	delete(st.again, sub.typeURL)
	if !sub.sent.extends(held) {
		return
	}
	for _, typeURL := range dependants(sub.typeURL) {
		st.again[typeURL] = true
	}
}

// dependants are the types that Envoy asks for anew when a resource of a type is added or changed.
func dependants(typeURL string) []string {
	switch typeURL {
	case TypeCluster:
		return []string{TypeEndpoint, TypeSecret}
	case TypeListener:
		return []string{TypeRoute, TypeSecret}
	default:
		return nil
	}
}

// kindOf is the last part of a type URL: "Cluster", "RouteConfiguration".
func kindOf(typeURL string) string { return typeURL[strings.LastIndexByte(typeURL, '.')+1:] }

// shorten bounds what a proxy says.
func shorten(message string) string {
	if len(message) > maxMessage {
		message = message[:maxMessage] + "…"
	}
	if !utf8.ValidString(message) {
		message = strings.ToValidUTF8(message, "?")
	}
	return message
}
