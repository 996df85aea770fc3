package apply

import (
	"maps"
	"reflect"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/tidelock/tidelock/api/v1alpha1"
	"github.com/tidelock/tidelock/internal/desired"
)

// PlanBetween returns what a cluster that is exactly as base declares would see done to it for head: NewPlan itself, on a
// made-up inventory and view, so that a review without a cluster says what the daemon will do.
func PlanBetween(base, head []desired.Object) (Plan, error) {
	was := make(map[desired.ID]desired.Object, len(base))
	for _, o := range base {
		was[o.ID] = o
	}
	left := maps.Clone(was)
	var changed []desired.Object
	for _, o := range head {
		old, ok := was[o.ID]
		delete(left, o.ID)
		if !ok || !sameContent(old.Content, o.Content) {
			changed = append(changed, o)
			if ok {
				left[o.ID] = old
			}
		}
	}
	declared, err := Declare(changed, Declared{})
	if err != nil {
		return Plan{}, err
	}
	inv, view, err := asApplied(left)
	if err != nil {
		return Plan{}, err
	}
	p := NewPlan(declared, inv, view)
	p.Unchanged += len(head) - len(changed)
	p.Declared, p.Owned = len(head), len(base)
	return p, nil
}

// asApplied returns what there would be to see if these objects had been applied and nothing had touched them since.
func asApplied(objects map[desired.ID]desired.Object) (Inventory, View, error) {
	inv := Inventory{Entries: make(map[desired.ID]Entry, len(objects))}
	view := View{Objects: make(map[desired.ID]Live, len(objects))}
	const uid, fields = "base", "as written"
	for id, o := range objects {
		digest, err := contentDigest(o)
		if err != nil {
			return inv, view, desired.Problems{{Origin: o.Origin, Object: o.String(), Text: err.Error()}}
		}
		inv.Entries[id] = Entry{Version: o.Version, UID: uid, Digest: digest, Live: fields, Origin: o.Origin}
		view.Objects[id] = Live{ID: id, UID: uid, Digest: digest, Fields: fields, Annotations: annotationsOf(o)}
	}
	return inv, view, nil
}

// annotationsOf are those that decide what becomes of a live object. That an object is left alone is not among them: such a
// manifest is never applied, so what is live does not say it.
func annotationsOf(o desired.Object) map[string]string {
	out := ourAnnotations(o.Content)
	delete(out, v1alpha1.AnnotationReconcile)
	return out
}

func sameContent(a, b *unstructured.Unstructured) bool {
	return a == b || reflect.DeepEqual(a.Object, b.Object)
}
