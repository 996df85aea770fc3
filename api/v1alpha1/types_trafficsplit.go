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
// +kubebuilder:printcolumn:name="Next",type=string,JSONPath=`.status.nextStep`
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
	// Stickiness keeps a client on one target, and on one pod of it; without it each request is a new choice.
	Stickiness *Stickiness `json:"stickiness,omitempty"`
	// Mirror sends copies of requests to one more Service or APIMock, whose answers are dropped.
	Mirror *Mirror `json:"mirror,omitempty"`
	// Steps change the weights over time. In force are those of the step whose latest instant is the latest of all, by the
	// clock alone: before any has come, those of the targets.
	// +kubebuilder:validation:MaxItems=128
	Steps []Step `json:"steps,omitempty"`
	// Outputs says for which proxies the split is written; Envoy if left out.
	// +kubebuilder:validation:MinItems=1
	// +listType=set
	Outputs []Output `json:"outputs,omitempty"`
	// Istio says more about the output Istio.
	Istio *IstioOutput `json:"istio,omitempty"`
	// GatewayAPI says more about the output GatewayAPI, which needs it.
	GatewayAPI *GatewayAPIOutput `json:"gatewayAPI,omitempty"`
}

// Output names a data plane that a split is written for.
//
// +kubebuilder:validation:Enum=Envoy;Istio;GatewayAPI
type Output string

// The outputs.
const (
	// OutputEnvoy is the Envoy fleet that this daemon serves over xDS.
	OutputEnvoy Output = "Envoy"
	// OutputIstio is a VirtualService, and a DestinationRule where there are subsets or stickiness.
	OutputIstio Output = "Istio"
	// OutputGatewayAPI is an HTTPRoute.
	OutputGatewayAPI Output = "GatewayAPI"
)

// IstioOutput says which traffic of Istio is divided.
type IstioOutput struct {
	// Gateways whose traffic it is, as "namespace/name", "name" or "mesh"; that of the mesh if left out.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MinLength=1
	Gateways []string `json:"gateways,omitempty"`
}

// GatewayAPIOutput says which traffic of Gateway API is divided.
type GatewayAPIOutput struct {
	// ParentRefs are the Gateways that the HTTPRoute is attached to.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	ParentRefs []ParentRef `json:"parentRefs"`
}

// ParentRef names a Gateway, as in an HTTPRoute.
type ParentRef struct {
	// Group of the parent; gateway.networking.k8s.io if left out, "" for a Service.
	Group *string `json:"group,omitempty"`
	// Kind of the parent; Gateway if left out.
	// +kubebuilder:validation:MinLength=1
	Kind string `json:"kind,omitempty"`
	// Namespace of the parent; the split's own if left out.
	// +kubebuilder:validation:MinLength=1
	Namespace string `json:"namespace,omitempty"`
	// Name of the parent.
	// +kubebuilder:validation:MinLength=1
	Name string `json:"name"`
	// SectionName is one listener of the Gateway; all if left out.
	// +kubebuilder:validation:MinLength=1
	SectionName string `json:"sectionName,omitempty"`
	// Port of the listeners that are meant; all if left out.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port int32 `json:"port,omitempty"`
}

// Stickiness is what tells one client from another. A client moves to another target only if weights change, and to
// another pod only if pods come or go.
//
// +kubebuilder:validation:XValidation:rule="has(self.cookie) != has(self.header)",message="set one of cookie and header"
type Stickiness struct {
	// Cookie is set by the proxy where a client has none.
	Cookie *StickyCookie `json:"cookie,omitempty"`
	// Header tells clients apart by its value; requests without it are not sticky.
	Header *StickyHeader `json:"header,omitempty"`
	// Algorithm is RingHash or Maglev; RingHash if left out.
	Algorithm HashAlgorithm `json:"algorithm,omitempty"`
}

// StickyCookie is a cookie.
type StickyCookie struct {
	// Name of the cookie.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	Name string `json:"name"`
	// TTL of the cookie; 0 or left out for the browser's session.
	TTL *metav1.Duration `json:"ttl,omitempty"`
	// Path of the cookie; "/" if left out.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Path string `json:"path,omitempty"`
}

// StickyHeader is a header.
type StickyHeader struct {
	// Name of the header.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	Name string `json:"name"`
}

// HashAlgorithm is how a hash picks a pod.
//
// +kubebuilder:validation:Enum=RingHash;Maglev
type HashAlgorithm string

// The algorithms.
const (
	RingHash HashAlgorithm = "RingHash"
	Maglev   HashAlgorithm = "Maglev"
)

// Mirror is where copies of requests go.
//
// +kubebuilder:validation:XValidation:rule="has(self.service) != has(self.mock)",message="set one of service and mock"
type Mirror struct {
	// Service names a Kubernetes Service.
	// +kubebuilder:validation:MinLength=1
	Service string `json:"service,omitempty"`
	// Mock names an APIMock.
	// +kubebuilder:validation:MinLength=1
	Mock string `json:"mock,omitempty"`
	// Namespace of the Service or APIMock; the split's own if left out.
	// +kubebuilder:validation:MinLength=1
	Namespace string `json:"namespace,omitempty"`
	// Port as that of a target.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port int32 `json:"port,omitempty"`
	// Percent of the requests that are copied, 1 to 100; 100 if left out.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	Percent int32 `json:"percent,omitempty"`
}

// Step changes the weights at an instant, or at each instant of a cron expression.
type Step struct {
	// At is an RFC 3339 instant with its offset, or a cron expression of five fields.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	At string `json:"at"`
	// TimeZone in which the hours of a cron expression are read, an IANA name; UTC if left out.
	// +kubebuilder:validation:MaxLength=64
	TimeZone string `json:"timeZone,omitempty"`
	// Weights by the name of the target, 0 to 1000000 each. Every target is named: one that is left out could keep its
	// weight or lose it.
	// +kubebuilder:validation:MinProperties=1
	// +kubebuilder:validation:MaxProperties=64
	Weights map[string]StepWeight `json:"weights"`
}

// StepWeight is a relative share.
//
// +kubebuilder:validation:Minimum=0
// +kubebuilder:validation:Maximum=1000000
type StepWeight int32

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
	// NextStep is when the next step begins; absent where none will.
	NextStep *metav1.Time `json:"nextStep,omitempty"`
	// NextWeights are those from then on.
	NextWeights string `json:"nextWeights,omitempty"`
}

// TrafficSplitList is a list of TrafficSplits.
//
// +kubebuilder:object:root=true
type TrafficSplitList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []TrafficSplit `json:"items"`
}
