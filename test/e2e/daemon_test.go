//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/tidelock/tidelock/api/v1alpha1"
	"github.com/tidelock/tidelock/test/env"
)

// patience is how long a request may take.
const patience = 60 * time.Second

// daemon is a running "tidelock run", or one that was.
type daemon struct {
	*env.Process

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
}

// newDaemon prepares an instance in a namespace of its own that follows a repository; start runs it.
func newDaemon(t *testing.T, r *env.Repo, extra ...string) *daemon {
	t.Helper()
	plane := env.Cluster(t)
	return daemonOn(t, plane, plane.Namespace(t), r.Bare, extra...)
}

func daemonOn(t *testing.T, plane *env.ControlPlane, namespace, repository string, extra ...string) *daemon {
	t.Helper()
	return &daemon{
		Process: &env.Process{}, client: plane.Client(t), kubeconfig: plane.Kubeconfig, namespace: namespace, name: namespace, repo: repository,
		data: t.TempDir(), xdsPort: env.FreePort(t), webPort: env.FreePort(t), extra: extra,
	}
}

// start runs the daemon until the test ends and returns once its first pass is through.
func (d *daemon) start(t *testing.T) {
	t.Helper()
	d.launch(t)
	d.Eventually(t, "the daemon to be ready", func(ctx context.Context) error {
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
	d.Process = env.StartProcess(t, d.env, binary, args...)
}

// sync returns the instance's status.
func (d *daemon) sync(ctx context.Context) (v1alpha1.SyncStatus, error) {
	return env.Sync(ctx, d.client, d.namespace, d.name)
}

// settled waits until a commit is in and nothing is left to do.
func (d *daemon) settled(t *testing.T, commit string) v1alpha1.SyncStatus {
	t.Helper()
	var last v1alpha1.SyncStatus
	d.Eventually(t, "commit "+commit+" to be live", func(ctx context.Context) (err error) {
		if last, err = d.sync(ctx); err != nil {
			return err
		}
		if last.Commit != commit || !meta.IsStatusConditionTrue(last.Conditions, v1alpha1.ConditionReady) {
			return fmt.Errorf("commit %s: %s", last.Commit, env.Show(last))
		}
		return nil
	})
	return last
}

// rejected waits until a commit is refused, and returns the errors.
func (d *daemon) rejected(t *testing.T, commit string) string {
	t.Helper()
	var text string
	d.Eventually(t, "commit "+commit+" to be refused", func(ctx context.Context) error {
		s, err := d.sync(ctx)
		if err == nil && (s.Rejected == nil || s.Rejected.Commit != commit) {
			err = errors.New(env.Show(s))
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
	d.Eventually(t, fmt.Sprintf("the Sync to say %q", want), func(ctx context.Context) error {
		s, err := d.sync(ctx)
		if err != nil {
			return err
		}
		if text := env.Show(s); !strings.Contains(text, want) {
			return errors.New(text)
		}
		return nil
	})
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
	return env.StartEdge(t, binary, d.xdsPort)
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
