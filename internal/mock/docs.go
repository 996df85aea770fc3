package mock

import (
	"io"
	"net/http"

	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// docsHandler serves what is for people and for the cluster: the page, the document, health and metrics.
func (s *Server) docsHandler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) { s.page.Load().serveHTML(w, r) })
	mux.HandleFunc("GET /openapi.json", func(w http.ResponseWriter, r *http.Request) { s.page.Load().serveJSON(w, r) })
	mux.HandleFunc("GET /openapi.yaml", func(w http.ResponseWriter, r *http.Request) { s.page.Load().serveYAML(w, r) })
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { say(w, http.StatusOK, "ok\n") })
	mux.HandleFunc("GET /readyz", s.ready)
	mux.Handle("GET /metrics", promhttp.HandlerFor(s.handler.observer.registry, promhttp.HandlerOpts{}))
	return mux
}

// ready says whether requests should come: a server that is about to end is alive, and no longer ready.
func (s *Server) ready(w http.ResponseWriter, _ *http.Request) {
	if s.ending.Load() {
		say(w, http.StatusServiceUnavailable, "ending\n")
		return
	}
	say(w, http.StatusOK, "ok\n")
}

func say(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text) // an error here is the prober's
}
