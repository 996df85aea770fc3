//go:build e2e

package e2e

import (
	"strings"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/tidelock/tidelock/test/env"
)

// apply and destroy: the same line once, and everything gone again.
func TestApplyOnceAndDestroy(t *testing.T) {
	t.Parallel()
	r := env.NewRepo(t)
	d := newDaemon(t, r)
	r.Push(t, files{"a.yaml": configMap(d.namespace, "a", "1")})
	instance := []string{"--name", d.name, "--namespace", d.namespace, "--kubeconfig", d.kubeconfig}
	run := func(args ...string) (string, string, int) { return tidelock(t, append(args, instance...)...) }

	if _, stderr, code := run("apply", "--repo", r.Bare, "--data-dir", d.data); code != 0 {
		t.Fatalf("apply: exit %d\n%s", code, stderr)
	}
	wantData(t, d, "a", "1")

	r.Push(t, files{"a.yaml": "kind: [\n"})
	if _, stderr, code := run("apply", "--repo", r.Bare, "--data-dir", d.data); code != 2 || !strings.Contains(stderr, "a.yaml:1") {
		t.Errorf("apply of a wrong commit: exit %d, want 2 and the place:\n%s", code, stderr)
	}
	wantData(t, d, "a", "1")

	stdout, stderr, code := run("destroy")
	if code != 0 || !strings.Contains(stdout, "deleted ConfigMap "+d.namespace+"/a") {
		t.Fatalf("destroy: exit %d\n%s%s", code, stdout, stderr)
	}
	wantAbsent(t, d, "a")
	var list corev1.ConfigMapList
	if err := d.client.List(t.Context(), &list, client.InNamespace(d.namespace), client.HasLabels{"tidelock.dev/inventory"}); err != nil {
		t.Fatal(err)
	}
	if len(list.Items) > 0 {
		t.Errorf("%d shards of the inventory are left", len(list.Items))
	}
	var lease coordinationv1.Lease
	key := client.ObjectKey{Namespace: d.namespace, Name: "tidelock-" + d.name}
	if err := d.client.Get(t.Context(), key, &lease); !apierrors.IsNotFound(err) {
		t.Errorf("the Lease: got %v, want it gone", err)
	}
	if _, stderr, code := run("destroy"); code != 2 || !strings.Contains(stderr, "there is no instance") {
		t.Errorf("destroy of no instance: exit %d\n%s", code, stderr)
	}
}

// An instance whose namespace is not there says so at once, and how to mend it.
func TestMissingNamespaceIsNamed(t *testing.T) {
	t.Parallel()
	r := env.NewRepo(t)
	r.Push(t, files{"a.yaml": configMap("default", "never", "1")})
	d := newDaemon(t, r)
	_, stderr, code := tidelock(t, "apply", "--name", "x", "--namespace", "no-such-namespace", "--kubeconfig", d.kubeconfig,
		"--repo", r.Bare, "--data-dir", d.data)
	if code != 2 || !strings.Contains(stderr, "kubectl create namespace no-such-namespace") {
		t.Errorf("exit %d:\n%s", code, stderr)
	}
}

// What another owner has fails the one-shot at once, with the object, its place and the mend; the rest is in.
func TestApplyOnceOfAForeignObjectFailsAtOnce(t *testing.T) {
	t.Parallel()
	r := env.NewRepo(t)
	d := newDaemon(t, r)
	theirs := &corev1.ConfigMap{}
	theirs.Namespace, theirs.Name = d.namespace, "theirs"
	theirs.Labels = map[string]string{"app.kubernetes.io/managed-by": "Helm"}
	theirs.Annotations = map[string]string{"meta.helm.sh/release-name": "shop", "meta.helm.sh/release-namespace": "x"}
	if err := d.client.Create(t.Context(), theirs); err != nil {
		t.Fatal(err)
	}
	r.Push(t, files{"a.yaml": configMap(d.namespace, "theirs", "1"), "b.yaml": configMap(d.namespace, "ours", "1")})
	_, stderr, code := tidelock(t, "apply", "--name", d.name, "--namespace", d.namespace, "--kubeconfig", d.kubeconfig,
		"--repo", r.Bare, "--data-dir", d.data)
	for _, want := range []string{"a.yaml:1", "Helm", "tidelock.dev/adopt"} {
		if code != 2 || !strings.Contains(stderr, want) {
			t.Errorf("exit %d, want 2 and %q:\n%s", code, want, stderr)
		}
	}
	wantData(t, d, "ours", "1")
}
