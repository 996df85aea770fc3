//go:build e2e

package faults

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/tidelock/tidelock/api/v1alpha1"
	"github.com/tidelock/tidelock/test/env"
)

// patience is how long a daemon may take to get over a fault; it is long, since many share two cores.
const patience = 90 * time.Second

// daemon is an instance: a process that runs now or will again, and what outlives it.
type daemon struct {
	name    string // of the instance and of its namespace
	client  client.Client
	repo    *repo
	proxy   *proxy // nil where nothing stands before the API server
	args    []string
	xdsPort int
	drifted int // how many objects were deleted so far

	cmd  *exec.Cmd
	log  *logBuffer
	done chan struct{}
}

// newDaemon prepares an instance in a namespace of its own; start runs it.
func newDaemon(t *testing.T) *daemon {
	t.Helper()
	plane := env.Cluster(t)
	d := daemonOn(t, plane, plane.Namespace(t))
	d.proxy = newProxy(t, plane)
	d.set("--kubeconfig", d.proxy.kubeconfig)
	return d
}

func daemonOn(t *testing.T, plane *env.ControlPlane, name string) *daemon {
	t.Helper()
	s := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(s))
	utilruntime.Must(v1alpha1.AddToScheme(s))
	c, err := client.New(plane.Config(), client.Options{Scheme: s})
	if err != nil {
		t.Fatal(err)
	}
	d := &daemon{name: name, client: c, repo: newRepo(t), xdsPort: env.FreePort(t), log: &logBuffer{}}
	d.args = []string{
		"run", "--local-mocks", "--interval", "200ms", "--data-dir", t.TempDir(), "--name", name, "--namespace", name,
		"--xds-address", fmt.Sprintf("127.0.0.1:%d", d.xdsPort), "--web-address", fmt.Sprintf("127.0.0.1:%d", env.FreePort(t)),
	}
	d.set("--kubeconfig", plane.Kubeconfig)
	d.set("--repo", d.repo.bare)
	return d
}

// set gives a flag; the last value of a flag counts.
func (d *daemon) set(flag, value string) { d.args = append(d.args, flag, value) }

// start runs the daemon until it is killed or the test ends.
func (d *daemon) start(t *testing.T) {
	t.Helper()
	d.cmd = exec.CommandContext(context.WithoutCancel(t.Context()), binary, d.args...)
	d.done = make(chan struct{})
	d.cmd.Stdout, d.cmd.Stderr = d.log, d.log
	d.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := d.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	cmd, done := d.cmd, d.done
	go func() {
		_ = cmd.Wait()
		close(done)
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-done
	})
}

// kill ends the daemon as kill -9 does. Its Lease is taken away: nobody learns anything from waiting until it runs out.
func (d *daemon) kill(t *testing.T) {
	t.Helper()
	if err := d.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-d.done
	lease := &coordinationv1.Lease{}
	lease.Namespace, lease.Name = d.name, v1alpha1.ManagedBy+"-"+d.name
	if err := client.IgnoreNotFound(d.client.Delete(t.Context(), lease)); err != nil {
		t.Fatal(err)
	}
}

// settled waits until a commit is in and nothing is left to do, or until stop is closed; it returns whether it is in.
func (d *daemon) settled(t *testing.T, commit string, stop <-chan struct{}) bool {
	t.Helper()
	in := false
	d.eventually(t, "commit "+commit+" to be in", func(ctx context.Context) error {
		select {
		case <-stop:
			return nil
		default:
		}
		var s v1alpha1.Sync
		err := d.client.Get(ctx, client.ObjectKey{Namespace: d.name, Name: d.name}, &s)
		if r := s.Status.Rejected; r != nil && r.Commit == commit {
			t.Fatalf("commit %s is refused: %v", commit, r.Errors)
		}
		if in = err == nil && s.Status.Commit == commit && meta.IsStatusConditionTrue(s.Status.Conditions, v1alpha1.ConditionReady); in {
			return nil
		}
		return errors.Join(err, errors.New(show(s.Status)))
	})
	return in
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
	late := time.NewTimer(patience)
	defer late.Stop()
	tick := time.NewTicker(25 * time.Millisecond)
	defer tick.Stop()
	for {
		err := ask(t.Context())
		if err == nil {
			return
		}
		select {
		case <-late.C:
			t.Fatalf("gave up waiting for %s: %v\nthe daemon's log:\n%s", what, err, d.log)
		case <-d.done:
			t.Fatalf("the daemon ended while the test waited for %s: %v\nits log:\n%s", what, err, d.log)
		case <-tick.C:
		}
	}
}

// logBuffer collects the end of a process's output.
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
	const most = 8 << 10
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.b.Bytes()
	return strings.TrimSpace(string(b[max(0, len(b)-most):]))
}
