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
	// LiveCommit is the commit whose routes every proxy serves in full, by proxy group.
	LiveCommit map[string]string `json:"liveCommit,omitempty"`
	// Rejected is the newest commit where it was refused; empty once a commit is accepted.
	Rejected *Rejected `json:"rejected,omitempty"`
	// Counts of the last pass that changed something.
	Counts Counts `json:"counts,omitempty"`
	// Waiting says what the instance waits for.
	// +kubebuilder:validation:MaxItems=64
	Waiting []string `json:"waiting,omitempty"`
	// Released names objects that left the repository and were kept (Namespaces, CRDs, PersistentVolumeClaims, protected).
	// +kubebuilder:validation:MaxItems=64
	Released []string `json:"released,omitempty"`
	// Proxies that are connected.
	Proxies []ProxyStatus `json:"proxies,omitempty"`
	// Conditions: Ready, Reconciling, Stalled.
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// Rejected is a commit that was refused whole.
type Rejected struct {
	Commit string `json:"commit"`
	// Errors name file, line and field each.
	// +kubebuilder:validation:MaxItems=64
	Errors []string `json:"errors,omitempty"`
}

// Counts of objects.
type Counts struct {
	Created   int32 `json:"created"`
	Changed   int32 `json:"changed"`
	Unchanged int32 `json:"unchanged"`
	Failed    int32 `json:"failed"`
	Waiting   int32 `json:"waiting"`
	Pruned    int32 `json:"pruned"`
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
