package xds_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"

	"github.com/tidelock/tidelock/internal/desired"
	"github.com/tidelock/tidelock/internal/xds"
	"github.com/tidelock/tidelock/test/env"
)

// fleet is our server with a loop on a real port, and a real Envoy that follows it.
type fleet struct {
	*xds.Server
	t     *testing.T
	envoy *env.Envoy

	mu     sync.Mutex
	newest xds.Snapshot
	last   xds.Progress
	passes chan struct{}
}

func startFleet(t *testing.T, first xds.Snapshot) *fleet {
	t.Helper()
	return startFleetOver(t, first, "127.0.0.1:0", nil, nil)
}

// startFleetOver has the two talk over an address in the form of xds.Listen, and TLS if any.
func startFleetOver(t *testing.T, first xds.Snapshot, address string, server *xds.ServerTLS, proxy *xds.BootstrapTLS) *fleet {
	t.Helper()
	lis, err := xds.Listen(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	f := &fleet{
		Server: xds.NewServer(xds.Config{Listener: lis, TLS: server}), t: t, newest: first, passes: make(chan struct{}, 1),
	}
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		if err := f.Run(ctx); err != nil {
			t.Errorf("the server ended: %v", err)
		}
	})
	running.Go(func() { f.loop(ctx) })
	t.Cleanup(func() {
		cancel()
		running.Wait()
	})
	config := xds.BootstrapConfig{
		NodeID: "edge-1", Group: "edge", XDSHost: address, AdminPort: uint32(env.FreePort(t)), TLS: proxy,
	}
	if port, ok := lis.Addr().(*net.TCPAddr); ok {
		config.XDSHost, config.XDSPort = port.IP.String(), uint32(port.Port)
	}
	bootstrap, err := xds.Bootstrap(config)
	if err != nil {
		t.Fatal(err)
	}
	f.publish(first)
	f.envoy = env.StartEnvoy(t, bootstrap)
	f.envoy.WaitReady(t)
	return f
}

func (f *fleet) loop(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-f.Changed():
			f.mu.Lock()
			f.last = f.Publish(f.newest)
			f.mu.Unlock()
			select {
			case f.passes <- struct{}{}:
			default:
			}
		}
	}
}

func (f *fleet) publish(snap xds.Snapshot) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.newest = snap
	f.last = f.Publish(snap)
}

func (f *fleet) until(what string, ok func(xds.Progress) bool) xds.Progress {
	f.t.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	for {
		f.mu.Lock()
		p := f.last
		f.mu.Unlock()
		if ok(p) {
			return p
		}
		select {
		case <-f.passes:
		case <-deadline.C:
			f.t.Fatalf("not %s: %+v; proxies %v", what, p, f.Proxies())
		}
	}
}

// backend is an HTTP server that answers with its name.
func backend(t *testing.T, name string) []xds.Endpoint {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, name) }))
	t.Cleanup(s.Close)
	return []xds.Endpoint{endpointOf(t, s.Listener.Addr().String())}
}

// edge is a snapshot of the host shop.test on a listener of its own.
func edge(t *testing.T, port int, commit string, services map[string][]xds.Endpoint, routes ...desired.Route) xds.Snapshot {
	t.Helper()
	for i := range routes {
		routes[i].Listener = desired.Listener{Name: "http", Address: "127.0.0.1", Port: uint32(port)}
	}
	return mustBuild(t, xds.Input{Group: "edge", Commit: commit, World: worldOf(services), Desired: routes})
}

func ask(ctx context.Context, client *http.Client, port int) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://127.0.0.1:"+strconv.Itoa(port)+"/", http.NoBody)
	if err != nil {
		return "", err
	}
	req.Host = "shop.test"
	res, err := client.Do(req)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", res.Status, body)
	}
	return string(body), err
}

