package env

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"
)

const (
	envoyTimeout   = 30 * time.Second
	maxAdminAnswer = 64 << 20
	// anyAdmin is merged into the bootstrap, whose own port wins: in a merge a 0 is not set.
	anyAdmin = `{admin: {address: {socket_address: {address: 127.0.0.1, port_value: 0}}}}`
)

// Envoy is a running proxy.
type Envoy struct {
	*Process

	// Admin is the URL of the admin interface, without a path.
	Admin string
}

// EnvoyBinary returns the path of a real Envoy.
func EnvoyBinary(tb testing.TB) string {
	tb.Helper()
	binary, err := tool("envoy", "envoy")
	if err != nil {
		tb.Fatal(err)
	}
	return binary
}

// StartEnvoy starts an Envoy with a bootstrap in YAML and returns when its admin interface listens: at the
// bootstrap's admin address, else on a free loopback port. It stops with the test. Bootstrap and log are among
// the test's artifacts, and the end of the log is printed where the test fails.
func StartEnvoy(tb testing.TB, bootstrap []byte) *Envoy {
	tb.Helper()
	//nolint:usetesting // the artifacts of a test may outlive it, its TempDir does not
	dir, err := os.MkdirTemp(tb.ArtifactDir(), "envoy-")
	if err != nil {
		tb.Fatalf("make a folder for Envoy: %v", err)
	}
	config, address := filepath.Join(dir, "bootstrap.yaml"), filepath.Join(dir, "admin-address")
	if err := os.WriteFile(config, bootstrap, 0o600); err != nil {
		tb.Fatalf("write Envoy's bootstrap: %v", err)
	}
	// No shared memory, so that any number of them run side by side.
	e := &Envoy{Process: StartProcess(tb, nil, EnvoyBinary(tb), "--config-path", config, "--config-yaml", anyAdmin,
		"--admin-address-path", address, "--concurrency", "1", "--disable-hot-restart")}
	tb.Cleanup(func() {
		if err := os.WriteFile(filepath.Join(dir, "envoy.log"), []byte(e.Log.String()), 0o600); err != nil {
			tb.Errorf("keep Envoy's log: %v", err)
		}
	})
	e.Eventually(tb, "Envoy to say where its admin interface listens", func(context.Context) error {
		listens, err := os.ReadFile(address)
		if err == nil && len(listens) == 0 {
			err = io.ErrUnexpectedEOF
		}
		e.Admin = "http://" + string(listens)
		return err
	})
	return e
}

// Get returns the answer of the admin interface to a path such as "/config_dump"; other than 200 fails the test.
func (e *Envoy) Get(tb testing.TB, path string) []byte {
	tb.Helper()
	body, err := e.get(tb.Context(), path)
	if err != nil {
		tb.Fatal(err)
	}
	return body
}

// WaitReady returns when Envoy is live: it has its first configuration from every source and listens.
func (e *Envoy) WaitReady(tb testing.TB) {
	tb.Helper()
	e.Eventually(tb, "Envoy to be live", func(ctx context.Context) error {
		_, err := e.get(ctx, "/ready")
		return err
	})
}

func (e *Envoy) get(ctx context.Context, path string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, e.Admin+path, http.NoBody)
	if err != nil {
		return nil, fmt.Errorf("ask Envoy for %s: %w", path, err)
	}
	client := &http.Client{Timeout: envoyTimeout}
	res, err := client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("ask Envoy for %s: %w", path, err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, maxAdminAnswer))
	if err != nil {
		return nil, fmt.Errorf("ask Envoy for %s: %w", path, err)
	}
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("ask Envoy for %s: %s: %.200s", path, res.Status, body)
	}
	return body, nil
}
