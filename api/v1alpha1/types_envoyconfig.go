package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// EnvoyConfig is raw xDS resources in Envoy's own YAML, published as they are after validation.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=envoyconfigs,categories=tidelock
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type EnvoyConfig struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   EnvoyConfigSpec `json:"spec"`
	Status Status          `json:"status,omitempty"`
}

// EnvoyConfigSpec holds resources, or names the file that does.
//
// +kubebuilder:validation:XValidation:rule="has(self.resources) != has(self.file)",message="set one of resources and file"
type EnvoyConfigSpec struct {
	// Resources are messages with an "@type" each: listeners, routes, clusters, endpoints, secrets.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=1024
	Resources []runtime.RawExtension `json:"resources,omitempty"`
	// File is a YAML file of the repository, relative to the manifest's own file: a list of resources under "resources",
	// or Envoy's "static_resources".
	// +kubebuilder:validation:MinLength=1
	File string `json:"file,omitempty"`
	// Proxies are the node clusters that receive the resources; all if left out.
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	Proxies []string `json:"proxies,omitempty"`
}

// EnvoyConfigList is a list of EnvoyConfigs.
//
// +kubebuilder:object:root=true
type EnvoyConfigList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []EnvoyConfig `json:"items"`
}
