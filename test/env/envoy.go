package env

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
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
	// Admin is the URL of the admin interface, without a path.
	Admin string

	cmd  *exec.Cmd
	log  string
	done chan struct{}
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
	e := &Envoy{log: filepath.Join(dir, "envoy.log"), done: make(chan struct{})}
	ctx, exited := context.WithCancel(context.WithoutCancel(tb.Context()))
	e.cmd = exec.CommandContext(ctx, EnvoyBinary(tb), "--config-path", config, "--config-yaml", anyAdmin,
		"--admin-address-path", address, "--log-path", e.log, "--concurrency", "1",
		// No shared memory, so that any number of them run side by side.
		"--disable-hot-restart")
	e.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := e.cmd.Start(); err != nil {
		exited()
		tb.Fatalf("start Envoy: %v", err)
	}
	go func() {
		_ = e.cmd.Wait()
		exited()
		close(e.done)
	}()
	tb.Cleanup(func() { e.stop(tb) })
	if e.Admin, err = adminURL(ctx, address); err != nil {
		tb.Fatalf("start Envoy: %v", err)
	}
	return e
}

// adminURL waits for the file in which Envoy says where its admin interface listens.
func adminURL(ctx context.Context, path string) (string, error) {
	var url string
	err := poll(ctx, envoyTimeout, func(context.Context) error {
		address, err := os.ReadFile(path)
		if err == nil && len(address) == 0 {
			err = io.ErrUnexpectedEOF
		}
		url = "http://" + string(address)
		return err
	})
	return url, err
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
	err := poll(tb.Context(), envoyTimeout, func(ctx context.Context) error {
		_, err := e.get(ctx, "/ready")
		return err
	})
	if err != nil {
		tb.Fatalf("wait for Envoy to be live: %v", err)
	}
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

// Kill ends the proxy as SIGKILL does and returns when it has gone.
func (e *Envoy) Kill(tb testing.TB) {
	tb.Helper()
	if err := e.cmd.Process.Kill(); err != nil {
		tb.Fatalf("kill Envoy: %v", err)
	}
	<-e.done
}

// Pause holds the proxy: its connections stay open, and nothing answers until Resume.
func (e *Envoy) Pause(tb testing.TB) {
	tb.Helper()
	if err := e.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		tb.Fatalf("pause Envoy: %v", err)
	}
}

// Resume ends a Pause.
func (e *Envoy) Resume(tb testing.TB) {
	tb.Helper()
	if err := e.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		tb.Fatalf("resume Envoy: %v", err)
	}
}

// stop ends the proxy without draining and shows its log where the test has failed.
func (e *Envoy) stop(tb testing.TB) {
	tb.Helper()
	if err := e.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		tb.Errorf("stop Envoy: %v", err)
	}
	<-e.done
	if tb.Failed() {
		tb.Logf("the end of Envoy's log:\n%s", tail(e.log))
	}
}
