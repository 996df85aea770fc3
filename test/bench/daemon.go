package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/tidelock/tidelock/api/v1alpha1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/watch"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	namespace = "default"
	patience  = 5 * time.Minute
	pause     = 50 * time.Millisecond
)

func scheme() *runtime.Scheme {
	s := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(s))
	utilruntime.Must(v1alpha1.AddToScheme(s))
	return s
}

// daemon is a running "tidelock run".
type daemon struct {
	plane *plane
	cmd   *exec.Cmd
	log   string
	done  chan struct{}
	name  string
	xds   string
	web   string
}

// daemon starts one that follows a repository.
func (b *bench) daemon(ctx context.Context, name string, r *repo) (*daemon, error) {
	ports, err := freePorts(ctx, 2)
	if err != nil {
		return nil, err
	}
	d := &daemon{
		plane: b.plane, log: filepath.Join(b.dir, name+".log"), done: make(chan struct{}), name: name, xds: "127.0.0.1:" + ports[0],
		web: "127.0.0.1:" + ports[1],
	}
	log, err := os.OpenFile(d.log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("make a log: %w", err)
	}
	defer log.Close() // the daemon has its own copy
	//nolint:gosec // the program that make build made
	d.cmd = exec.CommandContext(ctx, filepath.Join(b.root, "bin", "tidelock"), "run", "--name", name, "--namespace", namespace,
		"--kubeconfig", b.gate.kubeconfig, "--repo", r.bare, "--data-dir", filepath.Join(b.dir, name),
		"--xds-address", d.xds, "--web-address", d.web)
	d.cmd.Stdout, d.cmd.Stderr = log, log
	d.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := d.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the daemon: %w: run make build", err)
	}
	go func() {
		_ = d.cmd.Wait()
		close(d.done)
	}()
	return d, nil
}

func freePorts(ctx context.Context, n int) ([]string, error) {
	var lc net.ListenConfig
	var ports []string
	for range n {
		l, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
		if err != nil {
			return nil, fmt.Errorf("find a free port: %w", err)
		}
		defer l.Close()
		if a, ok := l.Addr().(*net.TCPAddr); ok {
			ports = append(ports, strconv.Itoa(a.Port))
		}
	}
	return ports, nil
}

// stop ends the daemon in order.
func (d *daemon) stop() error {
	if err := d.cmd.Process.Signal(os.Interrupt); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("stop the daemon: %w", err)
	}
	<-d.done
	return nil
}

// live waits until a commit is in, and returns the moment at which the Sync said so.
func (d *daemon) live(ctx context.Context, commit string) (time.Time, error) {
	return d.follow(ctx, func(s *v1alpha1.Sync) bool {
		return s.Status.Commit == commit && meta.IsStatusConditionTrue(s.Status.Conditions, v1alpha1.ConditionReady) &&
			meta.IsStatusConditionFalse(s.Status.Conditions, v1alpha1.ConditionReconciling)
	})
}

// follow watches the Sync until it is as wanted, and returns when that was.
func (d *daemon) follow(ctx context.Context, wanted func(*v1alpha1.Sync) bool) (time.Time, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		w, err := d.plane.admin.Watch(ctx, &v1alpha1.SyncList{}, client.InNamespace(namespace), client.MatchingFields{"metadata.name": d.name})
		if err == nil {
			at, found := firstOf(w, wanted)
			w.Stop()
			if found {
				return at, nil
			}
		}
		// The definition of Sync is not there yet, or the watch was closed.
		select {
		case <-ctx.Done():
			return time.Time{}, fmt.Errorf("wait for instance %s: %w; its log:\n%s", d.name, ctx.Err(), d.tail())
		case <-d.done:
			return time.Time{}, fmt.Errorf("the daemon ended; its log:\n%s", d.tail())
		case <-time.After(pause):
		}
	}
}

// firstOf returns when a wanted Sync came by, until the watch is closed.
func firstOf(w watch.Interface, wanted func(*v1alpha1.Sync) bool) (time.Time, bool) {
	for e := range w.ResultChan() {
		if s, ok := e.Object.(*v1alpha1.Sync); ok && wanted(s) {
			return time.Now(), true
		}
	}
	return time.Time{}, false
}

// ready returns when the first pass of this life was through.
func (d *daemon) ready(ctx context.Context) (time.Time, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	cl := &http.Client{}
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+d.web+"/readyz", http.NoBody)
		if err != nil {
			return time.Time{}, fmt.Errorf("ask the daemon: %w", err)
		}
		if res, err := cl.Do(req); err == nil {
			_ = res.Body.Close()
			if res.StatusCode == http.StatusOK {
				return time.Now(), nil
			}
		}
		select {
		case <-ctx.Done():
			return time.Time{}, fmt.Errorf("wait for the first pass: %w; the log:\n%s", ctx.Err(), d.tail())
		case <-d.done:
			return time.Time{}, fmt.Errorf("the daemon ended; its log:\n%s", d.tail())
		case <-tick.C:
		}
	}
}

// tail returns the end of the daemon's log.
func (d *daemon) tail() []byte {
	const most = 4 << 10
	text, err := os.ReadFile(d.log)
	if err != nil {
		return []byte(err.Error())
	}
	return text[max(0, len(text)-most):]
}

// destroy removes what an instance owns.
func (b *bench) destroy(ctx context.Context, name string) error {
	//nolint:gosec // the program that make build made
	cmd := exec.CommandContext(ctx, filepath.Join(b.root, "bin", "tidelock"), "destroy", "--name", name, "--namespace", namespace,
		"--kubeconfig", b.plane.kubeconfig)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("destroy %s: %w\n%s", name, err, out)
	}
	return nil
}
