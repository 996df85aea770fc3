//go:build e2e

package e2e

import (
	"maps"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/tidelock/tidelock/test/env"
)

// A commit that is wrong anywhere is refused whole: the errors name file, line and field, nothing of it is applied, nothing
// is pruned, and the next good commit goes through. Also over a restart of the daemon.
func TestWrongCommitChangesNothing(t *testing.T) {
	t.Parallel()
	r := env.NewRepo(t)
	d := newDaemon(t, r)
	ns := d.namespace
	good := r.Push(t, files{"keep.yaml": configMap(ns, "keep", "1")})
	d.start(t)
	d.settled(t, good)

	tests := []struct {
		name   string
		change files
		want   []string
	}{
		{"YAML that does not parse", files{"bad.yaml": "kind: ConfigMap\n  apiVersion: v1\n"}, []string{"bad.yaml:2"}},
		{"an unknown field", files{"bad.yaml": `apiVersion: tidelock.dev/v1alpha1
kind: ProxyRoute
metadata: {name: web, namespace: ` + ns + `}
spec:
  rules:
  - backnd: {service: cart}
`}, []string{"bad.yaml:6", "backnd", `"backend"`}},
		{"an unknown kind of ours", files{"bad.yaml": `apiVersion: tidelock.dev/v1alpha1
kind: ProxyRout
metadata: {name: web, namespace: ` + ns + `}
`}, []string{"bad.yaml:", "ProxyRout", "ProxyRoute"}},
		{"an OpenAPI document that is none", files{"bad.yaml": `apiVersion: tidelock.dev/v1alpha1
kind: APIMock
metadata: {name: mock, namespace: ` + ns + `}
spec:
  definition: |
    openapi: 3.0.3
    paths: 7
`}, []string{"bad.yaml:", "definition"}},
		{"a route to a mock that is not there", files{"bad.yaml": `apiVersion: tidelock.dev/v1alpha1
kind: ProxyRoute
metadata: {name: web, namespace: ` + ns + `}
spec:
  rules:
  - backend: {mock: nope}
`}, []string{"bad.yaml:6", "spec.rules[0].backend.mock", "nope"}},
		{
			"two objects of one identity",
			files{"bad.yaml": configMap(ns, "twin", "1"), "worse.yaml": configMap(ns, "twin", "2")},
			[]string{"bad.yaml:1", "worse.yaml:1", "twin"},
		},
		{
			"a remote base",
			files{"bad/kustomization.yaml": "resources: [https://example.com/base.yaml]\n"},
			[]string{"bad/kustomization.yaml:1", "resources[0]", "nothing is fetched"},
		},
		{"an object that the API server refuses", files{"bad.yaml": "apiVersion: v1\nkind: Service\nmetadata: {name: web, namespace: " +
			ns + "}\nspec: {selector: {app: web}, ports: []}\n"}, []string{"bad.yaml", "Service", "spec.ports"}},
	}
	for _, test := range tests {
		// Not in parallel: each wrong commit follows the one before.
		bad := files{"keep.yaml": "", "new.yaml": configMap(ns, "new", "1")}
		maps.Copy(bad, test.change)
		text := d.rejected(t, r.Push(t, bad))
		for _, want := range test.want {
			if !strings.Contains(text, want) {
				t.Errorf("%s: the error does not name %q:\n%s", test.name, want, text)
			}
		}
		wantData(t, d, "keep", "1")
		wantAbsent(t, d, "new")
		r.Git(t, "reset", "-q", "--hard", good)
		r.Git(t, "push", "-q", "-f", "origin", "HEAD:main")
		d.settled(t, good)
	}

	bad := r.Push(t, files{"keep.yaml": "", "bad.yaml": "a: [\n"})
	d.rejected(t, bad)
	d.Stop(t)
	d.start(t)
	d.rejected(t, bad)
	wantData(t, d, "keep", "1")

	mended := r.Push(t, files{"bad.yaml": configMap(ns, "mended", "1")})
	d.settled(t, mended)
	wantData(t, d, "mended", "1")
	wantAbsent(t, d, "keep")
}

func wantAbsent(t *testing.T, d *daemon, name string) {
	t.Helper()
	var cm corev1.ConfigMap
	err := d.client.Get(t.Context(), client.ObjectKey{Namespace: d.namespace, Name: name}, &cm)
	if !apierrors.IsNotFound(err) {
		t.Errorf("ConfigMap %s: got %v, want it absent", name, err)
	}
}

// A repository that cannot be followed is said to be so, and nothing is lost.
func TestRepositoryThatCannotBeFollowed(t *testing.T) {
	t.Parallel()
	t.Run("empty", func(t *testing.T) {
		t.Parallel()
		r := env.NewRepo(t)
		d := newDaemon(t, r)
		d.start(t)
		d.message(t, "empty")
		d.settled(t, r.Push(t, files{"a.yaml": configMap(d.namespace, "a", "1")}))
	})
	t.Run("unknown ref", func(t *testing.T) {
		t.Parallel()
		r := env.NewRepo(t)
		r.Push(t, files{"a.yaml": configMap("default", "never", "1")})
		d := newDaemon(t, r, "--ref", "nope")
		d.start(t)
		d.message(t, "nope")
	})
	t.Run("gone after a good commit", func(t *testing.T) {
		t.Parallel()
		r := env.NewRepo(t)
		d := newDaemon(t, r, "--ref", "main")
		good := r.Push(t, files{"a.yaml": configMap(d.namespace, "a", "1")})
		d.start(t)
		d.settled(t, good)
		r.Git(t, "push", "-q", "origin", "HEAD:other", ":main")
		d.message(t, "main")
		wantData(t, d, "a", "1")
		r.Git(t, "push", "-q", "origin", "HEAD:main")
		d.settled(t, good)
	})
}
