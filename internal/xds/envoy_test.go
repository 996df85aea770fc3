package xds_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	runtimev3 "github.com/envoyproxy/go-control-plane/envoy/service/runtime/v3"
	"github.com/envoyproxy/go-control-plane/pkg/cache/types"
	cachev3 "github.com/envoyproxy/go-control-plane/pkg/cache/v3"
	serverv3 "github.com/envoyproxy/go-control-plane/pkg/server/v3"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/tidelock/tidelock/internal/xds"
)

// realEnvoy is an Envoy 1.40 that was started with our bootstrap and is served our snapshots by the library's own server,
// so that what is tested is the content alone.
type realEnvoy struct {
	snapshots cachev3.SnapshotCache
	admin     string
	client    *http.Client
	log       *syncBuffer
}

const (
	envoyBinary = "../../.cache/bin/envoy"
	testGroup   = "edge"
	// patience is how long the real process may take on a busy machine.
	patience = 30 * time.Second
)

// syncBuffer is what a process writes, for readers at any time.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

func startEnvoy(t *testing.T) *realEnvoy {
	t.Helper()
	if _, err := os.Stat(envoyBinary); err != nil {
		t.Fatalf("no Envoy: run `make envoy`: %v", err)
	}
	e := &realEnvoy{
		snapshots: cachev3.NewSnapshotCache(false, byGroup{}, nil),
		log:       &syncBuffer{},
		client: &http.Client{
			Timeout:       patience,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
	port := serveADS(t, e.snapshots)
	config, err := xds.Bootstrap(xds.BootstrapConfig{NodeID: "edge-1", Group: testGroup, XDSHost: "127.0.0.1", XDSPort: port})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	file, adminFile := filepath.Join(dir, "envoy.yaml"), filepath.Join(dir, "admin")
	if err := os.WriteFile(file, config, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), envoyBinary, "-c", file, "--admin-address-path", adminFile,
		"--config-yaml", "admin: {address: {socket_address: {port_value: 0}}}",
		"--use-dynamic-base-id", "--concurrency", "1", "--log-level", "warning")
	cmd.Stderr = e.log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	exited := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		close(exited)
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-exited
		if strings.Contains(strings.ToLower(e.log.String()), "deprecated") {
			t.Error("Envoy warns of a deprecated field")
		}
		if t.Failed() {
			t.Logf("Envoy's log:\n%s", e.log)
		}
	})
	eventually(t, "the admin port of Envoy", func() error {
		select {
		case <-exited:
			t.Fatal("Envoy ended")
		default:
		}
		address, err := os.ReadFile(adminFile)
		e.admin = "http://" + string(address)
		if err == nil && len(address) == 0 {
			err = io.ErrUnexpectedEOF
		}
		return err
	})
	return e
}

// byGroup tells proxies apart as the product does.
type byGroup struct{}

func (byGroup) ID(node *corev3.Node) string { return node.GetCluster() }

func serveADS(t *testing.T, snapshots cachev3.Cache) uint32 {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	discoveryv3.RegisterAggregatedDiscoveryServiceServer(server, serverv3.NewServer(t.Context(), snapshots, nil))
	var served sync.WaitGroup
	served.Go(func() { _ = server.Serve(listener) })
	t.Cleanup(func() {
		server.Stop()
		served.Wait()
	})
	return uint32(listener.Addr().(*net.TCPAddr).Port)
}

// publish hands a snapshot to Envoy.
func (e *realEnvoy) publish(t *testing.T, snap xds.Snapshot) {
	t.Helper()
	byType := map[string][]types.Resource{}
	for typeURL, list := range snap.Resources {
		for _, r := range list {
			m, err := (&anypb.Any{TypeUrl: typeURL, Value: r.Value}).UnmarshalNew()
			if err != nil {
				t.Fatal(err)
			}
			byType[typeURL] = append(byType[typeURL], m)
		}
	}
	byType[xds.TypeRuntime] = append(byType[xds.TypeRuntime], &runtimev3.Runtime{Name: "runtime-0"})
	version := strconv.FormatInt(time.Now().UnixNano(), 10)
	s, err := cachev3.NewSnapshot(version, byType)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.snapshots.SetSnapshot(t.Context(), testGroup, s); err != nil {
		t.Fatal(err)
	}
}

func accepts(ctx context.Context, address string) error {
	conn, err := (&net.Dialer{Timeout: patience}).DialContext(ctx, "tcp", address)
	if err != nil {
		return err
	}
	return conn.Close()
}

// address returns where a listener accepts connections.
func (e *realEnvoy) address(t *testing.T, listener string) string {
	t.Helper()
	var out string
	eventually(t, "listener "+listener, func() error {
		body, err := e.adminPage(t.Context(), "/listeners?format=json")
		if err != nil {
			return err
		}
		var page struct {
			Statuses []struct {
				Name  string `json:"name"`
				Local struct {
					Socket struct {
						Address string `json:"address"`
						Port    int    `json:"port_value"`
					} `json:"socket_address"`
				} `json:"local_address"`
			} `json:"listener_statuses"`
		}
		if err := json.Unmarshal(body, &page); err != nil {
			return err
		}
		for _, s := range page.Statuses {
			if s.Name == listener && s.Local.Socket.Port != 0 {
				out = net.JoinHostPort(s.Local.Socket.Address, strconv.Itoa(s.Local.Socket.Port))
				return accepts(t.Context(), out)
			}
		}
		return fmt.Errorf("not among the listeners: %s", body)
	})
	return out
}

func (e *realEnvoy) adminPage(ctx context.Context, path string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, e.admin+path, nil)
	if err != nil {
		return nil, err
	}
	resp, err := e.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	return io.ReadAll(resp.Body)
}

// eventually polls a real process until check passes.
func eventually(t *testing.T, what string, check func() error) {
	t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	for {
		err := check()
		if err == nil {
			return
		}
		select {
		case <-tick.C:
		case <-deadline.C:
			t.Fatalf("%s did not come: %v", what, err)
		}
	}
}

// echo is a backend that says who it is and what it was asked.
func echo(t *testing.T, name string, answer func(w http.ResponseWriter, r *http.Request) bool) xds.Endpoint {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if answer != nil && answer(w, r) {
			return
		}
		_ = json.NewEncoder(w).Encode(echoed{
			Backend: name, Path: r.RequestURI, Host: r.Host, Header: r.Header, Proto: r.Proto,
		})
	}))
	t.Cleanup(server.Close)
	return endpointOf(t, server.Listener.Addr().String())
}

// echoed is what a backend was asked.
type echoed struct {
	Backend string      `json:"backend"`
	Path    string      `json:"path"`
	Host    string      `json:"host"`
	Proto   string      `json:"proto"`
	Header  http.Header `json:"header"`
}

func endpointOf(t *testing.T, address string) xds.Endpoint {
	t.Helper()
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		t.Fatal(err)
	}
	return xds.Endpoint{Address: host, Port: uint32(n)}
}

// echoHTTP2 speaks HTTP/2 in plain text.
func echoHTTP2(t *testing.T, name string) xds.Endpoint {
	t.Helper()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = json.NewEncoder(w).Encode(echoed{Backend: name, Path: r.RequestURI, Host: r.Host, Proto: r.Proto})
	}))
	server.Config.Protocols = &http.Protocols{}
	server.Config.Protocols.SetUnencryptedHTTP2(true)
	server.Start()
	t.Cleanup(server.Close)
	return endpointOf(t, server.Listener.Addr().String())
}
