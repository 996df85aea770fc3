package apply

import (
	"errors"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/tidelock/tidelock/internal/desired"
	"github.com/tidelock/tidelock/test/env"
)

// configMap returns a manifest of one key.
func configMap(name, value string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + ", namespace: NAMESPACE}\ndata: {v: \"" + value + "\"}"
}

func join(docs ...string) string { return strings.Join(docs, "\n---\n") }

func TestAnObjectThatMovesBetweenFoldersOfOneInstanceKeepsItsUID(t *testing.T) {
	t.Parallel()
	ns := env.Cluster(t).Namespace(t)
	in := open(t, ns, "one")
	before := manifests(t, ns, join(configMap("moving", "1"), configMap("stay-a", "1"), configMap("stay-b", "1")))
	in.sync(t, before)
	uid := get(t, configMapID(ns, "moving"), "v1").GetUID()

	after := manifests(t, ns, join(configMap("stay-a", "1"), configMap("stay-b", "1"), configMap("moving", "1")))
	if res := in.sync(t, after); len(res.Created)+len(res.Changed)+len(res.Pruned) > 0 {
		t.Errorf("a move of the file changed the cluster: %+v", res)
	}
	if got := get(t, configMapID(ns, "moving"), "v1").GetUID(); got != uid {
		t.Errorf("UID is %s, was %s", got, uid)
	}
}

func TestAnObjectThatTheNewInstanceClaimedFirstKeepsItsUID(t *testing.T) {
	t.Parallel()
	ns := env.Cluster(t).Namespace(t)
	a, b := open(t, ns, "first-a"), open(t, ns, "first-b")
	id := configMapID(ns, "moving")
	a.sync(t, manifests(t, ns, join(configMap("moving", "1"), configMap("stay-a", "1"))))
	b.sync(t, manifests(t, ns, configMap("stay-b", "1")))
	uid := get(t, id, "v1").GetUID()

	afterB := manifests(t, ns, join(configMap("moving", "1"), configMap("stay-b", "1")))
	_, res, err := b.pass(t.Context(), afterB)
	if err != nil || len(res.Failed) != 1 || !errors.Is(res.Failed[0].Err, ErrOwned) {
		t.Fatalf("b took what a owns: %+v, %v", res, err)
	}
	if want := `owned by Tidelock instance "first-a"`; !strings.Contains(res.Failed[0].Err.Error(), want) {
		t.Errorf("error %q does not say %q", res.Failed[0].Err, want)
	}
	res = a.sync(t, manifests(t, ns, configMap("stay-a", "1")))
	if len(res.Released) != 1 || len(res.Pruned) != 0 {
		t.Errorf("a did not release what b claims: %+v", res)
	}
	b.sync(t, afterB)
	live := get(t, id, "v1")
	if live == nil || live.GetUID() != uid || observe(live).Owner != "first-b" {
		t.Errorf("the object did not move as it is: %v", live)
	}
	if _, ok := a.Inventory().Entries[id]; ok {
		t.Error("a lists the object still")
	}
	if _, ok := b.Inventory().Entries[id]; !ok || len(b.Inventory().Claims) != 0 {
		t.Errorf("b does not own the object: %+v", b.Inventory())
	}
}

func TestAnObjectThatTheOldInstanceLeavesFirstIsMadeAnew(t *testing.T) {
	t.Parallel()
	ns := env.Cluster(t).Namespace(t)
	a, b := open(t, ns, "later-a"), open(t, ns, "later-b")
	a.sync(t, manifests(t, ns, join(configMap("moving", "1"), configMap("stay-a", "1"))))
	a.sync(t, manifests(t, ns, configMap("stay-a", "1")))
	b.sync(t, manifests(t, ns, configMap("moving", "1")))
	if live := get(t, configMapID(ns, "moving"), "v1"); live == nil || observe(live).Owner != "later-b" {
		t.Errorf("the object is not b's: %v", live)
	}
}

func TestTheSecondOwnerOfOneObjectIsRefusedAndWritesNothing(t *testing.T) {
	t.Parallel()
	ns := env.Cluster(t).Namespace(t)
	a, b := open(t, ns, "source-a"), open(t, ns, "source-b")
	a.sync(t, manifests(t, ns, configMap("cm", "a")))
	version := get(t, configMapID(ns, "cm"), "v1").GetResourceVersion()
	for range 3 {
		_, res, err := b.pass(t.Context(), manifests(t, ns, configMap("cm", "b")))
		if err != nil || len(res.Failed) != 1 || !errors.Is(res.Failed[0].Err, ErrOwned) {
			t.Fatalf("b was not refused: %+v, %v", res, err)
		}
		_, res, err = a.pass(t.Context(), manifests(t, ns, configMap("cm", "a")))
		if err != nil || len(res.Failed)+len(res.Changed) != 0 {
			t.Fatalf("a was disturbed: %+v, %v", res, err)
		}
	}
	live := get(t, configMapID(ns, "cm"), "v1")
	if v, _, _ := unstructured.NestedString(live.Object, "data", "v"); v != "a" || live.GetResourceVersion() != version {
		t.Errorf("the object changed: v %q, resource version %s, was %s", v, live.GetResourceVersion(), version)
	}
}

