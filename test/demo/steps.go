package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/tidelock/tidelock/api/v1alpha1"
)

func (d *demo) work() string { return filepath.Join(d.dir, "shop") }

// connect makes the client of the cluster, and asks it something.
func (d *demo) connect(ctx context.Context) error {
	cfg, err := clientcmd.BuildConfigFromFlags("", d.kubeconfig)
	if err != nil {
		return fmt.Errorf("read the kubeconfig: %w", err)
	}
	scheme := runtime.NewScheme()
	if err := errors.Join(corev1.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		return err
	}
	if d.cluster, err = client.New(cfg, client.Options{Scheme: scheme}); err != nil {
		return err
	}
	return d.cluster.Get(ctx, client.ObjectKey{Name: "default"}, &corev1.Namespace{})
}

// makeRepository makes a bare repository of examples/repo and a checkout beside it, as a team would have them.
func (d *demo) makeRepository(ctx context.Context) error {
	bare := filepath.Join(d.dir, "shop.git")
	if err := os.CopyFS(d.work(), os.DirFS(filepath.Join(d.root, "examples", "repo"))); err != nil {
		return fmt.Errorf("copy examples/repo: %w", err)
	}
	d.overlay = "overlays/production"
	if err := d.movePorts(ctx); err != nil {
		return err
	}
	return d.git(ctx,
		[]string{"init", "-q", "--bare", "-b", "main", bare},
		[]string{"init", "-q", "-b", "main"},
		[]string{"remote", "add", "origin", bare},
		[]string{"add", "."},
		[]string{"commit", "-q", "-m", "The shop as it is today"},
		[]string{"push", "-q", "-u", "origin", "main"},
	)
}

// movePorts takes other listener ports where those of the example are in use on this machine.
func (d *demo) movePorts(ctx context.Context) error {
	health, err := preferPort(ctx, 10001)
	if err != nil {
		return err
	}
	return errors.Join(
		d.edit("base/shop.yaml", "port: 10000", fmt.Sprintf("port: %d", d.envoyPort)),
		d.edit("base/load-balancer.yaml", "port_value: 10001", fmt.Sprintf("port_value: %d", health)),
	)
}

func (d *demo) startDaemon(ctx context.Context) error {
	args := []string{
		"run",
		"--name", "demo", "--namespace", "default", "--kubeconfig", d.kubeconfig,
		"--repo", filepath.Join(d.dir, "shop.git"), "--path", d.overlay,
		"--data-dir", filepath.Join(d.dir, "data"),
		"--xds-address", fmt.Sprintf("127.0.0.1:%d", d.xdsPort),
		"--web-address", fmt.Sprintf("127.0.0.1:%d", d.webPort),
	}
	if d.noNode != "" {
		args = append(args, "--local-mocks")
	}
	if err := d.start("tidelock", tool("TIDELOCK_BIN", "bin/tidelock"), args...); err != nil {
		return err
	}
	return d.until(ctx, 20*time.Millisecond, func(ctx context.Context) error {
		return d.get(ctx, fmt.Sprintf("http://127.0.0.1:%d/readyz", d.webPort), "", nil)
	})
}

func (d *demo) startEnvoy(ctx context.Context) error {
	bootstrap, err := d.run(ctx, "", tool("TIDELOCK_BIN", "bin/tidelock"), "xds", "bootstrap",
		"--xds-address", fmt.Sprintf("127.0.0.1:%d", d.xdsPort), "--admin-port", fmt.Sprint(d.adminPort),
		"--node", "demo-1", "--group", "demo")
	if err != nil {
		return err
	}
	file := filepath.Join(d.dir, "envoy.yaml")
	if err := os.WriteFile(file, bootstrap, 0o600); err != nil {
		return fmt.Errorf("write the bootstrap: %w", err)
	}
	err = d.start("envoy", tool("ENVOY_BIN", ".cache/bin/envoy"), "-c", file, "--disable-hot-restart", "--log-level", "warning")
	if err != nil {
		return err
	}
	return d.until(ctx, 20*time.Millisecond, func(ctx context.Context) error {
		return d.get(ctx, fmt.Sprintf("http://127.0.0.1:%d/ready", d.adminPort), "", nil)
	})
}

