package mock

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tidelock/tidelock/api/v1alpha1"
)

// Config says what a Server answers and where.
type Config struct {
	// Definition is the path of the OpenAPI document: YAML or JSON with the files it refers to, or packed as in a ConfigMap.
	Definition string
	// Listen is the address of the API, host:port; by default all addresses and port 8000.
	Listen string
	// ListenDocs is the address of health and documentation; by default all addresses and port 8080.
	ListenDocs string
	// Server says how the mock behaves beyond what the document says.
	Server v1alpha1.MockServer
	// ShutdownDelay is how long requests are still taken once Run is to end, while /readyz says that no more should come.
	ShutdownDelay time.Duration
	// Logger takes what happens; nothing is logged where it is nil.
	Logger *slog.Logger
}

// Server runs one mock. It follows the files of its definition: an edit is live within a second, and one that is not
// valid is logged while the former document goes on.
type Server struct {
	cfg     Config
	log     *slog.Logger
	def     definition
	handler *Handler
	page    atomic.Pointer[page] // of the document that is answered
	ending  atomic.Bool          // no more requests should come
	watch   *watch
	loaded  []byte // the document that is answered; of the goroutine that watches
	api     net.Listener
	docs    net.Listener
}

// NewServer loads the definition and opens both listeners. Run, which must be called once, closes them.
func NewServer(ctx context.Context, cfg Config) (*Server, error) {
	s := &Server{cfg: cfg, log: cmp.Or(cfg.Logger, slog.New(slog.DiscardHandler))}
	s.handler = &Handler{observer: newObserver(nil)}
	if cfg.Server.AccessLog == nil || *cfg.Server.AccessLog {
		s.handler.observer.log = s.log
	}
	var err error
	if s.def, err = locate(cfg.Definition); err != nil {
		return nil, err
	}
	if s.watch, err = newWatch(); err != nil {
		return nil, err
	}
	if err = s.open(ctx); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

func (s *Server) open(ctx context.Context) error {
	var err error
	if s.api, err = listen(ctx, cmp.Or(s.cfg.Listen, port(v1alpha1.MockPort))); err != nil {
		return err
	}
	if s.docs, err = listen(ctx, cmp.Or(s.cfg.ListenDocs, port(v1alpha1.MockDocsPort))); err != nil {
		return err
	}
	return s.reload(ctx)
}

func (s *Server) close() error {
	errs := []error{s.watch.close()}
	for _, ln := range []net.Listener{s.api, s.docs} {
		if ln != nil {
			errs = append(errs, ln.Close())
		}
	}
	return errors.Join(errs...)
}

// Addr returns the address of the API.
func (s *Server) Addr() netip.AddrPort { return addrPort(s.api) }

// DocsAddr returns the address of health and documentation.
func (s *Server) DocsAddr() netip.AddrPort { return addrPort(s.docs) }

// Run serves until ctx ends, then as long as the shutdown delay says, then lets requests in flight end. During the delay
// /readyz says that no more requests should come, and each answer closes its connection: whoever learns late that this mock
// goes loses no request.
func (s *Server) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	serving, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	s.log.InfoContext(ctx, "mock ready", slog.String("definition", s.cfg.Definition),
		slog.String("address", s.Addr().String()), slog.String("docs", s.DocsAddr().String()))
	var wg sync.WaitGroup
	var errs [4]error
	for i, run := range []func() error{
		func() error { return serve(serving, newHTTPServer(s.leaving(s.handler), s.log), s.api) },
		func() error { return serve(serving, newHTTPServer(s.docsHandler(), s.log), s.docs) },
		func() error { return s.watch.run(ctx, s.changed) },
		func() error { return s.leave(ctx, serving, end) },
	} {
		wg.Go(func() {
			errs[i] = run()
			cancel() // one part alone is of no use
		})
	}
	wg.Wait()
	return errors.Join(errs[:]...)
}

// leave waits until ctx ends, then for the shutdown delay, then calls end.
func (s *Server) leave(ctx, serving context.Context, end func()) error {
	defer end()
	<-ctx.Done()
	s.ending.Store(true)
	if s.cfg.ShutdownDelay <= 0 {
		return nil
	}
	s.log.InfoContext(ctx, "mock leaving", slog.Duration("delay", s.cfg.ShutdownDelay))
	timer := time.NewTimer(s.cfg.ShutdownDelay)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-serving.Done():
	}
	return nil
}

// leaving closes connections with their next answer once the server is to end. They are not closed while they idle: a
// client might be sending just then.
func (s *Server) leaving(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.ending.Load() {
			w.Header().Set("Connection", "close")
		}
		next.ServeHTTP(w, r)
	})
}