func TestObjectsOfOtherToolsAreRefusedByTheirName(t *testing.T) {
	t.Parallel()
	ns := env.Cluster(t).Namespace(t)
	in := open(t, ns, "foreign")
	tests := map[string]struct {
		labels, annotations map[string]string
		want                string
	}{
		"flux": {
			labels: map[string]string{
				"kustomize.toolkit.fluxcd.io/name": "apps", "kustomize.toolkit.fluxcd.io/namespace": "flux-system",
			},
			want: "Flux Kustomization flux-system/apps",
		},
		"flux-helm": {
			labels: map[string]string{"helm.toolkit.fluxcd.io/name": "web", "helm.toolkit.fluxcd.io/namespace": "prod"},
			want:   "Flux HelmRelease prod/web",
		},
		"argo": {
			annotations: map[string]string{"argocd.argoproj.io/tracking-id": "shop:/ConfigMap:default/argo"},
			want:        "Argo CD application shop",
		},
		"helm": {
			labels:      map[string]string{"app.kubernetes.io/managed-by": "Helm"},
			annotations: map[string]string{"meta.helm.sh/release-name": "web", "meta.helm.sh/release-namespace": "prod"},
			want:        "Helm release prod/web",
		},
	}
	for name, tc := range tests {
		u := manifests(t, ns, configMap(name, "theirs"))[0].Content
		u.SetLabels(tc.labels)
		u.SetAnnotations(tc.annotations)
		if err := admin(t).Create(t.Context(), u, client.FieldOwner("somebody")); err != nil {
			t.Fatal(err)
		}
		_, res, err := in.pass(t.Context(), manifests(t, ns, configMap(name, "ours")))
		if err != nil || len(res.Failed) != 1 || !strings.Contains(res.Failed[0].Err.Error(), "owned by "+tc.want) {
			t.Errorf("%s: not refused by name: %+v, %v", name, res, err)
		}
	}
}

func TestAnObjectOfAnotherOwnerIsTakenWhereItsAnnotationAllowsIt(t *testing.T) {
	t.Parallel()
	ns := env.Cluster(t).Namespace(t)
	a, b := open(t, ns, "give-a"), open(t, ns, "give-b")
	id := configMapID(ns, "cm")
	a.sync(t, manifests(t, ns, configMap("cm", "1")))
	annotate(t, id, `{"tidelock.dev/adopt":"true"}`)
	res := b.sync(t, manifests(t, ns, configMap("cm", "1")))
	if len(res.Changed) != 1 {
		t.Errorf("b did not adopt: %+v", res)
	}
	live := get(t, id, "v1")
	if observe(live).Owner != "give-b" || live.GetAnnotations()["tidelock.dev/adopt"] != "" {
		t.Errorf("owner and annotation are wrong: %v", live.Object["metadata"])
	}
	a.await(t, manifests(t, ns, configMap("cm", "1")), "a to see that the object is b's", func() bool {
		_, res, err := a.pass(t.Context(), manifests(t, ns, configMap("cm", "1")))
		return err == nil && len(res.Failed) == 1 && errors.Is(res.Failed[0].Err, ErrOwned)
	})
}

func TestAnObjectWithoutAnOwnerIsAdoptedAndThePlanSaysSo(t *testing.T) {
	t.Parallel()
	ns := env.Cluster(t).Namespace(t)
	in := open(t, ns, "adopter")
	u := manifests(t, ns, configMap("cm", "theirs"))[0].Content
	u.Object["data"] = map[string]any{"v": "theirs", "extra": "kept"}
	if err := admin(t).Create(t.Context(), u, client.FieldOwner("somebody")); err != nil {
		t.Fatal(err)
	}
	plan, res, err := in.pass(t.Context(), manifests(t, ns, configMap("cm", "ours")))
	if err != nil || len(res.Changed) != 1 || plan.Writes[0].Action != Adopt {
		t.Fatalf("not adopted: %+v %+v %v", plan, res, err)
	}
	live := get(t, configMapID(ns, "cm"), "v1")
	data, _, _ := unstructured.NestedStringMap(live.Object, "data")
	if data["v"] != "ours" || data["extra"] != "kept" || live.GetUID() != u.GetUID() {
		t.Errorf("adopted wrongly: %v", live.Object)
	}
}

