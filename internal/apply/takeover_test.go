package apply

import (
	"encoding/json"
	"maps"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

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
