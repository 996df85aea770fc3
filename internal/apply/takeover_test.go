package apply

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/tidelock/tidelock/internal/desired"
	"github.com/tidelock/tidelock/test/env"
)

func TestFieldsOfClientSideApplyGoWhenTheyLeaveTheRepository(t *testing.T) {
	t.Parallel()
	ns := env.Cluster(t).Namespace(t)
	in := open(t, ns, "ghosts")
	const full = `
apiVersion: v1
kind: ConfigMap
metadata:
  name: takeover
  namespace: NAMESPACE
  labels: {tmp: "x"}
data:
  keep: "1"
  old: "1"
`
	clientSideApply(t, manifests(t, ns, full)[0].Content)
	in.sync(t, manifests(t, ns, full))
	in.sync(t, manifests(t, ns, `
apiVersion: v1
kind: ConfigMap
metadata: {name: takeover, namespace: NAMESPACE}
data: {keep: "1"}
`))
	live := get(t, configMapID(ns, "takeover"), "v1")
	data, _, _ := unstructured.NestedStringMap(live.Object, "data")
	if !maps.Equal(data, map[string]string{"keep": "1"}) || live.GetLabels()["tmp"] != "" {
		t.Errorf("ghosts: data %v, labels %v", data, live.GetLabels())
	}
	for _, e := range live.GetManagedFields() {
		if e.Manager != "tidelock" {
			t.Errorf("field manager %s is left", e.Manager)
		}
	}
	if _, ok := live.GetAnnotations()["kubectl.kubernetes.io/last-applied-configuration"]; ok {
		t.Error("the annotation last-applied-configuration is left")
	}
}

func TestNoFieldStaysBehindInTheNameOfSomebodyWhoIsDoneWithIt(t *testing.T) {
	t.Parallel()
	const fluxMarks = `labels: {kustomize.toolkit.fluxcd.io/name: apps, kustomize.toolkit.fluxcd.io/namespace: flux-system},
  annotations: {tidelock.dev/adopt: "true"}, `
	tests := map[string]struct {
		reason string
		// manager makes the object before us, with marks, by server-side apply if applied.
		manager, marks string
		applied        bool
		// patch is made by hand before the last commit.
		patch string
		want  map[string]string
	}{
		"kubectl create": {
			reason: "an object made by hand comes under the repository", manager: "kubectl-create",
			want: map[string]string{"keep": "1"},
		},
		"kubectl apply --server-side": {
			reason: "the same, by the other apply", manager: "kubectl", applied: true, want: map[string]string{"keep": "1"},
		},
		"a patch of another field": {
			reason: "what we never declared belongs to others", patch: `{"data": {"theirs": "1"}}`,
			want: map[string]string{"keep": "1", "theirs": "1"},
		},
		"Flux, where we may take it": {
			reason:  "without its labels Flux does not delete the object when it leaves its own repository",
			manager: "kustomize-controller", marks: fluxMarks, applied: true, want: map[string]string{"keep": "1"},
		},
		"an operator": {
			reason: "a controller still wants it", manager: "operator", applied: true,
			want: map[string]string{"keep": "1", "old": "1"},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ns := env.Cluster(t).Namespace(t)
			commit := func(data string) []desired.Object {
				return manifests(t, ns, `{apiVersion: v1, kind: ConfigMap, metadata: {name: cm, namespace: NAMESPACE}, data: {`+data+`}}`)
			}
			full, last := commit(`keep: "1", old: "1"`), commit(`keep: "1"`)
			if tc.manager != "" {
				makeAs(t, tc.manager, tc.applied, manifests(t, ns, `{apiVersion: v1, kind: ConfigMap, data: {keep: "1", old: "1"},
  metadata: {`+tc.marks+`name: cm, namespace: NAMESPACE}}`)[0].Content)
			}
			in := open(t, ns, "heir")
			in.sync(t, full)
			if tc.patch != "" {
				patch := client.RawPatch(types.MergePatchType, []byte(tc.patch))
				err := admin(t).Patch(t.Context(), full[0].Content.DeepCopy(), patch, client.FieldOwner("kubectl-patch"))
				if err != nil {
					t.Fatal(err)
				}
			}
			foreseen := in.foresee(t, last)
			in.sync(t, last)
			live := get(t, full[0].ID, "v1")
			for what, u := range map[string]*unstructured.Unstructured{"live": live, "foreseen": foreseen} {
				data, _, _ := unstructured.NestedStringMap(u.Object, "data")
				if diff := cmp.Diff(tc.want, data); diff != "" {
					t.Errorf("%s: %s: %s", tc.reason, what, diff)
				}
			}
			if n := len(live.GetLabels()); n != 2 {
				t.Errorf("want our own labels alone: %v", live.GetLabels())
			}
		})
	}
}

