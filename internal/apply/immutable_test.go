package apply

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/tidelock/tidelock/internal/desired"
	"github.com/tidelock/tidelock/test/env"
)

func TestAChangedImmutableFieldRejectsTheCommitUnlessRecreateIsEnabled(t *testing.T) {
	t.Parallel()
	ns := env.Cluster(t).Namespace(t)
	in := open(t, ns, "immutable")
	commit := func(n, annotations string) []desired.Object {
		return manifests(t, ns, join(configMap("rel", n), `
apiVersion: batch/v1
kind: Job
metadata: {name: migrate, namespace: NAMESPACE, annotations: {`+annotations+`}}
spec:
  template:
    spec:
      restartPolicy: Never
      containers: [{name: m, image: "registry.example.test/m:`+n+`"}]`))
	}
	j1 := commit("1", "")
	in.sync(t, j1)
	id := j1[1].ID
	uid := get(t, id, "v1").GetUID()

	before := in.wire.writes
	_, _, err := in.pass(t.Context(), commit("2", ""))
	for _, want := range []string{"apps/app.yaml:2", id.String(), "spec.template", "immutable", "tidelock.dev/recreate: enabled"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error lacks %q: %v", want, err)
		}
	}
	if in.wire.writes != before || get(t, id, "v1").GetUID() != uid {
		t.Error("a rejected commit wrote something")
	}
	res := in.sync(t, commit("3", "tidelock.dev/recreate: enabled"))
	live := get(t, id, "v1")
	containers, _, _ := unstructured.NestedSlice(live.Object, "spec", "template", "spec", "containers")
	if live.GetUID() == uid || containers[0].(map[string]any)["image"] != "registry.example.test/m:3" || len(res.Changed) != 2 {
		t.Errorf("not made anew: %+v", res)
	}
	deletes := slices.DeleteFunc(in.wire.take(), func(r string) bool { return !strings.HasPrefix(r, "DELETE") })
	if len(deletes)-in.wire.conflicts != 1 {
		t.Errorf("want one delete: %v", deletes)
	}
}

func TestAnInvalidObjectIsNotDeletedToBeMadeAnew(t *testing.T) {
	t.Parallel()
	ns := env.Cluster(t).Namespace(t)
	in := open(t, ns, "careful")
	job := func(image, policy string) []desired.Object {
		return manifests(t, ns, `
apiVersion: batch/v1
kind: Job
metadata: {name: j, namespace: NAMESPACE, annotations: {tidelock.dev/recreate: enabled}}
spec:
  template:
    spec:
      restartPolicy: `+policy+`
      containers: [{name: m, image: "`+image+`"}]`)
	}
	objects := job("m:1", "Never")
	in.sync(t, objects)
	uid := get(t, objects[0].ID, "v1").GetUID()
	if _, _, err := in.pass(t.Context(), job("m:2", "Always")); err == nil || !strings.Contains(err.Error(), "restartPolicy") {
		t.Errorf("want a problem at restartPolicy, got %v", err)
	}
	if live := get(t, objects[0].ID, "v1"); live == nil || live.GetUID() != uid {
		t.Error("the Job was deleted for content that the server does not take")
	}
}
