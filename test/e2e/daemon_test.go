//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/tidelock/tidelock/api/v1alpha1"
	"github.com/tidelock/tidelock/test/env"
)

// patience is how long anything may take; it is long, since many tests share two cores. No test measures time by it.
const patience = 60 * time.Second

// daemon is a running "tidelock run", or one that was.
type daemon struct {
	client     client.Client
	kubeconfig string
	namespace  string
	name       string
	repo       string
	data       string
	xdsPort    int
	webPort    int
	extra      []string
	env        []string // beside the test's own

	cmd  *exec.Cmd
	log  *logBuffer
	done chan struct{}
}

// newDaemon prepares an instance in a namespace of its own that follows a repository; start runs it.
func newDaemon(t *testing.T, r *repo, extra ...string) *daemon {
	t.Helper()
	plane := env.Cluster(t)
	return daemonOn(t, plane, plane.Namespace(t), r.bare, extra...)
}

func daemonOn(t *testing.T, plane *env.ControlPlane, namespace, repository string, extra ...string) *daemon {
	t.Helper()
	c, err := client.New(plane.Config(), client.Options{Scheme: scheme(t)})
	if err != nil {
		t.Fatal(err)
	}
	return &daemon{
		client: c, kubeconfig: plane.Kubeconfig, namespace: namespace, name: namespace, repo: repository,
		data: t.TempDir(), xdsPort: env.FreePort(t), webPort: env.FreePort(t), extra: extra,
	}
}

// start runs the daemon until the test ends and returns once its first pass is through.
func (d *daemon) start(t *testing.T) {
	t.Helper()
	d.launch(t)
	d.eventually(t, "the daemon to be ready", func(ctx context.Context) error {
		_, err := get(ctx, fmt.Sprintf("http://127.0.0.1:%d/readyz", d.webPort), "")
		return err
	})
}

// launch runs the daemon and does not wait for it.
func (d *daemon) launch(t *testing.T) {
	t.Helper()
	args := append([]string{
		"run", "--name", d.name, "--namespace", d.namespace, "--kubeconfig", d.kubeconfig, "--repo", d.repo,
		"--data-dir", d.data, "--interval", "200ms", "--log-level", "info",
		"--xds-address", fmt.Sprintf("127.0.0.1:%d", d.xdsPort), "--web-address", fmt.Sprintf("127.0.0.1:%d", d.webPort),
	}, d.extra...)
	d.cmd = exec.CommandContext(context.WithoutCancel(t.Context()), binary, args...)
	d.cmd.Env = append(os.Environ(), d.env...)
	d.log, d.done = &logBuffer{}, make(chan struct{})
	d.cmd.Stdout, d.cmd.Stderr = d.log, d.log
	d.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := d.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	cmd, done, log := d.cmd, d.done, d.log
	go func() {
		_ = cmd.Wait()
		close(done)
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-done
		if t.Failed() {
			t.Logf("the daemon's log:\n%s", log)
		}
		if strings.Contains(log.String(), "DATA RACE") {
			t.Error("the daemon has a data race")
		}
	})
}

// kill ends the daemon as kill -9 does.
func (d *daemon) kill(t *testing.T) {
	t.Helper()
	if err := d.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-d.done
}

// stop ends the daemon in order; it must exit without an error.
func (d *daemon) stop(t *testing.T) {
	t.Helper()
	if err := d.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	<-d.done
	if code := d.cmd.ProcessState.ExitCode(); code != 0 {
		t.Fatalf("the daemon exited with %d when it was asked to stop", code)
	}
}

// sync returns the instance's status.
func (d *daemon) sync(ctx context.Context) (v1alpha1.SyncStatus, error) {
	var s v1alpha1.Sync
	err := d.client.Get(ctx, client.ObjectKey{Namespace: d.namespace, Name: d.name}, &s)
	return s.Status, err
}

// settled waits until a commit is in and nothing is left to do.
func (d *daemon) settled(t *testing.T, commit string) v1alpha1.SyncStatus {
	t.Helper()
	var last v1alpha1.SyncStatus
	d.eventually(t, "commit "+commit+" to be live", func(ctx context.Context) (err error) {
		if last, err = d.sync(ctx); err != nil {
			return err
		}
		if last.Commit != commit || !meta.IsStatusConditionTrue(last.Conditions, v1alpha1.ConditionReady) {
			return fmt.Errorf("commit %s: %s", last.Commit, show(last))
		}
		return nil
	})
	return last
}

// rejected waits until a commit is refused, and returns the errors.
func (d *daemon) rejected(t *testing.T, commit string) string {
	t.Helper()
	var text string
	d.eventually(t, "commit "+commit+" to be refused", func(ctx context.Context) error {
		s, err := d.sync(ctx)
		if err == nil && (s.Rejected == nil || s.Rejected.Commit != commit) {
			err = errors.New(show(s))
		}
		if err == nil {
			text = strings.Join(s.Rejected.Errors, "\n")
		}
		return err
	})
	return text
}

// message waits until the instance says something that contains want.
func (d *daemon) message(t *testing.T, want string) {
	t.Helper()
	d.eventually(t, fmt.Sprintf("the Sync to say %q", want), func(ctx context.Context) error {
		s, err := d.sync(ctx)
		if err != nil {
			return err
		}
		if text := show(s); !strings.Contains(text, want) {
			return errors.New(text)
		}
		return nil
	})
}

func show(s v1alpha1.SyncStatus) string {
	b, err := json.Marshal(s)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// eventually asks until ask is content. What it waits for is another process, which has no channel to wait on.
func (d *daemon) eventually(t *testing.T, what string, ask func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		err := ask(ctx)
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("gave up waiting for %s: %v", what, err)
		case <-d.done:
			t.Fatalf("the daemon ended while the test waited for %s: %v", what, err)
		case <-tick.C:
		}
	}
}

// logBuffer collects a process's output while the test reads it.
type logBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// tidelock runs the binary to its end and returns what it printed.
func tidelock(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), binary, args...)
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return out.String(), errOut.String(), cmd.ProcessState.ExitCode()
}

// envoy starts a real Envoy that this daemon serves.
func (d *daemon) envoy(t *testing.T) *env.Envoy {
	t.Helper()
	bootstrap, stderr, code := tidelock(t, "xds", "bootstrap", "--node", "edge-1", "--group", "edge",
		"--xds-address", fmt.Sprintf("127.0.0.1:%d", d.xdsPort), "--admin-port", fmt.Sprint(env.FreePort(t)))
	if code != 0 {
		t.Fatal(stderr)
	}
	e := env.StartEnvoy(t, []byte(bootstrap))
	e.WaitReady(t)
	return e
}

// get asks for a page under a host name and wants status 200.
func get(ctx context.Context, url, host string) (string, error) {
	status, body, err := ask(ctx, http.MethodGet, url, host)
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("%s: status %d: %s", url, status, body)
	}
	return body, err
}

func path(parts ...string) string { return filepath.Join(parts...) }
