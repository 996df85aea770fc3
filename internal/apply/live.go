package apply

import (
	"cmp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/tidelock/tidelock/api/v1alpha1"
	"github.com/tidelock/tidelock/internal/desired"
)

// identify returns the ID of an object.
func identify(u *unstructured.Unstructured) desired.ID {
	gvk := u.GroupVersionKind()
	return desired.ID{Group: gvk.Group, Kind: gvk.Kind, Namespace: u.GetNamespace(), Name: u.GetName()}
}

// observe reduces an object to what a plan needs of it.
func observe(u *unstructured.Unstructured) Live {
	live := Live{
		ID:              identify(u),
		UID:             u.GetUID(),
		ResourceVersion: u.GetResourceVersion(),
		Owner:           u.GetLabels()[v1alpha1.LabelOwner],
		Foreign:         foreignOwner(u),
		Digest:          u.GetAnnotations()[v1alpha1.AnnotationDigest],
		Annotations:     ourAnnotations(u),
		Deleting:        u.GetDeletionTimestamp() != nil,
		Generation:      u.GetGeneration(),
		version:         u.GroupVersionKind().Version,
		finalizers:      strings.Join(u.GetFinalizers(), ", "),
	}
	live.Finished = isJob(live.GroupKind()) && jobFinished(u)
	live.Health, live.HealthMessage = health(u)
	live.named, live.rollout = namedBy(u), rolloutOf(u)
	if live.Group == v1alpha1.Group {
		live.status, live.since = plainStatus(u), transitions(u)
	}
	live.readManagers(u)
	return live
}

// readManagers looks at who owns which fields.
func (l *Live) readManagers(u *unstructured.Unstructured) {
	var ours *fieldpath.Set
	var sets []*fieldpath.Set
	var newest metav1.Time
	for _, e := range u.GetManagedFields() {
		if e.Subresource == "status" || e.FieldsV1 == nil {
			continue
		}
		if !byUs(e) && e.Time != nil && !e.Time.Before(&newest) {
			newest, l.rival = *e.Time, e.Manager
		}
		if e.Subresource != "" {
			continue
		}
		set, err := fieldsOf(e)
		if err != nil {
			continue // fields that cannot be read are like fields of others: not ours
		}
		sets = append(sets, set)
		if byUs(e) {
			ours, l.applied, l.exact = set, true, e.APIVersion == u.GetAPIVersion()
		}
	}
	ignored, err := parseIgnored(l.Annotations[v1alpha1.AnnotationIgnore])
	if err != nil {
		ignored = nil // the annotation was changed by hand, which is drift by itself
	}
	l.handover, l.replicas = handsOver(u.GetManagedFields()), holdsReplicas(u.GetManagedFields())
	l.Fields = hashFields(u.Object, ours, sets, ignored)
}

func ourAnnotations(u *unstructured.Unstructured) map[string]string {
	var out map[string]string
	for k, v := range u.GetAnnotations() {
		if k == v1alpha1.AnnotationDigest || !strings.HasPrefix(k, v1alpha1.Group+"/") {
			continue
		}
		if out == nil {
			out = map[string]string{}
		}
		out[k] = v
	}
	return out
}

// foreignOwner names another tool that manages the object, by the marks that each leaves, or returns "".
func foreignOwner(u *unstructured.Unstructured) string {
	labels, annotations := u.GetLabels(), u.GetAnnotations()
	for _, flux := range []struct{ kind, group string }{
		{"Kustomization", "kustomize.toolkit.fluxcd.io"},
		{"HelmRelease", "helm.toolkit.fluxcd.io"},
	} {
		if name := labels[flux.group+"/name"]; name != "" {
			return "Flux " + flux.kind + " " + labels[flux.group+"/namespace"] + "/" + name
		}
	}
	if id := cmp.Or(annotations["argocd.argoproj.io/tracking-id"], labels["argocd.argoproj.io/instance"]); id != "" {
		app, _, _ := strings.Cut(id, ":")
		return "Argo CD application " + app
	}
	by := labels[v1alpha1.LabelManagedBy]
	if by == "argocd" || by == "Argo CD" {
		return "Argo CD application " + labels["app.kubernetes.io/instance"]
	}
	if name := annotations["meta.helm.sh/release-name"]; name != "" {
		return "Helm release " + annotations["meta.helm.sh/release-namespace"] + "/" + name
	}
	if by == "Helm" {
		return "Helm"
	}
	return ""
}

// health is kstatus's opinion. What it cannot judge is Unknown.
func health(u *unstructured.Unstructured) (state, message string) {
	res, err := status.Compute(u)
	if err != nil {
		return status.UnknownStatus.String(), err.Error()
	}
	if res.Status == status.CurrentStatus {
		return res.Status.String(), ""
	}
	return res.Status.String(), res.Message
}

func jobFinished(u *unstructured.Unstructured) bool {
	conditions, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
	return slices.ContainsFunc(conditions, func(c any) bool {
		m, _ := c.(map[string]any)
		return m["status"] == "True" && (m["type"] == "Complete" || m["type"] == "Failed")
	})
}

func (l *Live) gvk() schema.GroupVersionKind { return l.GroupKind().WithVersion(l.version) }

// ending says what is waited for while an object is on its way out.
func (l *Live) ending() string {
	if l.finalizers == "" {
		return "its deletion to end"
	}
	return "its deletion to end, which its finalizers hold up: " + l.finalizers
}
