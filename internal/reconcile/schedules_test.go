package reconcile

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/tidelock/tidelock/api/v1alpha1"
)

// What a daemon said of an At stays while a single run applies a commit: it fires nothing, and knows nothing of runs.
func TestWhereNothingFiresTheStatusOfAnAtStays(t *testing.T) {
	t.Parallel()
	p := newProduct(t)
	p.start()
	const once = "apiVersion: tidelock.dev/v1alpha1\nkind: At\nmetadata: {name: once, namespace: NAMESPACE}\n" +
		"spec: {schedule: 2020-12-24T18:00:00Z, command: echo, image: "
	p.ready(p.push(map[string]string{"at.yaml": once + "a}\n"}))
	live := &unstructured.Unstructured{}
	live.SetGroupVersionKind(v1alpha1.GroupVersion().WithKind(v1alpha1.KindAt))
	live.SetNamespace(p.ns)
	live.SetName("once")
	said := []byte(`{"status":{"phase":"DONE","lastRun":{"instant":"2020-12-24T18:00:00Z","job":"once","outcome":"Succeeded"}}}`)
	if err := p.client.Status().Patch(t.Context(), live, client.RawPatch(types.MergePatchType, said)); err != nil {
		t.Fatal(err)
	}
	p.start()
	p.ready(p.push(map[string]string{"at.yaml": once + "b}\n"}))
	p.passes(3)
	if err := p.client.Get(t.Context(), client.ObjectKeyFromObject(live), live); err != nil {
		t.Fatal(err)
	}
	phase, _, _ := unstructured.NestedString(live.Object, "status", "phase")
	image, _, _ := unstructured.NestedString(live.Object, "spec", "image")
	if phase != v1alpha1.AtDone || image != "b" {
		t.Errorf("the status of image %s is %v", image, live.Object["status"])
	}
}
