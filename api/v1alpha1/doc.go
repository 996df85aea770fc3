// Package v1alpha1 holds the kinds that a repository may declare, group tidelock.dev/v1alpha1, and the Sync that the
// daemon writes. The types are the decoding rules too: an unknown field is refused, a default is the one named here.
//
// +kubebuilder:object:generate=true
// +groupName=tidelock.dev
package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Group is the API group of every kind of ours.
const Group = "tidelock.dev"

// GroupVersion returns the group and version of the types in this package.
func GroupVersion() schema.GroupVersion {
	return schema.GroupVersion{Group: Group, Version: "v1alpha1"}
}

// The kinds of the group.
const (
	KindAPIMock      = "APIMock"
	KindAt           = "At"
	KindTrafficSplit = "TrafficSplit"
	KindProxyRoute   = "ProxyRoute"
	KindEnvoyConfig  = "EnvoyConfig"
	KindSync         = "Sync"
	KindConfig       = "Config"
)

// Labels and annotations that the daemon writes or reads on objects.
const (
	// LabelOwner names the instance that owns an object; the inventory, not this label, decides what may be deleted.
	LabelOwner = "tidelock.dev/owner"
	// LabelKind and LabelName name the resource of ours that an object was generated from.
	LabelKind = "tidelock.dev/from-kind"
	// LabelName is the name of the resource that an object was generated from.
	LabelName = "tidelock.dev/from-name"
	// LabelManagedBy is the common label that names the tool that manages an object; ours is ManagedBy.
	LabelManagedBy = "app.kubernetes.io/managed-by"
	// ManagedBy is the value of LabelManagedBy, and the name of the field manager.
	ManagedBy = "tidelock"
	// LabelFiredBy names the instance that fired the schedule of a Job. Such a Job is not in the inventory.
	LabelFiredBy = "tidelock.dev/fired-by"
	// LabelLedger marks the ConfigMaps in which an instance keeps the instants that it has handled.
	LabelLedger = "tidelock.dev/ledger"
	// AnnotationInstant is the instant that a Job runs for, RFC 3339 in UTC.
	AnnotationInstant = "tidelock.dev/instant"
	// AnnotationPending: "enabled" is on a Job from when it is made until it is let go, a moment later.
	AnnotationPending = "tidelock.dev/pending"
	// AnnotationDigest is the digest of the content that was applied.
	AnnotationDigest = "tidelock.dev/digest"
	// AnnotationPrune: "enabled" allows a Namespace, CRD or PersistentVolumeClaim to be pruned, "disabled" keeps any object.
	AnnotationPrune = "tidelock.dev/prune"
	// AnnotationReconcile: "disabled" leaves an object alone, also where it is set on the live object.
	AnnotationReconcile = "tidelock.dev/reconcile"
	// AnnotationRecreate: "enabled" lets a change of an immutable field delete and create the object.
	AnnotationRecreate = "tidelock.dev/recreate"
	// AnnotationIgnore is a JSON list of JSON pointers (RFC 6901) whose live value is kept.
	AnnotationIgnore = "tidelock.dev/ignore"
	// AnnotationAdopt: "true" on a live object allows it to be taken from another owner.
	AnnotationAdopt = "tidelock.dev/adopt"
	// AnnotationSwitch on a ProxyRoute or TrafficSplit: "force" switches a route whose new backend is not ready.
	AnnotationSwitch = "tidelock.dev/switch"
)

// The values of the annotations above.
const (
	Enabled  = "enabled"
	Disabled = "disabled"
	Force    = "force"
)

// AddToScheme makes the kinds of this package known to a scheme, for typed clients.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(GroupVersion(),
		&APIMock{}, &APIMockList{}, &At{}, &AtList{}, &TrafficSplit{}, &TrafficSplitList{},
		&ProxyRoute{}, &ProxyRouteList{}, &EnvoyConfig{}, &EnvoyConfigList{}, &Sync{}, &SyncList{})
	metav1.AddToGroupVersion(s, GroupVersion())
	return nil
}
