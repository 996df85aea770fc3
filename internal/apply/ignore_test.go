package apply

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/tidelock/tidelock/internal/desired"
	"github.com/tidelock/tidelock/test/env"
)

func httpRoute(t *testing.T, ns, path, weights, annotations string) []desired.Object {
	t.Helper()
	stable, canary, _ := strings.Cut(weights, "/")
	return manifests(t, ns, `
apiVersion: `+ns+`.example.dev/v1
kind: HTTPRoute
metadata: {name: shop, namespace: NAMESPACE, annotations: {`+annotations+`}}
spec:
  hostnames: [shop.example.test]
  rules:
  - matches: [{path: {type: PathPrefix, value: `+path+`}}]
    backendRefs:
    - {name: stable, port: 8080, weight: `+stable+`}
    - {name: canary, port: 8080, weight: `+canary+`}`)
}

// routeKind installs a kind whose rules are an atomic list, as those of Gateway API's HTTPRoute are, in a group of the
// test's own.
func routeKind(t *testing.T, ns string) {
	t.Helper()
	crd := manifests(t, ns, `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: httproutes.NAMESPACE.example.dev}
spec:
  group: NAMESPACE.example.dev
  scope: Namespaced
  names: {kind: HTTPRoute, plural: httproutes}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            x-kubernetes-preserve-unknown-fields: true
            properties:
              rules: {type: array, items: {type: object, x-kubernetes-preserve-unknown-fields: true}}`)[0].Content
	cl := admin(t)
	if err := cl.Create(t.Context(), crd); err != nil {
		t.Fatal(err)
	}
	c, err := New(Config{REST: env.Cluster(t).Config(), Owner: "installer", Namespace: ns})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.established(t.Context(), crd); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cl.Delete(context.WithoutCancel(t.Context()), crd); err != nil {
			t.Errorf("delete the kind: %v", err)
		}
	})
}

func moveWeights(t *testing.T, id desired.ID, stable, canary int64) {
	t.Helper()
	live := get(t, id, "v1")
	rules, _, _ := unstructured.NestedSlice(live.Object, "spec", "rules")
	refs := rules[0].(map[string]any)["backendRefs"].([]any)
	refs[0].(map[string]any)["weight"], refs[1].(map[string]any)["weight"] = stable, canary
	if err := unstructured.SetNestedSlice(live.Object, rules, "spec", "rules"); err != nil {
		t.Fatal(err)
	}
	if err := admin(t).Update(t.Context(), live, client.FieldOwner("rollouts-controller")); err != nil {
		t.Fatal(err)
	}
}

func weightsOf(t *testing.T, id desired.ID) (path string, stable, canary int64) {
	t.Helper()
	rules, _, _ := unstructured.NestedSlice(get(t, id, "v1").Object, "spec", "rules")
	rule := rules[0].(map[string]any)
	refs := rule["backendRefs"].([]any)
	match := rule["matches"].([]any)[0].(map[string]any)["path"].(map[string]any)
	return match["value"].(string), refs[0].(map[string]any)["weight"].(int64), refs[1].(map[string]any)["weight"].(int64)
}

func TestIgnoredWeightsAreMovedByOthersAndTheRestIsKept(t *testing.T) {
	t.Parallel()
	ns := env.Cluster(t).Namespace(t)
	routeKind(t, ns)
	in := open(t, ns, "ignore")
	const ignore = `tidelock.dev/ignore: '["/spec/rules/0/backendRefs/0/weight","/spec/rules/0/backendRefs/1/weight"]'`
	objects := httpRoute(t, ns, "/", "100/0", ignore)
	id := objects[0].ID
	in.sync(t, objects)
	for _, w := range [][2]int64{{90, 10}, {80, 20}, {50, 50}} {
		moveWeights(t, id, w[0], w[1])
		version := get(t, id, "v1").GetResourceVersion()
		in.await(t, objects, "the patch to be seen", func() bool {
			return in.view.snapshot().Objects[id].ResourceVersion == version
		})
		if plan, _, err := in.pass(t.Context(), objects); err != nil || !plan.Empty() {
			t.Errorf("moved weights are drift: %+v, %v", plan, err)
		}
		if got := get(t, id, "v1").GetResourceVersion(); got != version {
			t.Errorf("written at weights %v", w)
		}
	}
	in.sync(t, httpRoute(t, ns, "/v2", "100/0", ignore))
	if path, stable, canary := weightsOf(t, id); path != "/v2" || stable != 50 || canary != 50 {
		t.Errorf("path %s, weights %d/%d; want /v2 and 50/50", path, stable, canary)
	}
	in.sync(t, httpRoute(t, ns, "/v2", "70/30", ignore))
	if _, stable, canary := weightsOf(t, id); stable != 50 || canary != 50 {
		t.Errorf("a new weight in git moved ignored weights to %d/%d", stable, canary)
	}
}

func TestAFightIsGivenUpAndReportedAsContested(t *testing.T) {
	t.Parallel()
	ns := env.Cluster(t).Namespace(t)
	routeKind(t, ns)
	var clock atomic.Int64
	in := open(t, ns, "fight", func(c *Config) {
		c.Now = func() time.Time { return time.Unix(clock.Load(), 0) }
	})
	objects := httpRoute(t, ns, "/", "100/0", "")
	id := objects[0].ID
	in.sync(t, objects)
	for range fightLimit {
		moveWeights(t, id, 90, 10)
		in.await(t, objects, "git to win", func() bool { _, stable, _ := weightsOf(t, id); return stable == 100 })
	}
	moveWeights(t, id, 90, 10)
	contested := func() bool {
		_, res, err := in.pass(t.Context(), objects)
		return err == nil && slices.Equal(res.Contested, []desired.ID{id}) && len(res.Waits) == 1 &&
			strings.Contains(res.Waits[0].Until, "contested, changed in the cluster by rollouts-controller")
	}
	in.await(t, objects, "the fight to be reported", contested)
	if _, stable, _ := weightsOf(t, id); stable != 90 {
		t.Error("the object was corrected once more")
	}
	clock.Add(int64(fightWindow / time.Second / fightLimit))
	in.await(t, objects, "one correction more after a while", func() bool { _, stable, _ := weightsOf(t, id); return stable == 100 })
}

func TestAnObjectThatSomebodyKeepsDeletingIsContestedToo(t *testing.T) {
	t.Parallel()
	ns := env.Cluster(t).Namespace(t)
	in := open(t, ns, "deleter", func(c *Config) { c.Now = func() time.Time { return time.Unix(0, 0) } })
	objects := manifests(t, ns, configMap("cm", "1"))
	id := objects[0].ID
	in.sync(t, objects)
	for range fightLimit {
		if err := admin(t).Delete(t.Context(), addressOf(Change{ID: id}, "v1")); err != nil {
			t.Fatal(err)
		}
		in.await(t, objects, "the object to be put back", func() bool { return get(t, id, "v1") != nil })
	}
	if err := admin(t).Delete(t.Context(), addressOf(Change{ID: id}, "v1")); err != nil {
		t.Fatal(err)
	}
	in.await(t, objects, "the fight to be given up", func() bool {
		_, res, err := in.pass(t.Context(), objects)
		return err == nil && slices.Equal(res.Contested, []desired.ID{id})
	})
	if _, res, err := in.pass(t.Context(), objects); err != nil || len(res.Contested) != 1 || get(t, id, "v1") != nil {
		t.Errorf("the fight goes on: %+v, %v", res, err)
	}
}
