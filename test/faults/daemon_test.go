//go:build e2e

package faults

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/tidelock/tidelock/api/v1alpha1"
	"github.com/tidelock/tidelock/test/env"
)

// daemon is an instance: a process that runs now or will again, and what outlives it.
type daemon struct {
	*env.Process

	name    string // of the instance and of its namespace
	client  client.Client
	repo    *env.Repo
	proxy   *proxy // nil where nothing stands before the API server
	args    []string
	xdsPort int
	drifted int // how many objects were deleted so far
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
	d := &daemon{Process: &env.Process{}, name: name, client: plane.Client(t), repo: env.NewRepo(t), xdsPort: env.FreePort(t)}
	d.repo.Push(t, map[string]string{
		"tidelock.yaml": "apiVersion: tidelock.dev/v1alpha1\nkind: Config\nprune: {maxDeletes: 100, maxPercent: 100}\n",
	})
	d.args = []string{
		"run", "--local-mocks", "--interval", "200ms", "--data-dir", t.TempDir(), "--name", name, "--namespace", name,
		"--xds-address", fmt.Sprintf("127.0.0.1:%d", d.xdsPort), "--web-address", fmt.Sprintf("127.0.0.1:%d", env.FreePort(t)),
	}
	d.set("--kubeconfig", plane.Kubeconfig)
	d.set("--repo", d.repo.Bare)
	return d
}

// set gives a flag; the last value of a flag counts.
func (d *daemon) set(flag, value string) { d.args = append(d.args, flag, value) }

// start runs the daemon until it is killed or the test ends.
func (d *daemon) start(t *testing.T) {
	t.Helper()
	d.Process = env.StartProcess(t, nil, binary, d.args...)
}

// kill ends the daemon as kill -9 does. It leaves its Lease behind.
func (d *daemon) kill(t *testing.T) {
	t.Helper()
	d.Kill(t)
}

// settled waits until a commit is in and nothing is left to do, or until stop is closed; it returns whether it is in.
func (d *daemon) settled(t *testing.T, commit string, stop <-chan struct{}) bool {
	t.Helper()
	in := false
	d.Eventually(t, "commit "+commit+" to be in", func(ctx context.Context) error {
		select {
		case <-stop:
			return nil
		default:
		}
		s, err := env.Sync(ctx, d.client, d.name, d.name)
		if r := s.Rejected; r != nil && r.Commit == commit {
			t.Fatalf("commit %s is refused: %v", commit, r.Errors)
		}
		if in = err == nil && s.Commit == commit && meta.IsStatusConditionTrue(s.Conditions, v1alpha1.ConditionReady); in {
			return nil
		}
		return errors.Join(err, errors.New(env.Show(s)))
	})
	return in
}
