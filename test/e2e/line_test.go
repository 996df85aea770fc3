//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/tidelock/tidelock/api/v1alpha1"
	"github.com/tidelock/tidelock/test/env"
)

func configMap(ns, name, v string) string {
	return fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s, namespace: %s}\ndata: {v: %q}\n", name, ns, v)
}

// answering is an APIMock that answers /who with its own name.
func answering(ns, name, who string) string {
	return fmt.Sprintf(`apiVersion: tidelock.dev/v1alpha1
kind: APIMock
metadata: {name: %s, namespace: %s}
spec:
  definition: |
    openapi: 3.0.3
    info: {title: %s, version: "1"}
    paths:
      /who: {get: {responses: {"200": {description: ok, content: {text/plain: {example: %s}}}}}}
`, name, ns, name, who)
}

func split(ns string, v1, v2, port int) string {
	return fmt.Sprintf(`apiVersion: tidelock.dev/v1alpha1
kind: TrafficSplit
metadata: {name: who, namespace: %[1]s}
spec:
  targets:
  - {name: v1, mock: v1, weight: %[2]d}
  - {name: v2, mock: v2, weight: %[3]d}
---
apiVersion: tidelock.dev/v1alpha1
kind: ProxyRoute
metadata: {name: who, namespace: %[1]s}
spec:
  listener: {name: http, address: 127.0.0.1, port: %[4]d}
  hosts: [who.example.com]
  rules:
  - backend: {split: who}
`, ns, v1, v2, port)
}

// The main job: a push reaches the cluster and Envoy, a weight change in git changes the measured shares, and what leaves
// the repository leaves both.
func TestPushReachesClusterAndEnvoy(t *testing.T) {
	t.Parallel()
	r := env.NewRepo(t)
	d := newDaemon(t, r, "--local-mocks")
	ns, port := d.namespace, env.FreePort(t)
	url := fmt.Sprintf("http://127.0.0.1:%d/who", port)

	first := r.Push(t, files{
		"mocks.yaml":  answering(ns, "v1", "one") + "---\n" + answering(ns, "v2", "two"),
		"routes.yaml": split(ns, 90, 10, port),
		"plain.yaml":  configMap(ns, "settings", "1"),
	})
	d.start(t)
	d.settled(t, first)
	var deployment appsv1.Deployment
	if err := d.client.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: "v1"}, &deployment); err != nil {
		t.Errorf("the mock's Deployment: %v", err)
	}
	wantData(t, d, "settings", "1")

	d.envoy(t)
	d.Eventually(t, "the first answer", func(ctx context.Context) error {
		_, err := get(ctx, url, whoHost)
		return err
	})
	const n, tolerance = 10_000, 0.02
	wantShare(t, spread(t, n, url), "two", 0.10, tolerance)

	second := r.Push(t, files{"routes.yaml": split(ns, 50, 50, port), "plain.yaml": configMap(ns, "settings", "2")})
	d.settled(t, second)
	wantData(t, d, "settings", "2")
	wantShare(t, spread(t, n, url), "two", 0.50, tolerance)

	third := r.Push(t, files{"routes.yaml": split(ns, 0, 100, port), "mocks.yaml": answering(ns, "v1", "one") + "---\n" +
		answering(ns, "v2", "second")})
	d.settled(t, third)
	wantShare(t, spread(t, 1000, url), "second", 1, 0)

	last := r.Push(t, files{"plain.yaml": ""})
	d.settled(t, last)
	var cm corev1.ConfigMap
	if err := d.client.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: "settings"}, &cm); !apierrors.IsNotFound(err) {
		t.Errorf("a ConfigMap that left the repository: got %v, want not found", err)
	}
	d.Stop(t)
}

func wantData(t *testing.T, d *daemon, name, v string) {
	t.Helper()
	var cm corev1.ConfigMap
	if err := d.client.Get(t.Context(), client.ObjectKey{Namespace: d.namespace, Name: name}, &cm); err != nil {
		t.Errorf("ConfigMap %s: %v", name, err)
	}
	if cm.Data["v"] != v {
		t.Errorf("ConfigMap %s holds %q, want %q", name, cm.Data["v"], v)
	}
}