// firstAnswers waits for one of each version: their pods do not come up at the same moment.
func (d *demo) firstAnswers(ctx context.Context) error {
	var v1, v2 bool
	return d.until(ctx, 20*time.Millisecond, func(ctx context.Context) error {
		var body []byte
		if err := d.get(ctx, d.url(), host, &body); err != nil {
			return err
		}
		v1, v2 = v1 || !ofV2(body), v2 || ofV2(body)
		if !v1 || !v2 {
			return fmt.Errorf("v1 answered: %t, v2 answered: %t", v1, v2)
		}
		return nil
	})
}

// ofV2 reports which version an answer is of: v2 answers in pages.
func ofV2(body []byte) bool { return bytes.Contains(body, []byte(`"items"`)) }

func (d *demo) url() string { return fmt.Sprintf("http://127.0.0.1:%d%s", d.envoyPort, path) }

// get asks for a page, wants status 200 and copies the body to where it is wanted.
func (d *demo) get(ctx context.Context, url, host string, body *[]byte) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return fmt.Errorf("ask %s: %w", url, err)
	}
	req.Host = host
	resp, err := browser().Do(req)
	if err != nil {
		return err
	}
	b, err := io.ReadAll(resp.Body)
	if err := errors.Join(err, resp.Body.Close()); err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answered %s: %s", url, resp.Status, bytes.TrimSpace(b))
	}
	if body != nil {
		*body = b
	}
	return nil
}

// edit replaces the one place in a file of the checkout.
func (d *demo) edit(name, old, changed string) error {
	file := filepath.Join(d.work(), name)
	b, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("edit %s: %w", name, err)
	}
	if strings.Count(string(b), old) != 1 {
		return fmt.Errorf("edit %s: want %q once", name, old)
	}
	return os.WriteFile(file, []byte(strings.Replace(string(b), old, changed, 1)), 0o600)
}

// git runs git in the checkout, as nobody's configuration would have it.
func (d *demo) git(ctx context.Context, commands ...[]string) error {
	for _, c := range commands {
		if _, err := d.run(ctx, d.work(), append([]string{"git"}, c...)...); err != nil {
			return err
		}
	}
	return nil
}

// run runs a program to its end and returns what it printed.
func (d *demo) run(ctx context.Context, dir string, argv ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=Demo", "GIT_AUTHOR_EMAIL=demo@example.com",
		"GIT_COMMITTER_NAME=Demo", "GIT_COMMITTER_EMAIL=demo@example.com")
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%s: %w: %s", strings.Join(argv[:min(len(argv), 3)], " "), err, bytes.TrimSpace(errOut.Bytes()))
	}
	return out.Bytes(), nil
}

// kubectl is what a person types: the kubectl inside the local control plane, or with CLUSTER their own.
func (d *demo) kubectl() string {
	words := []string{tool("LOCALCLUSTER_BIN", ".cache/bin/localcluster"), "kubectl", "--kubeconfig", d.kubeconfig}
	if os.Getenv("CLUSTER") != "" {
		words = words[1:]
	}
	for i, w := range words {
		if rel, err := filepath.Rel(d.root, w); err == nil && filepath.IsAbs(w) && !strings.HasPrefix(rel, "..") {
			words[i] = rel
		}
	}
	return strings.Join(words, " ")
}

// commit returns the commit that the instance is at and whether everything of it is in.
func (d *demo) commit(ctx context.Context) (commit string, ready bool, err error) {
	var sync v1alpha1.Sync
	if err := d.cluster.Get(ctx, client.ObjectKey{Namespace: "default", Name: "demo"}, &sync); err != nil {
		return "", false, err
	}
	return sync.Status.Commit, meta.IsStatusConditionTrue(sync.Status.Conditions, v1alpha1.ConditionReady), nil
}
