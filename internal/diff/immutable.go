package diff

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/tidelock/tidelock/api/v1alpha1"
	"github.com/tidelock/tidelock/internal/desired"
)

// immutable finds fields that the API server takes no change of. Where the object is annotated for it, the update becomes a
// Recreate; else it would be refused, and the commit with it.
func (out *compared) immutable(c Change, o *Object) Change {
	var first *Field
	for i := range o.Fields {
		f := &o.Fields[i]
		if f.Immutable = isImmutable(c.ID, f.Path, c.Before); f.Immutable && first == nil {
			first = f
		}
	}
	if first == nil {
		return c
	}
	if c.After.GetAnnotations()[v1alpha1.AnnotationRecreate] == v1alpha1.Enabled {
		c.Action, c.Reason = Recreate, "immutable: "+first.Path
		o.Action, o.Reason = c.Action, c.Reason
		return c
	}
	p := Problem{
		File: o.File, Line: o.Line, Object: o.Object, Field: first.Path,
		Text: "is immutable: the API server will refuse the change; to let Tidelock delete and create the object, annotate it " +
			v1alpha1.AnnotationRecreate + ": " + v1alpha1.Enabled,
	}
	if c.Kind == "Job" {
		p.Text = "is immutable: refused while the Job of before is there, run anew once it is gone; to let Tidelock delete it, " +
			"annotate it " + v1alpha1.AnnotationRecreate + ": " + v1alpha1.Enabled
		out.warned = append(out.warned, p)
		return c
	}
	out.refused = append(out.refused, p)
	return c
}

// rule says which fields of a kind never change: those below Fixed, but for those below Free.
type rule struct{ fixed, free []string }

// isImmutable reports whether the API server refuses a change of a field. It knows the kinds built into Kubernetes.
func isImmutable(id desired.ID, path string, before *unstructured.Unstructured) bool {
	r := ruleOf(id, before)
	return below(path, r.fixed) && !below(path, r.free) && !(id.Kind == "Pod" && strings.HasSuffix(path, "].image"))
}

func below(path string, roots []string) bool {
	return slices.ContainsFunc(roots, func(root string) bool {
		rest, ok := strings.CutPrefix(path, root)
		return ok && (rest == "" || rest[0] == '.' || rest[0] == '[' || rest[0] == ' ')
	})
}

func ruleOf(id desired.ID, before *unstructured.Unstructured) rule {
	switch id.Group + "/" + id.Kind {
	case "apps/Deployment", "apps/DaemonSet", "apps/ReplicaSet":
		return rule{fixed: []string{"spec.selector"}}
	case "apps/StatefulSet":
		return rule{fixed: []string{"spec"}, free: []string{
			"spec.replicas", "spec.ordinals", "spec.template", "spec.updateStrategy", "spec.revisionHistoryLimit",
			"spec.persistentVolumeClaimRetentionPolicy", "spec.minReadySeconds",
		}}
	case "batch/Job":
		return rule{fixed: []string{"spec.template", "spec.selector", "spec.completionMode", "spec.podFailurePolicy", "spec.managedBy"}}
	case "/PersistentVolumeClaim":
		return rule{fixed: []string{"spec"}, free: []string{"spec.resources", "spec.volumeAttributesClassName"}}
	case "/Secret":
		return unlessFrozen(before, rule{fixed: []string{"type"}}, "type", "data", "stringData", "immutable")
	case "/ConfigMap":
		return unlessFrozen(before, rule{}, "data", "binaryData", "immutable")
	case "/Pod":
		return rule{fixed: []string{"spec"}, free: []string{
			"spec.activeDeadlineSeconds", "spec.tolerations", "spec.terminationGracePeriodSeconds", "spec.schedulingGates",
		}}
	case "rbac.authorization.k8s.io/RoleBinding", "rbac.authorization.k8s.io/ClusterRoleBinding":
		return rule{fixed: []string{"roleRef"}}
	case "storage.k8s.io/StorageClass":
		return rule{fixed: []string{"provisioner", "parameters", "reclaimPolicy", "volumeBindingMode"}}
	case "scheduling.k8s.io/PriorityClass":
		return rule{fixed: []string{"value", "preemptionPolicy"}}
	case "networking.k8s.io/IngressClass":
		return rule{fixed: []string{"spec.controller"}}
	case "node.k8s.io/RuntimeClass":
		return rule{fixed: []string{"handler"}}
	case "discovery.k8s.io/EndpointSlice":
		return rule{fixed: []string{"addressType"}}
	case "apiextensions.k8s.io/CustomResourceDefinition":
		return rule{fixed: []string{"spec.group", "spec.scope", "spec.names.kind", "spec.names.plural"}}
	}
	return rule{}
}

// unlessFrozen adds fields of an object that said of itself that it never changes.
func unlessFrozen(before *unstructured.Unstructured, r rule, fixed ...string) rule {
	if frozen, _, _ := unstructured.NestedBool(before.Object, "immutable"); frozen {
		r.fixed = fixed
	}
	return r
}
