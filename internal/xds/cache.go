package xds

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	cachev3 "github.com/envoyproxy/go-control-plane/pkg/cache/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// maxName bounds what a proxy may call itself; it is kept, logged and shown.
const maxName = 253

// library is how go-control-plane's server sees us: a cache that opens watches, and callbacks around each message. It
// calls from one goroutine a stream; everything that it touches is under the Server's mutex, which is held for the book's
// own work and never while a message is written.
type library struct{ *Server }

var _ cachev3.ConfigWatcher = library{}

// OnStreamOpen notes a new stream.
func (s library) OnStreamOpen(ctx context.Context, id int64, typeURL string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.streams[id] = &stream{
		id: id, aggregated: typeURL == "", identity: identify(ctx), subs: map[string]*subscription{}, again: map[string]bool{},
	}
	return nil
}

// OnStreamRequest notes who the stream is from and which request the next watch is for.
func (s library) OnStreamRequest(id int64, req *discoveryv3.DiscoveryRequest) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.streams[id]
	if st == nil {
		return status.Error(codes.Internal, "no such stream")
	}
	if st.group == nil {
		if err := s.join(st, req.GetNode()); err != nil {
			return err
		}
	}
	delete(s.requests, st.request)
	st.request = req
	s.requests[req] = st
	return nil
}

// join makes a stream a member of its group.
func (s *Server) join(st *stream, node *corev3.Node) error {
	if len(node.GetId()) > maxName || len(node.GetCluster()) > maxName {
		return status.Errorf(codes.InvalidArgument, "node.id and node.cluster may have at most %d bytes", maxName)
	}
	if err := st.identity.admit(node.GetCluster()); err != nil {
		s.log.Warn("proxy refused: its certificate is for another group",
			slog.String("node", node.GetId()), slog.String("group", node.GetCluster()))
		return err
	}
	st.node = node.GetId()
	st.group = s.group(node.GetCluster())
	st.group.streams[st.id] = st
	if a := st.group.absent[st.node]; a != nil {
		maps.Copy(st.again, a.again)
	}
	s.tell(st.group)
	return nil
}

// CreateWatch takes a request: an ACK, a NACK, or a new question. The answer goes out at once where the client lacks it,
// and otherwise when there is one. out never blocks: the library gives it room for one answer of each type, and there is
// never more than one watch a type.
func (s library) CreateWatch(req *discoveryv3.DiscoveryRequest, asked cachev3.Subscription, out chan cachev3.Response) (func(), error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.requests[req]
	if st == nil {
		return nil, status.Error(codes.Internal, "no stream for the request")
	}
	delete(s.requests, req)
	if !slices.Contains(served(), req.GetTypeUrl()) {
		return func() {}, nil
	}
	sub := st.subs[req.GetTypeUrl()]
	fresh := sub == nil
	if fresh {
		sub = &subscription{
			typeURL: req.GetTypeUrl(), presented: req.GetVersionInfo(), question: question{public: !st.identity.isConfidential()},
		}
		st.subs[sub.typeURL] = sub
		s.comeBack(st, sub)
	}
	sub.queued = nil // the library drops it when a newer request comes
	sub.watch = &watch{request: req, out: out}
	nonce := req.GetResponseNonce()
	if nonce == "" && sub.nonce != "" {
		// A client that had let go of the whole type, as gRPC's may, begins anew.
		st.again[sub.typeURL] = true
	}
	// The library forgets the nonce with each new watch, so a stale one gets here.
	if stale := nonce != "" && sub.nonce != "" && nonce != sub.nonce; stale {
		s.offerAll(st)
	} else {
		s.book(st, sub, req, asked, fresh)
	}
	return func() { s.cancel(sub, req) }, nil
}

// comeBack looks at the first request for a type of a proxy that was connected before. Envoy begins with its clusters; while
// one warms it does not ask for clusters at all. It then needs endpoints once more, whatever version it names, and must not
// be sent routes to a cluster that it lacks.
func (s *Server) comeBack(st *stream, sub *subscription) {
	if !st.aggregated || sub.presented == "" || st.subs[TypeCluster] != nil {
		return
	}
	if sub.typeURL == TypeEndpoint {
		st.again[TypeEndpoint] = true
	}
	if st.silentUntil.IsZero() {
		st.silentUntil = time.Now().Add(silence)
		g := st.group
		time.AfterFunc(silence, func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			if s.streams[st.id] == st {
				s.tell(g)
			}
		})
	}
}

func (s *Server) cancel(sub *subscription, req *discoveryv3.DiscoveryRequest) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if sub.watch != nil && sub.watch.request == req {
		sub.watch = nil
	}
}

// OnStreamResponse notes what goes out: only now is it certain that the library did not drop it.
func (s library) OnStreamResponse(_ context.Context, id int64, req *discoveryv3.DiscoveryRequest, resp *discoveryv3.DiscoveryResponse) {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.streams[id]
	if st == nil {
		return
	}
	sub := st.subs[req.GetTypeUrl()]
	if sub == nil || sub.queued == nil {
		return
	}
	st.sent(sub, resp.GetNonce())
	e := s.exchange(sub.typeURL)
	e.Answers++
	e.Bytes += uint64(sub.sent.bytes) //nolint:gosec // a length
}

// OnStreamClosed forgets a stream; what its proxy holds is remembered for a while.
func (s library) OnStreamClosed(id int64, _ *corev3.Node) {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.streams[id]
	if st == nil {
		return
	}
	delete(s.streams, id)
	delete(s.requests, st.request)
	if st.group != nil {
		s.leave(st)
	}
	for _, sub := range st.subs {
		sub.settle()
	}
}

// CreateDeltaWatch is part of the library's interface; the services refuse delta requests before they get here.
func (library) CreateDeltaWatch(*cachev3.DeltaRequest, cachev3.Subscription, chan cachev3.DeltaResponse) (func(), error) {
	return nil, status.Error(codes.Unimplemented, "delta xDS is not served")
}
