package apply

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/tidelock/tidelock/api/v1alpha1"
	"github.com/tidelock/tidelock/internal/desired"
)

// Declared is what a commit wants in the cluster, ready to be compared: in the order of writing, with digests. It is made
// once a commit by Declare and must not be changed.
type Declared struct {
	objects []declaredObject
	digests map[*unstructured.Unstructured]string
	kinds   []schema.GroupVersionKind
	crds    map[schema.GroupKind]definition
}

type declaredObject struct {
	desired.Object
	digest string
	paused bool
}

// definition is a declared CustomResourceDefinition.
type definition struct {
	object     *desired.Object
	namespaced bool
	// assumed is set where it is no object of the commit: who runs the instance will have installed it by then.
	assumed bool
}

// Len returns how many objects are declared.
func (d Declared) Len() int { return len(d.objects) }

// Declare prepares the objects of a commit. It takes the digests of content that did not change from the Declared of the
// commit before, which may be zero. Objects that cannot be encoded come back as desired.Problems.
func Declare(objects []desired.Object, before Declared) (Declared, error) {
	d := Declared{
		objects: make([]declaredObject, 0, len(objects)),
		digests: make(map[*unstructured.Unstructured]string, len(objects)),
		crds:    map[schema.GroupKind]definition{},
	}
	kinds := map[schema.GroupVersionKind]bool{}
	var problems desired.Problems
	for _, o := range objects {
		digest, ok := before.digests[o.Content]
		if !ok {
			var err error
			if digest, err = contentDigest(o); err != nil {
				problems = append(problems, desired.Problem{Origin: o.Origin, Object: o.String(), Text: err.Error()})
				continue
			}
		}
		d.digests[o.Content] = digest
		paused := o.Content.GetAnnotations()[v1alpha1.AnnotationReconcile] == v1alpha1.Disabled
		d.objects = append(d.objects, declaredObject{Object: o, digest: digest, paused: paused})
		kinds[o.GVK()] = true
		d.define(o)
	}
	slices.SortFunc(d.objects, func(a, b declaredObject) int { return compareStaged(a.ID, b.ID) })
	d.kinds = sortedKinds(kinds)
	return d, problems.Err()
}

// Assuming returns what is declared, to be checked as if these definitions were installed.
func (d Declared) Assuming(definitions []desired.Object) Declared {
	crds := Declared{crds: map[schema.GroupKind]definition{}}
	for _, o := range definitions {
		crds.define(o)
	}
	for gk, def := range crds.crds {
		def.assumed = true
		crds.crds[gk] = def
	}
	maps.Copy(crds.crds, d.crds) // what the commit itself declares goes before
	d.crds = crds.crds
	return d
}

func contentDigest(o desired.Object) (string, error) {
	u, err := content(o)
	if err != nil {
		return "", err
	}
	return digestOf(u)
}

func (d Declared) define(o desired.Object) {
	if !isDefinition(o.GroupKind()) {
		return
	}
	group, _, _ := unstructured.NestedString(o.Content.Object, "spec", "group")
	kind, _, _ := unstructured.NestedString(o.Content.Object, "spec", "names", "kind")
	scope, _, _ := unstructured.NestedString(o.Content.Object, "spec", "scope")
	gk := schema.GroupKind{Group: group, Kind: kind}
	d.crds[gk] = definition{object: &o, namespaced: scope != "Cluster"}
}

func sortedKinds(kinds map[schema.GroupVersionKind]bool) []schema.GroupVersionKind {
	out := make([]schema.GroupVersionKind, 0, len(kinds))
	for gvk := range kinds {
		out = append(out, gvk)
	}
	slices.SortFunc(out, compareKinds)
	return out
}

func compareKinds(a, b schema.GroupVersionKind) int {
	return slices.Compare([]string{a.Group, a.Kind, a.Version}, []string{b.Group, b.Kind, b.Version})
}
