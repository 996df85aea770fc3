package mock

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"sync"

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
	// AccessLog writes a line for every request.
	AccessLog bool
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
	watch   *watch
	loaded  []byte // the document that is answered; of the goroutine that watches
	api     net.Listener
	docs    net.Listener
}

// NewServer loads the definition and opens both listeners. Run, which must be called once, closes them.
func NewServer(ctx context.Context, cfg Config) (*Server, error) {
	s := &Server{cfg: cfg, log: cmp.Or(cfg.Logger, slog.New(slog.DiscardHandler)), handler: &Handler{}}
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
	if err := s.reload(ctx); err != nil {
		return err
	}
	var err error
	if s.api, err = listen(ctx, cmp.Or(s.cfg.Listen, port(v1alpha1.MockPort))); err != nil {
		return err
	}
	s.docs, err = listen(ctx, cmp.Or(s.cfg.ListenDocs, port(v1alpha1.MockDocsPort)))
	return err
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

// Run serves until ctx ends, then lets requests in flight end.
func (s *Server) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var h http.Handler = s.handler
	if s.cfg.AccessLog {
		h = logged(h, s.log)
	}
	s.log.InfoContext(ctx, "mock ready", slog.String("definition", s.cfg.Definition),
		slog.String("address", s.Addr().String()), slog.String("docs", s.DocsAddr().String()))
	var wg sync.WaitGroup
	var errs [3]error
	for i, run := range []func(context.Context) error{
		func(ctx context.Context) error { return serve(ctx, newHTTPServer(h, s.log), s.api) },
		func(ctx context.Context) error { return serve(ctx, newHTTPServer(s.health(ctx), s.log), s.docs) },
		func(ctx context.Context) error { return s.watch.run(ctx, s.changed) },
	} {
		wg.Go(func() {
			errs[i] = run(ctx)
			cancel() // one part alone is of no use
		})
	}
	wg.Wait()
	return errors.Join(errs[:]...)
}

// health answers the probes. A server that is about to end is alive and no longer ready.
func (s *Server) health(ending context.Context) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { say(w, http.StatusOK, "ok\n") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if ending.Err() != nil {
			say(w, http.StatusServiceUnavailable, "ending\n")
			return
		}
		say(w, http.StatusOK, "ok\n")
	})
	return mux
}

func say(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text) // an error here is the prober's
}
