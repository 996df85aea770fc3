package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TrafficSplit divides the requests of one host between weighted targets.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=trafficsplits,shortName=split,categories=tidelock
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Host",type=string,JSONPath=`.spec.host`
// +kubebuilder:printcolumn:name="Weights",type=string,JSONPath=`.status.weights`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type TrafficSplit struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   TrafficSplitSpec   `json:"spec"`
	Status TrafficSplitStatus `json:"status,omitempty"`
}

// TrafficSplitSpec says whose requests are divided, and how.
type TrafficSplitSpec struct {
	// Host claims a host name on the default listener; a split without host and hosts is reached by ProxyRoutes alone.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Host string `json:"host,omitempty"`
	// Hosts claims several.
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	Hosts []string `json:"hosts,omitempty"`
	// Targets share the requests by weight.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +listType=map
	// +listMapKey=name
	Targets []Target `json:"targets"`
	// Outputs says for which proxies the split is written; Envoy if left out.
	// +listType=set
	Outputs []Output `json:"outputs,omitempty"`
}

// Output names a data plane that a split is written for.
//
// +kubebuilder:validation:Enum=Envoy
type Output string

// OutputEnvoy is the Envoy fleet that this daemon serves over xDS.
const OutputEnvoy Output = "Envoy"

// Target is one share of a split.
//
// +kubebuilder:validation:XValidation:rule="!(has(self.service) && has(self.mock))",message="set one of service and mock"
type Target struct {
	// Name of the target within the split; where neither service nor mock is set, the Service of this name is meant.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`
	// Service names a Kubernetes Service.
	// +kubebuilder:validation:MinLength=1
	Service string `json:"service,omitempty"`
	// Mock names an APIMock.
	// +kubebuilder:validation:MinLength=1
	Mock string `json:"mock,omitempty"`
	// Namespace of the Service or APIMock; the split's own if left out.
	// +kubebuilder:validation:MinLength=1
	Namespace string `json:"namespace,omitempty"`
	// Port of the Service, 1 to 65535; where left out the only port of a Service or APIMock of the repository, else 80.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port int32 `json:"port,omitempty"`
	// Subset takes only those pods of the Service that carry these labels too; the Service must be in the repository.
	Subset *Subset `json:"subset,omitempty"`
	// Weight is a relative share, 0 to 1000000; 1 if left out, and 0 gets no request.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000000
	Weight *int32 `json:"weight,omitempty"`
}

// Subset narrows a Service to some of its pods.
type Subset struct {
	// Labels are added to the Service's selector.
	// +kubebuilder:validation:MinProperties=1
	Labels map[string]string `json:"labels"`
}

// TrafficSplitStatus is what the daemon reports of a TrafficSplit.
type TrafficSplitStatus struct {
	Status `json:",inline"`
	// Weights in force, as "stable=90 canary=10".
	Weights string `json:"weights,omitempty"`
}

// TrafficSplitList is a list of TrafficSplits.
//
// +kubebuilder:object:root=true
type TrafficSplitList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []TrafficSplit `json:"items"`
}
