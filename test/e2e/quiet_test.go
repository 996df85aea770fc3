//go:build e2e

package e2e

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/tidelock/tidelock/test/env"
)

// counter stands before the API server and counts what it is asked for; open watches and the Lease are counted apart.
type counter struct {
	url string

	mu       sync.Mutex
	requests []string
}

func newCounter(t *testing.T, cfg *rest.Config) *counter {
	t.Helper()
	target, err := url.Parse(cfg.Host)
	if err != nil {
		t.Fatal(err)
	}
	tlsConfig, err := rest.TLSConfigFor(cfg)
	if err != nil {
		t.Fatal(err)
	}
	c := &counter{}
	proxy := httputil.NewSingleHostReverseProxy(target)
	proxy.Transport = &http.Transport{TLSClientConfig: tlsConfig, ForceAttemptHTTP2: true}
	proxy.FlushInterval = -1
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		c.count(req)
		proxy.ServeHTTP(w, req)
	}))
	t.Cleanup(func() {
		srv.CloseClientConnections()
		srv.Close()
	})
	c.url = srv.URL
	return c
}

func (c *counter) count(req *http.Request) {
	q := req.URL.Query()
	if q.Get("watch") == "true" || q.Get("watch") == "1" || strings.Contains(req.URL.Path, "/leases/") {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.requests = append(c.requests, req.Method+" "+req.URL.Path)
}

func (c *counter) take() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := c.requests
	c.requests = nil
	return out
}

func (c *counter) kubeconfig(t *testing.T) string {
	t.Helper()
	cfg := clientcmdapi.NewConfig()
	cfg.Clusters["c"] = &clientcmdapi.Cluster{Server: c.url}
	cfg.Contexts["c"] = &clientcmdapi.Context{Cluster: "c"}
	cfg.CurrentContext = "c"
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*cfg, file); err != nil {
		t.Fatal(err)
	}
	return file
}

// No change, no work: passes over an unchanged repository make no request to the API server and send nothing to a proxy.
func TestNothingToDoCostsNothing(t *testing.T) {
	t.Parallel()
	r := env.NewRepo(t)
	d := newDaemon(t, r, "--local-mocks")
	c := newCounter(t, env.Cluster(t).Config())
	d.kubeconfig = c.kubeconfig(t)
	port := env.FreePort(t)
	changes := files{"routes.yaml": answering(d.namespace, "v1", "one") + "---\n" + answering(d.namespace, "v2", "two") +
		"---\n" + split(d.namespace, 90, 10, port)}
	for i := range 20 {
		changes[fmt.Sprintf("%d.yaml", i)] = configMap(d.namespace, fmt.Sprintf("object-%d", i), "1")
	}
	d.settledAfterStart(t, r.Push(t, changes))
	e := d.envoy(t)
	d.settled(t, r.Git(t, "rev-parse", "HEAD"))
	d.Eventually(t, "Envoy to be on record", proxyOnRecord(d))
	c.take()
	before := updates(t, e)

	// Each touch of a ref starts a pass, and a pass over the same commit has nothing to do.
	const passes = 20
	for range passes {
		r.Git(t, "push", "-q", "-f", "origin", "HEAD:refs/heads/main", "HEAD:refs/heads/other")
		r.Git(t, "push", "-q", "origin", ":refs/heads/other")
	}
	if err := os.Chtimes(filepath.Join(r.Bare, "HEAD"), now(), now()); err != nil {
		t.Fatal(err)
	}
	// A commit that changes nothing which is declared is accepted and applied without a write to any object.
	empty := r.Push(t, files{"README.md": "words"})
	d.settled(t, empty)
	for _, request := range c.take() {
		if !strings.Contains(request, "/syncs/") && !strings.Contains(request, "/events") {
			t.Errorf("a pass with nothing to do asked the API server: %s", request)
		}
	}
	if after := updates(t, e); after != before {
		t.Errorf("Envoy was sent %d updates with nothing to do", after-before)
	}
}
