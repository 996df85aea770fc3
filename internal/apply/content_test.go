package apply

import (
	"errors"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/tidelock/tidelock/internal/desired"
	"github.com/tidelock/tidelock/test/env"
)

func TestANewAPIVersionOfAnObjectIsTheSameObject(t *testing.T) {
	t.Parallel()
	ns := env.Cluster(t).Namespace(t)
	in := open(t, ns, "bump")
	const head = `
kind: HorizontalPodAutoscaler
metadata: {name: web, namespace: NAMESPACE}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  minReplicas: 1
  maxReplicas: 4
`
	v1 := manifests(t, ns, "apiVersion: autoscaling/v1"+head+"  targetCPUUtilizationPercentage: 50")
	v2 := manifests(t, ns, "apiVersion: autoscaling/v2"+head+`  metrics:
  - type: Resource
    resource: {name: cpu, target: {type: Utilization, averageUtilization: 50}}`)
	id := v1[0].ID
	in.sync(t, v1)
	uid := get(t, id, "v2").GetUID()
	if res := in.sync(t, v2); len(res.Pruned) != 0 || len(res.Changed) != 1 {
		t.Errorf("want one change and no prune: %+v", res)
	}
	if got := get(t, id, "v2").GetUID(); got != uid {
		t.Errorf("UID is %s, was %s", got, uid)
	}
	entries := in.Inventory().Entries
	if len(entries) != 1 || entries[id].Version != "v2" {
		t.Errorf("want one entry of v2: %+v", entries)
	}
	in.await(t, v2, "the watch of v1 to end", func() bool { return len(in.view.kinds) == 1 })
	if res := in.sync(t, v2); len(res.Changed)+len(res.Created)+len(res.Pruned) != 0 {
		t.Errorf("the second sync of v2 changed something: %+v", res)
	}
}

func TestABrokenCommitInTheMiddleLosesNothingFromTheInventory(t *testing.T) {
	t.Parallel()
	for name, killed := range map[string]bool{"the daemon goes on": false, "the daemon is killed in each gap": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ns := env.Cluster(t).Namespace(t)
			in := open(t, ns, "middle")
			again := func() {
				if killed {
					in = open(t, ns, "middle")
				}
			}
			in.sync(t, manifests(t, ns, join(configMap("flat", "1"), configMap("one", "1"), configMap("two", "1"))))
			again() // commit B does not render: no pass is made
			if n := len(in.Inventory().Entries); n != 3 {
				t.Errorf("the inventory has %d entries, want 3", n)
			}
			res := in.sync(t, manifests(t, ns, configMap("flat", "2")))
			if len(res.Pruned) != 2 || get(t, configMapID(ns, "one"), "v1") != nil || get(t, configMapID(ns, "two"), "v1") != nil {
				t.Errorf("one and two are not pruned: %+v", res)
			}
			again()
			live := get(t, configMapID(ns, "flat"), "v1")
			if v, _, _ := unstructured.NestedString(live.Object, "data", "v"); v != "2" || len(in.Inventory().Entries) != 1 {
				t.Errorf("flat is %q, inventory %v", v, in.Inventory().IDs())
			}
		})
	}
}

func TestAnEmptyRenderPrunesNothingUnlessAllowed(t *testing.T) {
	t.Parallel()
	ns := env.Cluster(t).Namespace(t)
	in := open(t, ns, "empty")
	in.sync(t, manifests(t, ns, join(configMap("a", "1"), configMap("b", "1"))))
	_, _, err := in.pass(t.Context(), nil)
	if !errors.Is(err, ErrHeld) || !strings.Contains(err.Error(), "would remove all 2 objects") {
		t.Fatalf("want to be held, got %v", err)
	}
	if get(t, configMapID(ns, "a"), "v1") == nil {
		t.Error("a is gone")
	}
	in.brakes.AllowEmpty = true
	if res := in.sync(t, nil); len(res.Pruned) != 2 {
		t.Errorf("want both pruned: %+v", res)
	}
}

func TestAnInvalidObjectRejectsTheCommitAndStays(t *testing.T) {
	t.Parallel()
	ns := env.Cluster(t).Namespace(t)
	in := open(t, ns, "invalid")
	service := func(ports string) string {
		return `
apiVersion: v1
kind: Service
metadata: {name: web, namespace: NAMESPACE}
spec:
  selector: {app: web}
  ports: ` + ports
	}
	ok := manifests(t, ns, join(configMap("beside", "1"), service("[{name: http, port: 80}]")))
	in.sync(t, ok)
	id := ok[1].ID
	uid := get(t, id, "v1").GetUID()

	_, _, err := in.pass(t.Context(), manifests(t, ns, join(configMap("beside", "2"), service(""))))
	var problems desired.Problems
	if !errors.As(err, &problems) || len(problems) != 1 {
		t.Fatalf("want one problem, got %v", err)
	}
	p := problems[0]
	if p.Object != id.String() || !strings.HasPrefix(p.Field, "spec.ports") || p.Line != 2 {
		t.Errorf("the problem does not name the place: %+v", p)
	}
	if live := get(t, id, "v1"); live == nil || live.GetUID() != uid {
		t.Error("the Service did not stay")
	}
	live := get(t, configMapID(ns, "beside"), "v1")
	if v, _, _ := unstructured.NestedString(live.Object, "data", "v"); v != "1" {
		t.Error("a rejected commit changed another object")
	}
	if res := in.sync(t, ok); len(res.Changed)+len(res.Created) != 0 {
		t.Errorf("going back changed something: %+v", res)
	}
}
