//go:build e2e

package e2e

import (
	"strings"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// apply and destroy: the same line once, and everything gone again.
func TestApplyOnceAndDestroy(t *testing.T) {
	t.Parallel()
	r := newRepo(t, nil)
	d := newDaemon(t, r)
	r.push(t, files{"a.yaml": configMap(d.namespace, "a", "1")})
	instance := []string{"--name", d.name, "--namespace", d.namespace, "--kubeconfig", d.kubeconfig}
	run := func(args ...string) (string, string, int) { return tidelock(t, "", append(args, instance...)...) }

	if _, stderr, code := run("apply", "--repo", r.bare, "--data-dir", d.data); code != 0 {
		t.Fatalf("apply: exit %d\n%s", code, stderr)
	}
	wantData(t, d, "a", "1")

	r.push(t, files{"a.yaml": "kind: [\n"})
	if _, stderr, code := run("apply", "--repo", r.bare, "--data-dir", d.data); code != 2 || !strings.Contains(stderr, "a.yaml:1") {
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
	r := newRepo(t, files{"a.yaml": configMap("default", "never", "1")})
	d := newDaemon(t, r)
	_, stderr, code := tidelock(t, "", "apply", "--name", "x", "--namespace", "no-such-namespace", "--kubeconfig", d.kubeconfig,
		"--repo", r.bare, "--data-dir", d.data)
	if code != 2 || !strings.Contains(stderr, "kubectl create namespace no-such-namespace") {
		t.Errorf("exit %d:\n%s", code, stderr)
	}
}