func wantShare(t *testing.T, counts map[string]int, answer string, want, tolerance float64) {
	t.Helper()
	total, got := 0, 0
	for body, n := range counts {
		total += n
		if strings.Contains(body, answer) {
			got += n
		}
	}
	if share := float64(got) / float64(max(total, 1)); share < want-tolerance || share > want+tolerance {
		t.Errorf("%q answered %.3f of %d requests, want %.3f within %.3f: %v", answer, share, total, want, tolerance, counts)
	}
}

// The example that the README shows is what the daemon takes, and its statuses say so.
func TestExampleRepositoryGoesLive(t *testing.T) {
	t.Parallel()
	r := env.NewRepo(t)
	if err := os.CopyFS(r.Work, os.DirFS(path(env.Root(t), "examples", "repo"))); err != nil {
		t.Fatal(err)
	}
	d := newDaemon(t, r, "--local-mocks", "--path", "overlays/production")
	commit := r.Push(t, files{"overlays/production/kustomization.yaml": `apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
namespace: ` + d.namespace + `
resources: [../../base]
`})
	d.start(t)
	s := d.settled(t, commit)
	if s.Counts.Failed != 0 || s.Counts.Waiting != 0 {
		t.Errorf("counts: %+v", s.Counts)
	}
	var split v1alpha1.TrafficSplit
	d.Eventually(t, "the split's status", func(ctx context.Context) error {
		err := d.client.Get(ctx, client.ObjectKey{Namespace: d.namespace, Name: "catalog"}, &split)
		if err == nil && split.Status.Phase != v1alpha1.PhaseLive {
			err = fmt.Errorf("phase %q: %s", split.Status.Phase, split.Status.Message)
		}
		return err
	})
	if got, want := split.Status.Weights, "v1=90 v2=10"; got != want {
		t.Errorf("weights %q, want %q", got, want)
	}
	if split.Status.Commit != commit {
		t.Errorf("commit %q, want %q", split.Status.Commit, commit)
	}
}

// A route to a Service that the cluster does not have answers 503 and says why; others go on.
func TestRouteToAMissingServiceSaysSo(t *testing.T) {
	t.Parallel()
	r := env.NewRepo(t)
	d := newDaemon(t, r)
	port := env.FreePort(t)
	commit := r.Push(t, files{"route.yaml": fmt.Sprintf(`apiVersion: tidelock.dev/v1alpha1
kind: ProxyRoute
metadata: {name: web, namespace: %s}
spec:
  listener: {name: http, address: 127.0.0.1, port: %d}
  rules:
  - match: {path: {value: /ghost}}
    backend: {service: ghost, port: 80}
  - match: {path: {value: /fine}}
    directResponse: {status: 200, body: fine}
`, d.namespace, port)})
	d.start(t)
	d.settled(t, commit)
	d.envoy(t)
	base := fmt.Sprintf("http://127.0.0.1:%d", port)
	d.Eventually(t, "the good route", func(ctx context.Context) error {
		_, err := get(ctx, base+"/fine", "any.example.com")
		return err
	})
	status, body, err := ask(t.Context(), http.MethodGet, base+"/ghost", "any.example.com")
	if err != nil || status != http.StatusServiceUnavailable || !strings.Contains(body, "ghost") {
		t.Errorf("the route to a missing Service: %d %q %v, want 503 that names it", status, body, err)
	}
	var route v1alpha1.ProxyRoute
	d.Eventually(t, "the route's status", func(ctx context.Context) error {
		err := d.client.Get(ctx, client.ObjectKey{Namespace: d.namespace, Name: "web"}, &route)
		if err == nil && !strings.Contains(route.Status.Message, "ghost") {
			err = errors.New("message " + route.Status.Message)
		}
		return err
	})
}
