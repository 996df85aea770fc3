package apply

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/util/csaupgrade"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/tidelock/tidelock/api/v1alpha1"
)

// A field that leaves the repository goes from the cluster only if no other field manager holds it. So that none stays for
// ever in the name of somebody who is done with it, a write takes over, first,
//
//   - all that kubectl's client-side apply holds: it declared the object before us;
//   - all that Flux, Argo CD or Helm hold, where an annotation lets us take the object from them: their labels go too, and
//     with them what they would delete it by;
//   - what any other kubectl command (create, edit, patch, apply --server-side) holds of the fields that we hold as well.
//
// What else people and controllers set is theirs, and stays.

// lastApplied is where kubectl's client-side apply keeps the manifest.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// clientSideManagers are the field managers of kubectl's client-side apply, and the one that the API server gives to
// fields from before anybody tracked them.
func clientSideManagers() []string {
	return []string{"kubectl-client-side-apply", "before-first-apply"}
}

// deployers are the field managers of Flux, Argo CD and Helm.
func deployers() []string {
	return []string{"kustomize-controller", "helm-controller", "helm", "argocd-controller", "argocd-application-controller"}
}

// byHand says that fields were set by a person.
func byHand(e metav1.ManagedFieldsEntry) bool {
	return e.Subresource == "" && strings.HasPrefix(e.Manager, "kubectl") && !slices.Contains(clientSideManagers(), e.Manager)
}

func byUs(e metav1.ManagedFieldsEntry) bool {
	return e.Subresource == "" && e.Manager == v1alpha1.ManagedBy && e.Operation == metav1.ManagedFieldsOperationApply
}

// takenFrom says that the object is taken from another owner by its annotation.
func takenFrom(ch Change) bool {
	return ch.Action == Adopt && ch.Live.Annotations[v1alpha1.AnnotationAdopt] != ""
}

// takesOver says that fields change hands before a change is written.
func takesOver(ch Change) bool { return ch.Live.handover || takenFrom(ch) }

// handsOver says that an object has fields that others hold and that a write makes ours.
func handsOver(entries []metav1.ManagedFieldsEntry) bool {
	if slices.ContainsFunc(entries, func(e metav1.ManagedFieldsEntry) bool {
		return e.Subresource == "" && slices.Contains(clientSideManagers(), e.Manager)
	}) {
		return true
	}
	if !slices.ContainsFunc(entries, byHand) {
		return false
	}
	_, changed, err := withoutShared(entries)
	return err == nil && changed
}

// handOver returns the field managers of an object as they are once the fields of others are ours.
func handOver(u *unstructured.Unstructured, ch Change) ([]metav1.ManagedFieldsEntry, error) {
	from := sets.New(clientSideManagers()...)
	entries := u.GetManagedFields()
	if takenFrom(ch) {
		from.Insert(deployers()...)
		for i := range entries {
			if slices.Contains(deployers(), entries[i].Manager) && entries[i].Subresource == "" {
				entries[i].Operation = metav1.ManagedFieldsOperationUpdate // of Apply the upgrade takes nothing
			}
		}
	}
	var scratch unstructured.Unstructured
	scratch.SetManagedFields(entries)
	if err := csaupgrade.UpgradeManagedFields(&scratch, from, string(manager)); err != nil {
		return nil, err
	}
	out, _, err := withoutShared(scratch.GetManagedFields())
	return out, err
}

// withoutShared takes from people the fields that are ours too, and says whether there were any.
func withoutShared(entries []metav1.ManagedFieldsEntry) (out []metav1.ManagedFieldsEntry, changed bool, err error) {
	i := slices.IndexFunc(entries, byUs)
	if i < 0 {
		return entries, false, nil
	}
	ours, err := fieldsOf(entries[i])
	if err != nil {
		return nil, false, err
	}
	for _, e := range entries {
		if !byHand(e) || e.APIVersion != entries[i].APIVersion { // paths of different versions are not comparable
			out = append(out, e)
			continue
		}
		theirs, err := fieldsOf(e)
		if err != nil {
			return nil, false, err
		}
		rest := theirs.Difference(ours)
		if rest.Equals(theirs) {
			out = append(out, e)
			continue
		}
		changed = true
		if rest.Empty() {
			continue
		}
		text, err := rest.ToJSON()
		if err != nil {
			return nil, false, err
		}
		e.FieldsV1 = metav1.NewFieldsV1(string(text))
		out = append(out, e)
	}
	return out, changed, nil
}

func fieldsOf(e metav1.ManagedFieldsEntry) (*fieldpath.Set, error) {
	set := &fieldpath.Set{}
	if e.FieldsV1 == nil {
		return set, nil
	}
	return set, set.FromJSON(e.FieldsV1.GetRawReader())
}

// takeOver makes fields of others ours, and takes the annotation off that allowed to adopt the object, so that nobody takes
// it back by it. It returns the new resource version.
func (c *Cluster) takeOver(ctx context.Context, ch Change) (string, error) {
	u, err := c.read(ctx, ch)
	if err != nil {
		return "", err
	}
	if u.GetUID() != ch.Live.UID {
		return "", apierrors.NewConflict(groupResource(ch.ID), ch.Name, errors.New("somebody replaced it"))
	}
	entries, err := handOver(u, ch)
	if err != nil {
		return "", fmt.Errorf("take over the fields of others: %w", err)
	}
	patch := []map[string]any{
		{"op": "replace", "path": "/metadata/resourceVersion", "value": u.GetResourceVersion()},
		{"op": "replace", "path": "/metadata/managedFields", "value": entries},
	}
	for _, name := range []string{v1alpha1.AnnotationAdopt, lastApplied} {
		if _, ok := u.GetAnnotations()[name]; ok {
			path := "/metadata/annotations/" + strings.ReplaceAll(name, "/", "~1")
			patch = append(patch, map[string]any{"op": "remove", "path": path})
		}
	}
	data, err := encode(patch)
	if err != nil {
		return "", err
	}
	if err := c.client.Patch(ctx, u, client.RawPatch(types.JSONPatchType, data), manager); err != nil {
		return "", err
	}
	return u.GetResourceVersion(), nil
}
