package main

import (
	"context"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

// gate is a proxy before the API server that counts requests.
type gate struct {
	server     *httptest.Server
	kubeconfig string

	mu     sync.Mutex
	counts counts
	last   time.Time
}

// counts are requests by what they do: "get", "list", "watch", "dry run", "apply", "write", "delete". The renewal of a Lease is
// not among them.
type counts map[string]int

func (c counts) sum() (n int) {
	for kind, k := range c {
		if kind != "watch" {
			n += k
		}
	}
	return n
}

func (c counts) String() string {
	if len(c) == 0 {
		return "none"
	}
	parts := make([]string, 0, len(c))
	for _, kind := range slices.Sorted(maps.Keys(c)) {
		parts = append(parts, fmt.Sprintf("%d %s", c[kind], kind))
	}
	return strings.Join(parts, ", ")
}

func openGate(cfg *rest.Config, dir string) (*gate, error) {
	target, err := url.Parse(cfg.Host)
	if err != nil {
		return nil, fmt.Errorf("read the address of the API server: %w", err)
	}
	transport, err := rest.TransportFor(cfg)
	if err != nil {
		return nil, fmt.Errorf("connect to the API server: %w", err)
	}
	g := &gate{counts: counts{}}
	proxy := &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(target) },
		Transport:     transport,
		FlushInterval: -1,
		ErrorLog:      log.New(io.Discard, "", 0), // a watch that ends is no news
	}
	g.server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		g.count(r)
		proxy.ServeHTTP(w, r)
	}))
	g.server.EnableHTTP2 = true
	g.server.StartTLS()
	config := api.NewConfig()
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: g.server.Certificate().Raw})
	config.Clusters["gate"] = &api.Cluster{Server: g.server.URL, CertificateAuthorityData: ca}
	config.AuthInfos["gate"] = &api.AuthInfo{}
	config.Contexts["gate"] = &api.Context{Cluster: "gate", AuthInfo: "gate"}
	config.CurrentContext = "gate"
	g.kubeconfig = filepath.Join(dir, "kubeconfig")
	if err := clientcmd.WriteToFile(*config, g.kubeconfig); err != nil {
		return nil, fmt.Errorf("write a kubeconfig: %w", err)
	}
	return g, nil
}

// close ends the gate; watches that are still open are cut.
func (g *gate) close() {
	g.server.CloseClientConnections()
	g.server.Close()
}

// config is how a peer in this process reaches the API server.
func (g *gate) config() (*rest.Config, error) {
	cfg, err := clientcmd.BuildConfigFromFlags("", g.kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("read the kubeconfig: %w", err)
	}
	cfg.QPS = -1
	return cfg, nil
}

func (g *gate) count(r *http.Request) {
	if strings.Contains(r.URL.Path, "/leases/") {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.counts[kindOf(r)]++
	g.last = time.Now()
}

func kindOf(r *http.Request) string {
	switch q := r.URL.Query(); {
	case q.Get("watch") == "true" || q.Get("watch") == "1":
		return "watch"
	case q.Get("dryRun") != "":
		return "dry run"
	case r.Method == http.MethodGet && q.Has("limit"):
		return "list"
	case r.Method == http.MethodGet:
		return "get"
	case r.Method == http.MethodPatch && strings.Contains(r.Header.Get("Content-Type"), "apply-patch"):
		return "apply"
	case r.Method == http.MethodDelete:
		return "delete"
	default:
		return "write"
	}
}

// calm waits until nothing has been asked for a while: statuses of objects are written after the commit is in.
func (g *gate) calm(ctx context.Context) error {
	const quiet = 500 * time.Millisecond
	for {
		g.mu.Lock()
		left := quiet - time.Since(g.last)
		g.mu.Unlock()
		if left <= 0 {
			return nil
		}
		if err := wait(ctx, left); err != nil {
			return err
		}
	}
}

// take returns what was counted since it was last called.
func (g *gate) take() counts {
	g.mu.Lock()
	defer g.mu.Unlock()
	c := g.counts
	g.counts = counts{}
	return c
}
