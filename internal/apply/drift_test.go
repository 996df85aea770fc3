package apply

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/tidelock/tidelock/internal/desired"
	"github.com/tidelock/tidelock/test/env"
)

const deployment = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: NAMESPACE}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - {name: c, image: "registry.example.test/c:1", resources: {limits: {memory: 1024Mi}}, ports: [{containerPort: 80}]}
`

func TestDriftIsPutBackAndUnownedFieldsStay(t *testing.T) {
	t.Parallel()
	ns := env.Cluster(t).Namespace(t)
	in := open(t, ns, "drift")
	objects := manifests(t, ns, join(configMap("cm", "1"), deployment))
	id := configMapID(ns, "cm")
	in.sync(t, objects)
	value := func(key string) string {
		live := get(t, id, "v1")
		if live == nil {
			return "absent"
		}
		v, _, _ := unstructured.NestedString(live.Object, "data", key)
		return v
	}

	merge(t, id, `{"data":{"v":"edited"}}`)
	in.await(t, objects, "an edit to be put back", func() bool { return value("v") == "1" })
	merge(t, id, `{"data":{"theirs":"x"},"metadata":{"labels":{"theirs":"x"}}}`)
	merge(t, id, `{"metadata":{"labels":{"app.kubernetes.io/managed-by":null}}}`)
	in.await(t, objects, "our label to be put back", func() bool {
		return get(t, id, "v1").GetLabels()["app.kubernetes.io/managed-by"] == "tidelock"
	})
	if value("theirs") != "x" || get(t, id, "v1").GetLabels()["theirs"] != "x" {
		t.Error("fields of others did not stay")
	}
	if err := admin(t).Delete(t.Context(), get(t, id, "v1")); err != nil {
		t.Fatal(err)
	}
	in.await(t, objects, "the object to be put back", func() bool { return value("v") == "1" })
	merge(t, id, `{"metadata":{"labels":{"tidelock.dev/owner":null}}}`)
	in.await(t, objects, "the owner label to be put back", func() bool {
		return get(t, id, "v1").GetLabels()["tidelock.dev/owner"] == "drift"
	})
}

func TestAForcedTakeOverOfAFieldWithTheSameValueIsDrift(t *testing.T) {
	t.Parallel()
	ns := env.Cluster(t).Namespace(t)
	in := open(t, ns, "taken")
	objects := manifests(t, ns, configMap("cm", "1"))
	in.sync(t, objects)
	id := configMapID(ns, "cm")
	merge(t, id, `{"data":{"v":"2"}}`)
	merge(t, id, `{"data":{"v":"1"}}`)
	in.await(t, objects, "the field to be ours again", func() bool {
		for _, e := range get(t, id, "v1").GetManagedFields() {
			if e.Manager == "tidelock" && strings.Contains(e.FieldsV1.GetRawString(), `"f:v"`) {
				return true
			}
		}
		return false
	})
}

func TestDefaultsAndSpellingsAreNoDriftAlsoAfterARestart(t *testing.T) {
	t.Parallel()
	ns := env.Cluster(t).Namespace(t)
	in, stop := start(t, ns, "defaults")
	if err := in.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	objects := manifests(t, ns, deployment)
	in.sync(t, objects)
	stop()
	in = open(t, ns, "defaults")
	in.wire.take()
	plan, _, err := in.pass(t.Context(), objects)
	if err != nil || !plan.Empty() || plan.Unchanged != 1 {
		t.Errorf("a restart sees drift: %+v, %v", plan, err)
	}
	if in.wire.writes != 0 {
		t.Error("a restart wrote something")
	}
}

func TestAPassWithNothingToDoMakesNoRequest(t *testing.T) {
	t.Parallel()
	ns := env.Cluster(t).Namespace(t)
	in := open(t, ns, "idle")
	var docs []string
	for i := range 40 {
		docs = append(docs, configMap("cm-"+strconv.Itoa(i), "1"))
	}
	objects := manifests(t, ns, join(docs...))
	in.sync(t, objects)
	in.wire.mu.Lock()
	in.wire.requests = nil
	in.wire.mu.Unlock()
	for range 5 {
		if plan, res, err := in.pass(t.Context(), objects); err != nil || !plan.Empty() || len(res.Waits) > 0 {
			t.Fatalf("something to do: %+v, %+v, %v", plan, res, err)
		}
	}
	in.wire.mu.Lock()
	defer in.wire.mu.Unlock()
	if len(in.wire.requests) != 0 {
		t.Errorf("requests: %v", in.wire.requests)
	}
}

func TestOurOwnWritesWakeNobody(t *testing.T) {
	t.Parallel()
	ns := env.Cluster(t).Namespace(t)
	in := open(t, ns, "echo")
	objects := manifests(t, ns, join(configMap("a", "1"), configMap("b", "1")))
	in.sync(t, objects)
	drain(in)
	before := in.view.snapshot().Generation
	for i := range 20 {
		n := strconv.Itoa(i)
		in.sync(t, manifests(t, ns, join(configMap("a", n), configMap("b", n))))
	}
	in.brakes.AllowEmpty = true
	in.sync(t, nil)
	// A foreign change that comes after all the echoes shows that they have been seen.
	u := manifests(t, ns, configMap("marker", "1"))[0].Content
	u.SetLabels(map[string]string{"tidelock.dev/owner": "echo"})
	if err := admin(t).Create(t.Context(), u); err != nil {
		t.Fatal(err)
	}
	in.sync(t, nil)
	inv := Inventory{Entries: map[desired.ID]Entry{configMapID(ns, "a"): {Version: "v1"}}}
	_, err := in.View(t.Context(), Declared{}, inv)
	if err != nil {
		t.Fatal(err)
	}
	if got := in.view.snapshot().Generation; got > before+2 {
		t.Errorf("own writes moved the generation from %d to %d", before, got)
	}
}

func drain(in *instance) {
	select {
	case <-in.Changed():
	default:
	}
}

func TestReconcileDisabledLeavesAnObjectAlone(t *testing.T) {
	t.Parallel()
	ns := env.Cluster(t).Namespace(t)
	in := open(t, ns, "paused")
	objects := manifests(t, ns, configMap("cm", "1"))
	in.sync(t, objects)
	id := configMapID(ns, "cm")
	merge(t, id, `{"metadata":{"annotations":{"tidelock.dev/reconcile":"disabled"}},"data":{"v":"debug"}}`)
	in.await(t, objects, "the annotation to be seen", func() bool {
		return in.view.snapshot().Objects[id].Annotations["tidelock.dev/reconcile"] == "disabled"
	})
	plan, _, err := in.pass(t.Context(), manifests(t, ns, configMap("cm", "2")))
	if err != nil || !plan.Empty() || !slices.Equal(plan.Paused, []desired.ID{id}) {
		t.Errorf("not left alone: %+v, %v", plan, err)
	}
	in.brakes.AllowEmpty = true
	if _, res, err := in.pass(t.Context(), nil); err != nil || len(res.Pruned) > 0 {
		t.Errorf("pruned: %+v, %v", res, err)
	}
	annotate(t, id, `{"tidelock.dev/reconcile":null}`)
	in.await(t, objects, "the object to be put back", func() bool {
		v, _, _ := unstructured.NestedString(get(t, id, "v1").Object, "data", "v")
		return v == "1"
	})
}

func TestPruneDisabledKeepsAnObjectAndReleasesIt(t *testing.T) {
	t.Parallel()
	ns := env.Cluster(t).Namespace(t)
	in := open(t, ns, "kept")
	in.sync(t, manifests(t, ns, `
apiVersion: v1
kind: ConfigMap
metadata: {name: cm, namespace: NAMESPACE, annotations: {tidelock.dev/prune: disabled}}
data: {v: "1"}`))
	in.brakes.AllowEmpty = true
	res := in.sync(t, nil)
	live := get(t, configMapID(ns, "cm"), "v1")
	if len(res.Released) != 1 || live == nil || observe(live).Owner != "" || len(in.Inventory().Entries) != 0 {
		t.Errorf("not released: %+v %v", res, live)
	}
}
