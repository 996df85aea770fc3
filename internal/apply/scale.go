package apply

import (
	"context"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/tidelock/tidelock/api/v1alpha1"
	"github.com/tidelock/tidelock/internal/desired"
)

// A manifest loses spec.replicas when an autoscaler is to take over. Server-side apply would take the field away, the API
// server put its default of 1 there, and all pods but one would end. So the field is handed over first, to a manager that
// does nothing with it until the autoscaler has its say.
// https://kubernetes.io/docs/reference/using-api/server-side-apply/#transferring-ownership
const handoverManager = client.FieldOwner(v1alpha1.ManagedBy + "-handover")

// autoscaler is the kind that scales others.
func autoscaler() schema.GroupKind {
	return schema.GroupKind{Group: "autoscaling", Kind: "HorizontalPodAutoscaler"}
}

// holdsReplicas says that spec.replicas of an object is held by us, or by somebody whom a write takes it from.
func holdsReplicas(entries []metav1.ManagedFieldsEntry) bool {
	return slices.ContainsFunc(entries, func(e metav1.ManagedFieldsEntry) bool {
		if e.Subresource != "" || !byUs(e) && !slices.Contains(append(clientSideManagers(), deployers()...), e.Manager) {
			return false
		}
		set, err := fieldsOf(e)
		return err == nil && set.Has(fieldpath.MakePathOrDie("spec", "replicas"))
	})
}

// keepReplicas finds out which writes leave the number of replicas to an autoscaler: one of the same commit, or a live one.
func (c *Cluster) keepReplicas(ctx context.Context, writes []Change) {
	for i := range writes {
		ch := &writes[i]
		if ch.Live == nil || !ch.Live.replicas || ch.Object == nil {
			continue
		}
		if _, declared, _ := unstructured.NestedFieldNoCopy(ch.Object.Content.Object, "spec", "replicas"); declared {
			continue
		}
		ch.keepsReplicas = slices.ContainsFunc(writes, func(other Change) bool {
			return other.GroupKind() == autoscaler() && other.Object != nil && scales(other.Object.Content, ch.ID)
		}) || c.isScaled(ctx, ch.ID)
	}
}

// isScaled asks for a live autoscaler of an object. Where that cannot be known there may be one.
func (c *Cluster) isScaled(ctx context.Context, id desired.ID) bool {
	var list unstructured.UnstructuredList
	list.SetGroupVersionKind(autoscaler().WithVersion("v2"))
	if err := c.client.List(ctx, &list, client.InNamespace(id.Namespace)); err != nil {
		return !isMissing(err)
	}
	return slices.ContainsFunc(list.Items, func(u unstructured.Unstructured) bool { return scales(&u, id) })
}

// scales says that an autoscaler is for an object.
func scales(u *unstructured.Unstructured, id desired.ID) bool {
	ref, _, _ := unstructured.NestedStringMap(u.Object, "spec", "scaleTargetRef")
	gv, err := schema.ParseGroupVersion(ref["apiVersion"])
	in := u.GetNamespace() == id.Namespace || u.GetNamespace() == "" && id.Namespace == defaultNamespace
	return err == nil && in && ref["kind"] == id.Kind && ref["name"] == id.Name && gv.Group == id.Group
}

// handReplicas hands spec.replicas of a live object over, as it is. Where the object must be the one that was seen, it takes
// and returns the resource version; else both are empty.
func (c *Cluster) handReplicas(ctx context.Context, ch Change, resourceVersion string) (string, error) {
	live, err := c.read(ctx, ch)
	if err != nil {
		return "", err
	}
	n, found, err := unstructured.NestedFieldNoCopy(live.Object, "spec", "replicas")
	if err != nil || !found {
		return resourceVersion, err
	}
	u := addressOf(ch, ch.Object.Version)
	pin(u, ch.Live.UID, resourceVersion)
	u.Object["spec"] = map[string]any{"replicas": n}
	if err := c.apply(ctx, u, handoverManager, asForced); err != nil || resourceVersion == "" {
		return "", err
	}
	return u.GetResourceVersion(), nil
}
