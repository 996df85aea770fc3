package apply

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/tidelock/tidelock/internal/desired"
	"github.com/tidelock/tidelock/test/env"
)

func TestANamespaceACRDAndTheirObjectsComeInOneCommitAndGoInOrder(t *testing.T) {
	t.Parallel()
	for name, prune := range map[string]string{"as it stands": "", "annotated": "tidelock.dev/prune: enabled"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ns := env.Cluster(t).Namespace(t)
			in := open(t, ns, "order")
			group := ns + ".example.dev"
			all := func(n string) []desired.Object {
				return manifests(t, ns, strings.NewReplacer("GROUP", group, "PRUNE", prune).Replace(join(`
apiVersion: GROUP/v1
kind: Gizmo
metadata: {name: g1, namespace: NAMESPACE-gizmos}
spec: {"n": `+n+`}`, `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gizmos.GROUP, annotations: {PRUNE}}
spec:
  group: GROUP
  scope: Namespaced
  names: {kind: Gizmo, plural: gizmos, singular: gizmo}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {"n": {type: integer}}}}}}`, `
apiVersion: v1
kind: Namespace
metadata: {name: NAMESPACE-gizmos, annotations: {PRUNE}}`, configMap("anchor", "1"))))
			}
			_, _, err := in.pass(t.Context(), all("one"))
			if err == nil || !strings.Contains(err.Error(), "spec.n") {
				t.Errorf("an instance was not checked by the schema of its commit: %v", err)
			}
			objects := all("1")
			gizmo, crd, space := objects[0].ID, objects[1].ID, objects[2].ID
			if res := in.sync(t, objects); len(res.Created) != 4 {
				t.Errorf("want 4 created: %+v", res)
			}
			if get(t, gizmo, "v1") == nil {
				t.Fatal("no Gizmo")
			}
			in.wire.take()
			in.brakes.MaxPercent = 100
			res := in.sync(t, manifests(t, ns, configMap("anchor", "1")))
			if n := len(in.Inventory().Entries); n != 1 {
				t.Errorf("the inventory has %d entries, want 1", n)
			}
			if get(t, gizmo, "v1") != nil {
				t.Error("the Gizmo is left")
			}
			if prune == "" {
				if len(res.Released) != 2 || get(t, crd, "v1") == nil || get(t, space, "v1") == nil {
					t.Errorf("CRD and Namespace are not released: %+v", res)
				}
				if owner := observe(get(t, crd, "v1")).Owner; owner != "" {
					t.Errorf("the released CRD still carries the label of %s", owner)
				}
				return
			}
			var order []string
			for _, r := range in.wire.take() {
				if verb, path, _ := strings.Cut(r, " "); verb == "DELETE" {
					order = append(order, path[strings.LastIndex(path, "/")+1:])
				}
			}
			if want := []string{"g1", crd.Name, space.Name}; !slices.Equal(order, want) {
				t.Errorf("deleted %v, want %v", order, want)
			}
		})
	}
}

func TestAnObjectOfAKindThatIsGoneCountsAsDeleted(t *testing.T) {
	t.Parallel()
	ns := env.Cluster(t).Namespace(t)
	in := open(t, ns, "gone-kind")
	group := ns + ".example.dev"
	crd := manifests(t, ns, strings.ReplaceAll(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.GROUP}
spec:
  group: GROUP
  scope: Namespaced
  names: {kind: Thing, plural: things}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}`, "GROUP", group))
	thing := manifests(t, ns, "apiVersion: "+group+"/v1\nkind: Thing\nmetadata: {name: t, namespace: NAMESPACE}")
	in.sync(t, append(slices.Clone(crd), append(thing, manifests(t, ns, configMap("cm", "1"))...)...))
	in = open(t, ns, "gone-kind")
	if err := admin(t).Delete(t.Context(), crd[0].Content.DeepCopy()); err != nil {
		t.Fatal(err)
	}
	in.await(t, manifests(t, ns, configMap("cm", "1")), "the inventory to shrink", func() bool {
		return len(in.Inventory().Entries) == 1
	})
}

func TestAnObjectInAVersionThatIsServedNoLongerIsPrunedAllTheSame(t *testing.T) {
	t.Parallel()
	ns := env.Cluster(t).Namespace(t)
	in := open(t, ns, "old-version")
	group := ns + ".example.dev"
	definition := func(old string) []desired.Object {
		return manifests(t, ns, strings.NewReplacer("GROUP", group, "OLD", old).Replace(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.GROUP}
spec:
  group: GROUP
  scope: Namespaced
  names: {kind: Thing, plural: things}
  versions:
  - {name: v1alpha1, served: OLD, storage: false, schema: {openAPIV3Schema: {type: object}}}
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}`))
	}
	thing := manifests(t, ns, "apiVersion: "+group+"/v1alpha1\nkind: Thing\nmetadata: {name: t, namespace: NAMESPACE}")
	in.sync(t, append(definition("true"), thing...))
	in.brakes.MaxPercent = 100
	in.sync(t, definition("false"))
	if get(t, thing[0].ID, "v1") != nil {
		t.Error("it was taken for gone, and nobody owns it now")
	}
}

func TestAKindThatNobodyDefinesIsNamed(t *testing.T) {
	t.Parallel()
	ns := env.Cluster(t).Namespace(t)
	in := open(t, ns, "unknown")
	_, _, err := in.pass(t.Context(), manifests(t, ns, `
apiVersion: nobody.example.dev/v1
kind: Ghost
metadata: {name: g, namespace: NAMESPACE}`))
	if err == nil || !strings.Contains(err.Error(), "the cluster has no kind Ghost in nobody.example.dev/v1") {
		t.Errorf("got %v", err)
	}
}

func TestAnUnknownFieldAndAMissingNamespaceAreNamed(t *testing.T) {
	t.Parallel()
	ns := env.Cluster(t).Namespace(t)
	in := open(t, ns, "typos")
	tests := map[string]struct{ manifest, want string }{
		"unknown field": {
			strings.Replace(deployment, "replicas: 2", "replica: 2", 1),
			"spec.replica",
		},
		"wrong type": {
			strings.Replace(deployment, "replicas: 2", "replicas: many", 1),
			"spec.replicas",
		},
		"namespace": {strings.ReplaceAll(configMap("cm", "1"), "NAMESPACE", "nowhere"), "nowhere"},
	}
	for name, tc := range tests {
		_, _, err := in.pass(t.Context(), manifests(t, ns, tc.manifest))
		var problems desired.Problems
		if !errors.As(err, &problems) || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: want a problem with %q, got %v", name, tc.want, err)
		}
	}
}

func TestWhatTheServerRemarksIsAWarningOfThePlan(t *testing.T) {
	t.Parallel()
	ns := env.Cluster(t).Namespace(t)
	in := open(t, ns, "remarks")
	objects := manifests(t, ns, join(configMap("quiet", "1"), "{apiVersion: v1, kind: Endpoints, metadata: {name: old, namespace: NAMESPACE}}"))
	plan, _, err := in.pass(t.Context(), objects)
	if err != nil || len(plan.Warnings) != 1 || plan.Warnings[0].Object != objects[1].ID.String() ||
		!strings.Contains(plan.Warnings[0].Text, "deprecated") {
		t.Errorf("want one warning of the Endpoints: %v, %v", plan.Warnings, err)
	}
}
