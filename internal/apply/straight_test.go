package apply

import (
	"context"
	"errors"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/tidelock/tidelock/internal/desired"
	"github.com/tidelock/tidelock/test/env"
)

// straight plans and executes without a Preflight, as the loop does for a commit that is accepted.
func (in *instance) straight(ctx context.Context, objects []desired.Object) (Result, error) {
	d, err := Declare(objects, Declared{})
	if err != nil {
		return Result{}, err
	}
	inv := in.Inventory()
	view, err := in.View(ctx, d, inv)
	if err != nil {
		return Result{}, err
	}
	return in.Execute(ctx, NewPlan(d, inv, view))
}

func TestExecuteChecksItselfWhatPreflightHasNotChecked(t *testing.T) {
	t.Parallel()
	ns := env.Cluster(t).Namespace(t)
	in := open(t, ns, "straight")
	foreign := manifests(t, ns, configMap("theirs", "theirs"))[0].Content
	foreign.SetAnnotations(map[string]string{"meta.helm.sh/release-name": "web"})
	if err := admin(t).Create(t.Context(), foreign, client.FieldOwner("helm")); err != nil {
		t.Fatal(err)
	}
	const invalid = `
apiVersion: v1
kind: Service
metadata: {name: web, namespace: NAMESPACE}
spec: {selector: {app: web}, ports: []}`
	res, err := in.straight(t.Context(), manifests(t, ns, join(configMap("ours", "1"), configMap("theirs", "1"), invalid)))
	if err != nil || len(res.Created) != 1 || len(res.Failed) != 2 {
		t.Fatalf("want one created and two failed: %+v, %v", res, err)
	}
	if err := res.Failed[0].Err; !errors.Is(err, ErrOwned) {
		t.Errorf("the foreign object: %v", err)
	}
	if err := res.Failed[1].Err; !strings.Contains(err.Error(), "spec.ports") {
		t.Errorf("the invalid object: %v", err)
	}
	if v, _, _ := unstructured.NestedString(get(t, configMapID(ns, "theirs"), "v1").Object, "data", "v"); v != "theirs" {
		t.Error("a foreign object was written")
	}
	if n := len(in.Inventory().Entries); n != 1 {
		t.Errorf("the inventory has %d entries, want 1", n)
	}
}

func TestSomebodyWhoCreatesTheObjectBetweenCheckAndWriteIsNotOverwritten(t *testing.T) {
	t.Parallel()
	ns := env.Cluster(t).Namespace(t)
	in := open(t, ns, "race")
	objects := manifests(t, ns, configMap("cm", "ours"))
	d, err := Declare(objects, Declared{})
	if err != nil {
		t.Fatal(err)
	}
	view, err := in.View(t.Context(), d, in.Inventory())
	if err != nil {
		t.Fatal(err)
	}
	plan, _, err := in.Preflight(t.Context(), NewPlan(d, in.Inventory(), view))
	if err != nil {
		t.Fatal(err)
	}
	theirs := manifests(t, ns, configMap("cm", "theirs"))[0].Content
	theirs.SetAnnotations(map[string]string{"meta.helm.sh/release-name": "web"})
	if err := admin(t).Create(t.Context(), theirs, client.FieldOwner("helm")); err != nil {
		t.Fatal(err)
	}
	res, err := in.Execute(t.Context(), plan)
	if err != nil || len(res.Waits) != 1 || len(res.Created) != 0 {
		t.Errorf("want a wait: %+v, %v", res, err)
	}
	_, res, err = in.pass(t.Context(), objects)
	if err != nil || len(res.Failed) != 1 || !errors.Is(res.Failed[0].Err, ErrOwned) {
		t.Errorf("want a refusal: %+v, %v", res, err)
	}
	if v, _, _ := unstructured.NestedString(get(t, configMapID(ns, "cm"), "v1").Object, "data", "v"); v != "theirs" {
		t.Error("the object of another was overwritten")
	}
	in.brakes.AllowEmpty = true
	in.sync(t, nil)
	if get(t, configMapID(ns, "cm"), "v1") == nil {
		t.Error("the object of another was pruned")
	}
}
