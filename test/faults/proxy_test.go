//go:build e2e

package faults

import (
	"context"
	"encoding/json"
	"io"
	"log"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/tidelock/tidelock/test/env"
)

// fault is what happens to one request. It answers in the API server's place, or has forward ask it.
type fault func(w http.ResponseWriter, req *http.Request, forward http.Handler)

// proxy stands between one daemon and the API server, and lets the n-th request of a sort fail.
type proxy struct {
	kubeconfig string

	forward http.Handler
	server  *httptest.Server

	mu       sync.Mutex
	counts   func(*http.Request) bool // the sort
	seen     int                      // how many of the sort there were
	from, to int                      // which of them fail, the first being 1
	fault    fault
	struck   string         // the request that failed last
	open     map[int]func() // ends an open watch
	next     int
}

func newProxy(t *testing.T, plane *env.ControlPlane) *proxy {
	t.Helper()
	cfg := plane.Config()
	target, err := url.Parse(cfg.Host)
	if err != nil {
		t.Fatal(err)
	}
	tlsConfig, err := rest.TLSConfigFor(cfg)
	if err != nil {
		t.Fatal(err)
	}
	reverse := httputil.NewSingleHostReverseProxy(target)
	reverse.Transport = &http.Transport{TLSClientConfig: tlsConfig, ForceAttemptHTTP2: true}
	reverse.FlushInterval = -1
	reverse.ErrorLog = log.New(io.Discard, "", 0) // faults are what it is for
	reverse.ErrorHandler = func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) }
	p := &proxy{forward: reverse, open: map[int]func(){}}
	p.server = httptest.NewServer(p)
	t.Cleanup(func() {
		p.server.CloseClientConnections()
		p.server.Close()
	})
	p.kubeconfig = kubeconfigOf(t, p.server.URL)
	return p
}

func kubeconfigOf(t *testing.T, server string) string {
	t.Helper()
	cfg := clientcmdapi.NewConfig()
	cfg.Clusters["c"] = &clientcmdapi.Cluster{Server: server}
	cfg.Contexts["c"] = &clientcmdapi.Context{Cluster: "c"}
	cfg.CurrentContext = "c"
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*cfg, file); err != nil {
		t.Fatal(err)
	}
	return file
}

// ServeHTTP passes a request on, or lets it fail.
func (p *proxy) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if f := p.take(req); f != nil {
		f(w, req, p.forward)
		return
	}
	if watches(req) {
		p.follow(w, req)
		return
	}
	p.forward.ServeHTTP(w, req)
}

// take returns the fault of a request, or nil.
func (p *proxy) take(req *http.Request) fault {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.counts == nil || !p.counts(req) {
		return nil
	}
	p.seen++
	if p.seen < p.from || p.seen > p.to {
		return nil
	}
	p.struck = req.Method + " " + req.URL.RequestURI()
	return p.fault
}

// arm lets the n-th request of a sort fail from now on.
func (p *proxy) arm(sort func(*http.Request) bool, n int, f fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.counts, p.seen, p.from, p.to, p.fault, p.struck = sort, 0, n, n, f, ""
}

// armTimes lets the next so many requests of a sort fail.
func (p *proxy) armTimes(sort func(*http.Request) bool, times int, f fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.counts, p.seen, p.from, p.to, p.fault, p.struck = sort, 0, 1, times, f, ""
}

// disarm ends that, and returns the request that failed last, or "".
func (p *proxy) disarm() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.counts = nil
	return p.struck
}

// count is how many requests of the sort there were.
func (p *proxy) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.seen
}

// follow passes a watch on; endWatches ends it.
func (p *proxy) follow(w http.ResponseWriter, req *http.Request) {
	ctx, end := context.WithCancel(req.Context())
	defer end()
	p.mu.Lock()
	p.next++
	n := p.next
	p.open[n] = end
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.open, n)
	}()
	p.forward.ServeHTTP(w, req.WithContext(ctx))
}

// endWatches ends all watches that are open.
func (p *proxy) endWatches() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, end := range p.open {
		end()
	}
}

// writes are the requests that change something, and those that ask what a change would do. The Lease is apart: when it is
// renewed is a matter of time alone.
func writes(req *http.Request) bool {
	return req.Method != http.MethodGet && !strings.Contains(req.URL.Path, "/leases")
}

// refuse answers with a status and does nothing.
func refuse(code int, reason string) fault {
	return func(w http.ResponseWriter, _ *http.Request, _ http.Handler) { status(w, code, reason) }
}

// busy answers as an API server does that has too much to do.
func busy(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
	w.Header().Set("Retry-After", "1")
	status(w, http.StatusTooManyRequests, "TooManyRequests")
}

func status(w http.ResponseWriter, code int, reason string) {
	body, err := json.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "Status", "status": "Failure", "code": code, "reason": reason,
		"message": "a fault of the test: " + reason,
	})
	if err != nil {
		panic(err)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, _ = w.Write(body)
}

// cut ends the connection before anything is done.
func cut(http.ResponseWriter, *http.Request, http.Handler) { panic(http.ErrAbortHandler) }

// lose has the request done and ends the connection without an answer.
func lose(_ http.ResponseWriter, req *http.Request, forward http.Handler) {
	forward.ServeHTTP(httptest.NewRecorder(), req)
	panic(http.ErrAbortHandler)
}

// late has the request done and says that it took too long, as an API server does whose store is slow.
func late(w http.ResponseWriter, req *http.Request, forward http.Handler) {
	forward.ServeHTTP(httptest.NewRecorder(), req)
	status(w, http.StatusGatewayTimeout, "Timeout")
}

// half has the request done and ends the connection in the middle of the answer.
func half(w http.ResponseWriter, req *http.Request, forward http.Handler) {
	req.Header.Del("Accept-Encoding")
	rec := httptest.NewRecorder()
	forward.ServeHTTP(rec, req)
	maps.Copy(w.Header(), rec.Header())
	body := rec.Body.Bytes()
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(rec.Code)
	_, _ = w.Write(body[:len(body)/2])
	if f, ok := w.(http.Flusher); ok {
		f.Flush()
	}
	panic(http.ErrAbortHandler)
}

// gate holds one request until it is opened; then the connection ends.
type gate struct {
	held, open chan struct{}
	// done has the request done first.
	done bool
}

func newGate(done bool) *gate {
	return &gate{held: make(chan struct{}), open: make(chan struct{}), done: done}
}

func (g *gate) hold(_ http.ResponseWriter, req *http.Request, forward http.Handler) {
	if g.done {
		forward.ServeHTTP(httptest.NewRecorder(), req)
	}
	close(g.held)
	<-g.open
	panic(http.ErrAbortHandler)
}
