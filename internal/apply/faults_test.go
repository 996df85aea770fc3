package apply

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/tidelock/tidelock/internal/desired"
	"github.com/tidelock/tidelock/test/env"
)

// faultCommits are two commits that create, update, delete and make anew.
func faultCommits(t *testing.T, ns, name string) (first, second []desired.Object) {
	t.Helper()
	secret := func(value string) string {
		return `
apiVersion: v1
kind: Secret
metadata: {name: ` + name + `-s, namespace: NAMESPACE}
stringData: {k: ` + value + `}`
	}
	job := func(image string) string {
		return `
apiVersion: batch/v1
kind: Job
metadata: {name: ` + name + `-j, namespace: NAMESPACE, annotations: {tidelock.dev/recreate: enabled}}
spec:
  template:
    spec: {restartPolicy: Never, containers: [{name: m, image: "` + image + `"}]}`
	}
	return manifests(t, ns, join(configMap(name+"-a", "1"), configMap(name+"-b", "1"), secret("one"), job("m:1"))),
		manifests(t, ns, join(configMap(name+"-a", "2"), configMap(name+"-c", "1"), secret("two"), job("m:2")))
}

func TestACrashAtAnyWriteConverges(t *testing.T) {
	t.Parallel()
	for _, fault := range []struct {
		name       string
		dead, lost bool
	}{
		{name: "failed"},
		{name: "lost", lost: true},
		{name: "killed-before", dead: true},
		{name: "killed-after", dead: true, lost: true},
	} {
		t.Run(fault.name, func(t *testing.T) {
			t.Parallel()
			ns := env.Cluster(t).Namespace(t)
			for n := 1; ; n++ {
				if !crashAt(t, ns, fmt.Sprintf("%s-%d", fault.name, n), n, fault.dead, fault.lost) {
					if n < 10 {
						t.Errorf("only %d writes were tried", n)
					}
					break
				}
			}
			// A last instance finds nothing that is nobody's.
			var left corev1.ConfigMapList
			if err := admin(t).List(t.Context(), &left, client.InNamespace(ns)); err != nil {
				t.Fatal(err)
			}
			for _, cm := range left.Items {
				if cm.Name != "kube-root-ca.crt" && cm.Labels[labelInventory] == "" {
					t.Errorf("orphan: %s", cm.Name)
				}
			}
		})
	}
}

// crashAt lets the n-th write of two commits fail, then goes on, and checks the end. It returns whether there was such a
// write.
func crashAt(t *testing.T, ns, name string, n int, dead, lost bool) bool {
	t.Helper()
	first, second := faultCommits(t, ns, name)
	in, stop := start(t, ns, name)
	if err := in.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	in.wire.failAt, in.wire.dead, in.wire.lost = n, dead, lost
	for _, objects := range [][]desired.Object{first, second} {
		if _, err := in.settle(t.Context(), objects); err != nil && dead {
			break
		}
	}
	in.wire.mu.Lock()
	failed := in.wire.failed
	in.wire.failAt = 0
	in.wire.mu.Unlock()
	if dead {
		stop()
		in = open(t, ns, name)
	}
	in.sync(t, second)
	checkEnd(t, ns, name, in)
	in.brakes.AllowEmpty = true
	in.sync(t, nil)
	if got := in.Inventory().IDs(); len(got) > 0 {
		t.Errorf("write %d: the inventory still has %v", n, got)
	}
	for _, o := range slices.Concat(first, second) {
		if get(t, o.ID, o.Version) != nil {
			t.Errorf("write %d: orphan %s", n, o.ID)
		}
	}
	return failed
}

func checkEnd(t *testing.T, ns, name string, in *instance) {
	t.Helper()
	a := get(t, configMapID(ns, name+"-a"), "v1")
	if v, _, _ := unstructured.NestedString(a.Object, "data", "v"); v != "2" {
		t.Errorf("%s: a is %q, want 2", name, v)
	}
	if get(t, configMapID(ns, name+"-b"), "v1") != nil {
		t.Errorf("%s: b is not pruned", name)
	}
	if get(t, configMapID(ns, name+"-c"), "v1") == nil {
		t.Errorf("%s: c is not there", name)
	}
	var ids []string
	for _, id := range in.Inventory().IDs() {
		ids = append(ids, strings.TrimPrefix(id.Name, name+"-"))
	}
	if !slices.Equal(ids, []string{"a", "c", "s", "j"}) {
		t.Errorf("%s: the inventory holds %v", name, ids)
	}
	for id, e := range in.Inventory().Entries {
		if live := get(t, id, e.Version); live == nil || live.GetUID() != e.UID {
			t.Errorf("%s: the entry of %s has not its UID", name, id)
		}
	}
}
