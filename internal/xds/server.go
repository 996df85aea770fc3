package xds

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"slices"
	"sync"
	"time"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/keepalive"
)

const (
	// DefaultServerAddress is where proxies are served if nothing else is said.
	DefaultServerAddress = "127.0.0.1:18000"
	// defaultLagAfter is over the 15 s for which Envoy holds its ACK while clusters warm.
	defaultLagAfter = 25 * time.Second
	// stopWithin bounds how long open streams may hold up the end of Run.
	stopWithin = 5 * time.Second
)

// Config of a Server; the zero value is usable.
type Config struct {
	// Address to listen on, as Listen takes it; DefaultServerAddress if empty.
	Address string
	// Listener to use instead of Address; Run closes it.
	Listener net.Listener
	// TLS of the port; nil for plain text, over which private keys go to proxies on this machine only.
	TLS *ServerTLS
	// Logger for rejections and connections; nothing is logged without one.
	Logger *slog.Logger
	// LagAfter is for how long an ACK is waited for; 25 s if 0.
	LagAfter time.Duration
}

// Server serves snapshots to proxies over xDS and keeps the book of who acknowledged what.
//
// go-control-plane calls it from one goroutine a stream, and the loop from another, so its state is under one mutex. It is
// held for lookups in the book and for hashing what changed, never for a write to the network.
type Server struct {
	cfg     Config
	log     *slog.Logger
	changed chan struct{}

	mu       sync.Mutex
	closed   bool
	groups   map[string]*group
	streams  map[int64]*stream
	requests map[*discoveryv3.DiscoveryRequest]*stream
	// exchanged counts answers, ACKs and NACKs by type URL.
	exchanged map[string]*Exchange
}

// NewServer returns a Server; Run makes it serve.
func NewServer(cfg Config) *Server {
	if cfg.Address == "" {
		cfg.Address = DefaultServerAddress
	}
	if cfg.LagAfter == 0 {
		cfg.LagAfter = defaultLagAfter
	}
	log := cfg.Logger
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Server{
		cfg:      cfg,
		log:      log,
		changed:  make(chan struct{}, 1),
		groups:   map[string]*group{},
		streams:  map[int64]*stream{},
		requests: map[*discoveryv3.DiscoveryRequest]*stream{},

		exchanged: map[string]*Exchange{},
	}
}

// Run serves until ctx ends, and returns when all streams are closed.
func (s *Server) Run(ctx context.Context) error {
	lis := s.cfg.Listener
	if lis == nil {
		var err error
		if lis, err = Listen(ctx, s.cfg.Address); err != nil {
			return err
		}
	}
	srv, err := s.grpcServer() //nolint:contextcheck // each handshake has a context of its own
	if err != nil {
		return errors.Join(err, lis.Close())
	}
	// The streams end with Run, also where serving itself fails.
	streams, stop := context.WithCancel(ctx)
	defer stop()
	register(streams, srv, s)

	s.log.InfoContext(ctx, "serving xds", slog.String("address", lis.Addr().String()), slog.Bool("tls", s.cfg.TLS != nil))
	if s.cfg.TLS == nil && !isLocal(lis.Addr()) {
		s.log.WarnContext(ctx, "xds is served without TLS: private keys are withheld from proxies that are not on this machine",
			slog.String("address", lis.Addr().String()))
	}
	served := make(chan error, 1)
	var wg sync.WaitGroup
	wg.Go(func() { served <- srv.Serve(lis) })
	select {
	case err = <-served:
	case <-ctx.Done():
	}
	stop()
	end(srv)
	wg.Wait()
	s.release()
	if err != nil && !errors.Is(err, grpc.ErrServerStopped) {
		return fmt.Errorf("serve proxies: %w", err)
	}
	return nil
}

func (s *Server) grpcServer() (*grpc.Server, error) {
	options := []grpc.ServerOption{
		// A proxy that vanished without a word is noticed within 40 s.
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: 30 * time.Second, Timeout: 10 * time.Second}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 5 * time.Second, PermitWithoutStream: true}),
	}
	if s.cfg.TLS != nil {
		keys, err := newKeyring(*s.cfg.TLS, s.log)
		if err != nil {
			return nil, err
		}
		options = append(options, grpc.Creds(keys.credentials()))
	}
	return grpc.NewServer(options...), nil
}

// end lets streams finish, but not for longer than stopWithin.
func end(srv *grpc.Server) {
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		srv.GracefulStop()
		close(done)
	})
	timer := time.NewTimer(stopWithin)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
		srv.Stop()
	}
	wg.Wait()
}

// release stops all timers.
func (s *Server) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for _, st := range s.streams {
		for _, sub := range st.subs {
			sub.settle()
		}
	}
	for _, g := range s.groups {
		g.endRetries(true)
		for node := range g.absent {
			g.back(node)
		}
	}
}

// Changed receives a value after an ACK, a NACK, a connection that came or went, or the end of a wait: something that
// Publish may act on. It holds at most one value.
func (s *Server) Changed() <-chan struct{} { return s.changed }

func (s *Server) signal() { signal(s.changed) }

// tell asks for a pass that looks at g.
func (s *Server) tell(g *group) {
	g.news = true
	s.signal()
}

// Groups returns the groups of connected proxies and those that were published to, sorted.
func (s *Server) Groups() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.groups))
}

func (s *Server) group(name string) *group {
	g := s.groups[name]
	if g == nil {
		g = newGroup(name)
		s.groups[name] = g
	}
	return g
}