func TestAnObjectOnItsWayOutIsNotAdoptedHoweverOftenItIsLookedAt(t *testing.T) {
	t.Parallel()
	ns := env.Cluster(t).Namespace(t)
	theirs := manifests(t, ns, configMap("held", "theirs"))[0].Content
	theirs.SetFinalizers([]string{"example.com/held"})
	if err := admin(t).Create(t.Context(), theirs); err != nil {
		t.Fatal(err)
	}
	if err := admin(t).Delete(t.Context(), theirs.DeepCopy()); err != nil {
		t.Fatal(err)
	}
	in := open(t, ns, "patient")
	commit := manifests(t, ns, configMap("held", "ours"))
	plan, res, err := in.pass(t.Context(), commit)
	for range 2 {
		if err != nil || len(res.Waits) == 0 || len(res.Changed) > 0 {
			t.Fatalf("what is written to it goes with it: %+v, %v", res, err)
		}
		plan, res.Waits, err = in.Preflight(t.Context(), plan) // a commit that waits is looked at again, with what is known
	}
	patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))
	if err := admin(t).Patch(t.Context(), theirs, patch); client.IgnoreNotFound(err) != nil {
		t.Fatal(err)
	}
	if res := in.sync(t, commit); len(res.Created) != 1 {
		t.Errorf("it is not made anew: %+v", res)
	}
}

func TestAnObjectThatCarriesOurCopiedLabelsIsNeverTouched(t *testing.T) {
	t.Parallel()
	ns := env.Cluster(t).Namespace(t)
	in := open(t, ns, "copied")
	in.sync(t, manifests(t, ns, configMap("parent", "1")))
	parent := get(t, configMapID(ns, "parent"), "v1")
	child := manifests(t, ns, configMap("child", "x"))[0].Content
	child.SetLabels(parent.GetLabels())
	child.SetAnnotations(parent.GetAnnotations())
	if err := admin(t).Create(t.Context(), child); err != nil {
		t.Fatal(err)
	}
	in.await(t, manifests(t, ns, configMap("parent", "2")), "the child to be in the view", func() bool {
		_, seen := in.view.snapshot().Objects[configMapID(ns, "child")]
		return seen
	})
	for range 3 {
		plan, res, err := in.pass(t.Context(), manifests(t, ns, configMap("parent", "2")))
		if err != nil || !plan.Empty() || len(res.Pruned) > 0 {
			t.Fatalf("the child is in the plan: %+v, %+v, %v", plan, res, err)
		}
	}
	if _, err := in.Destroy(t.Context()); err != nil {
		t.Fatal(err)
	}
	if get(t, configMapID(ns, "parent"), "v1") != nil {
		t.Error("destroy left the parent")
	}
	live := get(t, configMapID(ns, "child"), "v1")
	if live == nil || live.GetResourceVersion() != child.GetResourceVersion() {
		t.Errorf("the child was touched: %v", live)
	}
}

func TestAnotherRepositoryUnderTheSameNameIsRefusedUntilTakenOver(t *testing.T) {
	t.Parallel()
	ns := env.Cluster(t).Namespace(t)
	in := open(t, ns, "prod")
	in.sync(t, manifests(t, ns, configMap("cm", "1")))
	other := func(c *Config) { c.Repository = "https://git.example.test/other" }
	second, _ := start(t, ns, "prod", other)
	if err := second.Open(t.Context()); !errors.Is(err, ErrOtherRepository) {
		t.Fatalf("want ErrOtherRepository, got %v", err)
	}
	third := open(t, ns, "prod", other, func(c *Config) { c.Takeover = true })
	third.sync(t, manifests(t, ns, configMap("cm", "1")))
	fourth, _ := start(t, ns, "prod", other)
	if err := fourth.Open(t.Context()); err != nil {
		t.Errorf("the takeover was not recorded: %v", err)
	}
}

func annotate(tb testing.TB, id desired.ID, annotations string) {
	tb.Helper()
	merge(tb, id, `{"metadata":{"annotations":`+annotations+`}}`)
}

// merge patches a live object as a person would.
func merge(tb testing.TB, id desired.ID, patch string) {
	tb.Helper()
	u := addressOf(Change{ID: id}, "v1")
	raw := client.RawPatch(types.MergePatchType, []byte(patch))
	err := admin(tb).Patch(tb.Context(), u, raw, client.FieldOwner("kubectl-edit"))
	if err != nil {
		tb.Fatalf("patch %s: %v", id, err)
	}
}
