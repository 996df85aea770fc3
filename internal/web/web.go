// Package web is the daemon's HTTP side: health, metrics, what is served to the proxies, and the door for push events. It takes
// functions that answer, and holds nothing; nobody can change anything through it.
package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

// Config is what the server answers with. The functions are called for each request and must be quick and safe for
// concurrent use.
type Config struct {
	// Listener that requests arrive at; Run closes it.
	Listener net.Listener
	// Ready returns nil once the instance has made its first full pass.
	Ready func() error
	// XDS returns what is served to the proxies, for "tidelock xds show"; it never holds a key.
	XDS func() any
	// Metrics answers with the metrics of the process.
	Metrics http.Handler
	// Webhook takes push events of the repository's forge; nil for none.
	Webhook http.Handler
}

// Run answers until ctx ends, then lets requests in flight finish for a moment.
//
//	GET /healthz  200 while the process lives
//	GET /readyz   200 once the first pass is through, else 503 with the reason
//	GET /metrics  metrics, as Prometheus reads them
//	GET /xds      what is served, as JSON
//	POST /webhook a signed push event, where a webhook is set
func Run(ctx context.Context, cfg Config) error {
	const header, write, grace = 5 * time.Second, 30 * time.Second, 3 * time.Second
	srv := &http.Server{
		Handler:           handler(cfg),
		ReadHeaderTimeout: header,
		WriteTimeout:      write,
		MaxHeaderBytes:    1 << 14,
	}
	stop := context.AfterFunc(ctx, func() {
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
		defer cancel()
		if err := srv.Shutdown(end); err != nil {
			_ = srv.Close()
		}
	})
	defer stop()
	if err := srv.Serve(cfg.Listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve HTTP on %s: %w", cfg.Listener.Addr(), err)
	}
	return ctx.Err()
}

func handler(cfg Config) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprintln(w, "ok")
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if err := cfg.Ready(); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		_, _ = fmt.Fprintln(w, "ok")
	})
	mux.HandleFunc("GET /xds", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(cfg.XDS())
	})
	mux.Handle("GET /metrics", cfg.Metrics)
	if cfg.Webhook != nil {
		mux.Handle("POST /webhook", cfg.Webhook)
	}
	return mux
}
