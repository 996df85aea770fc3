package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Sync is where an instance of the daemon shows itself: what it follows and where it stands. The daemon writes it; users
// may set spec.suspend and spec.pin.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=syncs,categories=tidelock
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Commit",type=string,JSONPath=`.status.commit`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type Sync struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   SyncSpec   `json:"spec,omitempty"`
	Status SyncStatus `json:"status,omitempty"`
}

// SyncSpec is what users may set on an instance.
type SyncSpec struct {
	// Suspend stops the following of new commits; the last accepted one stays live.
	Suspend bool `json:"suspend,omitempty"`
	// Pin holds the instance at this commit (40 or 64 hexadecimal digits).
	// +kubebuilder:validation:Pattern=`^([0-9a-f]{40}|[0-9a-f]{64})?$`
	Pin string `json:"pin,omitempty"`
}

// Condition types, as kstatus reads them.
const (
	// ConditionReady is True when the newest commit is accepted, all is in, and no route is held back.
	ConditionReady = "Ready"
	// ConditionReconciling is True while work of the accepted commit is outstanding.
	ConditionReconciling = "Reconciling"
	// ConditionStalled is True when the instance can go on only if somebody mends something.
	ConditionStalled = "Stalled"
)

// SyncStatus is where an instance stands.
type SyncStatus struct {
	// ObservedGeneration of the spec.
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Repository followed, without credentials.
	Repository string `json:"repository,omitempty"`
	// Ref followed, as given.
	Ref string `json:"ref,omitempty"`
	// Path in the repository.
	Path string `json:"path,omitempty"`
	// Commit accepted last: what the cluster and the proxies are kept at.
	Commit string `json:"commit,omitempty"`
	// Subject is the first line of that commit's message, CommitTime when it was made.
	Subject    string       `json:"subject,omitempty"`
	CommitTime *metav1.Time `json:"commitTime,omitempty"`
	// LiveCommit is the commit whose routes every proxy serves in full, by proxy group.
	LiveCommit map[string]string `json:"liveCommit,omitempty"`
	// Rejected is the newest commit where it was refused; empty once a commit is accepted.
	Rejected *Rejected `json:"rejected,omitempty"`
	// Counts of the accepted commit's objects: what was done to them for it, and how they are now.
	Counts Counts `json:"counts,omitempty"`
	// Kinds are the same counts for each kind, by name; what is over the bound is counted as "others".
	// +kubebuilder:validation:MaxItems=64
	Kinds []KindCounts `json:"kinds,omitempty"`
	// Waiting says what the instance waits for; counts.waiting says how much there is where not all is listed.
	// +kubebuilder:validation:MaxItems=64
	Waiting []Wait `json:"waiting,omitempty"`
	// Drift is what was put back after somebody had changed or deleted it.
	Drift *Drift `json:"drift,omitempty"`
	// Contested names objects that somebody keeps changing back; they are left alone for a while.
	// +kubebuilder:validation:MaxItems=64
	Contested []string `json:"contested,omitempty"`
	// Warnings stop nothing: what a reviewer should have seen, and proxy groups that nobody belongs to.
	// +kubebuilder:validation:MaxItems=64
	Warnings []string `json:"warnings,omitempty"`
	// Released names objects that left the repository and were kept (Namespaces, CRDs, PersistentVolumeClaims, protected).
	// +kubebuilder:validation:MaxItems=64
	Released []string `json:"released,omitempty"`
	// NextRuns are the next few instants of all schedules: RFC 3339 in UTC, and the At.
	// +kubebuilder:validation:MaxItems=64
	NextRuns []string `json:"nextRuns,omitempty"`
	// Proxies that are connected, by group and node.
	// +kubebuilder:validation:MaxItems=1000
	Proxies []ProxyStatus `json:"proxies,omitempty"`
	// Conditions: Ready, Reconciling, Stalled.
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// Rejected is a commit that was refused whole.
type Rejected struct {
	Commit string `json:"commit"`
	// Subject is the first line of its message.
	Subject string `json:"subject,omitempty"`
	// Errors name file, line and field each.
	// +kubebuilder:validation:MaxItems=64
	Errors []string `json:"errors,omitempty"`
}

// Counts of objects.
type Counts struct {
	// Created and Changed for the accepted commit; what drifted and was put back is not among them.
	Created int32 `json:"created"`
	Changed int32 `json:"changed"`
	// Unchanged were as the commit declares them already.
	Unchanged int32 `json:"unchanged"`
	// Failed and Waiting are not in.
	Failed  int32 `json:"failed"`
	Waiting int32 `json:"waiting"`
	// Pruned left the repository with the commit, and the cluster.
	Pruned int32 `json:"pruned"`
}

// KindCounts are the counts of one kind.
type KindCounts struct {
	// Kind as it is written in messages: with its group where that is none of Kubernetes' own or ours.
	Kind   string `json:"kind"`
	Counts `json:",inline"`
}

// Wait is one thing that is outstanding.
type Wait struct {
	// For is what is held up, Until what must happen.
	For   string `json:"for"`
	Until string `json:"until"`
	// Since is when this wait began.
	Since metav1.Time `json:"since"`
}

// String returns "route shop.example.com / waits for endpoints of shop/cart/8080".
func (w Wait) String() string { return w.For + " waits for " + w.Until }

// Drift counts corrections.
type Drift struct {
	// Corrected is how many objects were put back since the instance exists.
	Corrected int64 `json:"corrected"`
	// Last is when that happened last, Objects to which.
	Last metav1.Time `json:"last"`
	// +kubebuilder:validation:MaxItems=64
	Objects []string `json:"objects,omitempty"`
}

// ProxyStatus is one connected proxy.
type ProxyStatus struct {
	// Node is the proxy's node id, Group its node cluster.
	Node  string `json:"node"`
	Group string `json:"group,omitempty"`
	// State: Current, Updating, Lagging or Rejected.
	State string `json:"state"`
	// Message is the reason of a rejection.
	Message string `json:"message,omitempty"`
}

// SyncList is a list of Syncs.
//
// +kubebuilder:object:root=true
type SyncList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Sync `json:"items"`
}