func TestReplicasThatAnAutoscalerTakesOverStayAsTheyAre(t *testing.T) {
	t.Parallel()
	const scaler = `
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web, namespace: NAMESPACE}
spec: {maxReplicas: 5, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}}`
	tests := map[string]struct {
		reason string
		scaler bool // in the same commit
		made   bool // by client-side apply, before us
		want   int64
	}{
		"in one commit": {reason: "the default of 1 would end the other pods", scaler: true, want: 2},
		"a workload that kubectl applied": {
			reason: "what is taken over from kubectl would go too", scaler: true, made: true, want: 2,
		},
		"nobody scales": {reason: "a field that leaves the repository goes", want: 1},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ns := env.Cluster(t).Namespace(t)
			in := open(t, ns, "scaled")
			before, after := manifests(t, ns, deployment), manifests(t, ns, strings.Replace(deployment, "replicas: 2", "", 1))
			if tc.scaler {
				after = append(after, manifests(t, ns, scaler)...)
			}
			if tc.made {
				clientSideApply(t, before[0].Content)
				foreseen := in.foresee(t, after[:1])
				if _, ok, _ := unstructured.NestedInt64(foreseen.Object, "spec", "progressDeadlineSeconds"); !ok {
					t.Error("a default that kubectl held is foreseen to go, and will be there again")
				}
			} else {
				in.sync(t, before)
			}
			in.sync(t, after)
			live := get(t, before[0].ID, "v1")
			if got, _, _ := unstructured.NestedInt64(live.Object, "spec", "replicas"); got != tc.want {
				t.Errorf("%s: %d replicas, want %d", tc.reason, got, tc.want)
			}
			for _, e := range live.GetManagedFields() {
				if set, err := fieldsOf(e); err == nil && byUs(e) && set.Has(fieldpath.MakePathOrDie("spec", "replicas")) {
					t.Error("we hold the replicas still")
				}
			}
			if plan, _, err := in.pass(t.Context(), after); err != nil || len(plan.Writes) > 0 {
				t.Errorf("it does not come to rest: %v, %v", plan.Writes, err)
			}
		})
	}
}

// foresee returns the first object that a commit would write, as a review would show it.
func (in *instance) foresee(tb testing.TB, objects []desired.Object) *unstructured.Unstructured {
	tb.Helper()
	d, err := Declare(objects, Declared{})
	if err != nil {
		tb.Fatal(err)
	}
	view, err := in.View(tb.Context(), d, in.Inventory())
	if err != nil {
		tb.Fatal(err)
	}
	plan, _, err := in.Preflight(tb.Context(), NewPlan(d, in.Inventory(), view))
	if err != nil {
		tb.Fatal(err)
	}
	sights, err := in.Sights(tb.Context(), plan)
	if err != nil || len(sights) == 0 || sights[0].After == nil {
		tb.Fatalf("nothing is foreseen: %v, %v", sights, err)
	}
	return sights[0].After
}

// makeAs makes an object in the name of a field manager.
func makeAs(tb testing.TB, manager string, applied bool, u *unstructured.Unstructured) {
	tb.Helper()
	var err error
	if applied {
		b, _ := json.Marshal(u.Object)
		err = admin(tb).Patch(tb.Context(), u, client.RawPatch(types.ApplyPatchType, b), client.FieldOwner(manager))
	} else {
		err = admin(tb).Create(tb.Context(), u, client.FieldOwner(manager))
	}
	if err != nil {
		tb.Fatal(err)
	}
}

// clientSideApply makes an object as `kubectl apply` does.
func clientSideApply(tb testing.TB, u *unstructured.Unstructured) {
	tb.Helper()
	u = u.DeepCopy()
	b, err := json.Marshal(u.Object)
	if err != nil {
		tb.Fatal(err)
	}
	u.SetAnnotations(map[string]string{"kubectl.kubernetes.io/last-applied-configuration": string(b)})
	if err := admin(tb).Create(tb.Context(), u, client.FieldOwner("kubectl-client-side-apply")); err != nil {
		tb.Fatal(err)
	}
}