func TestNoRequestIsLostWhenBackendsAreSwitchedUnderLoad(t *testing.T) {
	t.Parallel()
	port := env.FreePort(t)
	services := map[string][]xds.Endpoint{"blue": backend(t, "blue"), "green": backend(t, "green")}
	only := func(name string) xds.Snapshot {
		return edge(t, port, name, map[string][]xds.Endpoint{name: services[name]}, routeTo("shop.test", name))
	}
	f := startFleet(t, only("blue"))
	f.until("settled", settled)

	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	var answered, failed atomic.Int64
	for range 4 {
		running.Go(func() {
			client := &http.Client{Timeout: patience}
			defer client.CloseIdleConnections()
			for ctx.Err() == nil {
				if _, err := ask(ctx, client, port); err == nil {
					answered.Add(1)
				} else if ctx.Err() == nil {
					failed.Add(1)
					t.Errorf("request: %v", err)
				}
			}
		})
	}
	for i := range 50 {
		name := []string{"green", "blue"}[i%2]
		f.publish(only(name))
		f.until("settled", settled)
		if got, err := ask(t.Context(), &http.Client{Timeout: patience}, port); got != name || err != nil {
			t.Errorf("after the switch to %s: %q, %v", name, got, err)
		}
	}
	stop()
	running.Wait()
	t.Logf("%d requests answered, %d failed", answered.Load(), failed.Load())
}

func TestWeightsReachEnvoyWithoutTouchingListeners(t *testing.T) {
	t.Parallel()
	port := env.FreePort(t)
	services := map[string][]xds.Endpoint{"blue": backend(t, "blue"), "green": backend(t, "green")}
	weighted := func(b, g uint32) xds.Snapshot {
		return edge(t, port, "w", services, routeTo("shop.test", "", split(target("blue", b), target("green", g))))
	}
	f := startFleet(t, weighted(1, 0))
	f.until("settled", settled)
	before := stats(f.envoy.Get(t, "/stats?filter=update_success$"))
	f.publish(weighted(0, 1))
	f.until("settled", settled)
	if got, err := ask(t.Context(), &http.Client{Timeout: patience}, port); got != "green" || err != nil {
		t.Errorf("after the change: %q, %v", got, err)
	}
	after := stats(f.envoy.Get(t, "/stats?filter=update_success$"))
	for name, n := range after {
		want := before[name]
		if strings.Contains(name, ".rds.") {
			want++
		}
		if n != want {
			t.Errorf("%s is %d, want %d", name, n, want)
		}
	}
}

func stats(page []byte) map[string]int {
	out := map[string]int{}
	for line := range strings.Lines(string(page)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		if n, err := strconv.Atoi(value); err == nil {
			out[name] = n
		}
	}
	return out
}

func TestEnvoysRefusalIsReportedAndItsTrafficGoesOn(t *testing.T) {
	t.Parallel()
	port := env.FreePort(t)
	services := map[string][]xds.Endpoint{"blue": backend(t, "blue")}
	good := edge(t, port, "good", services, routeTo("shop.test", "blue"))
	f := startFleet(t, good)
	f.until("settled", settled)

	bad := good
	bad.Commit = "bad"
	bad.Resources = withCluster(good, xds.TypeRoute, "http", "")
	twice := &routev3.VirtualHost{Name: "a", Domains: []string{"twice.test"}}
	again := &routev3.VirtualHost{Name: "b", Domains: []string{"twice.test"}}
	bad.Resources[xds.TypeRoute][0] = resource(t, "http", &routev3.RouteConfiguration{
		Name: "http", VirtualHosts: []*routev3.VirtualHost{twice, again},
	})
	f.publish(bad)
	got := f.until("rejected", rejected)
	if r := got.Rejections[0]; r.Node != "edge-1" || r.Commit != "bad" || !strings.Contains(r.Message, "twice.test") || !got.Reverted {
		t.Errorf("progress %+v", got)
	}
	if body, err := ask(t.Context(), &http.Client{Timeout: patience}, port); body != "blue" || err != nil {
		t.Errorf("after the refusal: %q, %v", body, err)
	}
	f.publish(good)
	f.until("settled", settled)
	refusals := 0
	for _, n := range stats(f.envoy.Get(t, "/stats?filter=update_rejected$")) {
		refusals += n
	}
	if refusals != 1 {
		t.Errorf("Envoy refused %d updates, want 1", refusals)
	}
}
