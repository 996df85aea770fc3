package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// The ports of a mock's pod.
const (
	// MockPort answers the API.
	MockPort = 8000
	// MockDocsPort serves documentation, health and metrics, so that no path is taken from the API.
	MockDocsPort = 8080
)

// MockServerKey is the key of a mock's ConfigMap under which the JSON of its MockServer stands, where it says anything.
const MockServerKey = "server.json"

// APIMock is an OpenAPI 3.0 or 3.1 document that a mock server answers: a ConfigMap, a Deployment and a Service, and a
// route on the default listener where host is set.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=apimocks,shortName=mock,categories=tidelock
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Host",type=string,JSONPath=`.spec.host`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="size(self.metadata.name) <= 63",message="want at most 63 characters: a Service is named after it"
type APIMock struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   APIMockSpec `json:"spec"`
	Status Status      `json:"status,omitempty"`
}

// APIMockSpec says which document is answered and where.
//
// +kubebuilder:validation:XValidation:rule="has(self.definition) != has(self.definitionFrom)",message="set one of definition and definitionFrom"
type APIMockSpec struct {
	// Definition is the OpenAPI document inline, YAML or JSON.
	// +kubebuilder:validation:MinLength=1
	Definition string `json:"definition,omitempty"`
	// DefinitionFrom names where the document stands instead.
	DefinitionFrom *DefinitionSource `json:"definitionFrom,omitempty"`
	// Replicas of the mock's Deployment; 1 if left out, 0 turns the mock off.
	// +kubebuilder:validation:Minimum=0
	Replicas *int32 `json:"replicas,omitempty"`
	// Service is how the mock is reached in the cluster.
	Service MockService `json:"service,omitempty"`
	// Host claims a host name on the default listener for this mock.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Host string `json:"host,omitempty"`
	// Image runs the mock server; by default the one of the daemon's configuration.
	// +kubebuilder:validation:MinLength=1
	Image string `json:"image,omitempty"`
	// Resources of the container.
	Resources corev1.ResourceRequirements `json:"resources,omitempty"`
	// Server says how the mock behaves beyond what the document says.
	Server MockServer `json:"server,omitzero"`
	// Template is a patch of the pod's template, merged over what the fields above make; the container is named "mock".
	// +kubebuilder:pruning:PreserveUnknownFields
	Template *runtime.RawExtension `json:"template,omitempty"`
}

// DefinitionSource says where an OpenAPI document is read from: exactly one of its fields.
//
// +kubebuilder:validation:XValidation:rule="has(self.file) != has(self.configMapKeyRef)",message="set one of file and configMapKeyRef"
type DefinitionSource struct {
	// File is a path in the repository, relative to the manifest's own file; files that it refers to are bundled.
	// +kubebuilder:validation:MinLength=1
	File string `json:"file,omitempty"`
	// ConfigMapKeyRef names a ConfigMap of the same commit and namespace, and the key in it.
	ConfigMapKeyRef *KeyRef `json:"configMapKeyRef,omitempty"`
}

// KeyRef names one key of a ConfigMap in the same namespace.
type KeyRef struct {
	// Name of the object.
	// +kubebuilder:validation:MinLength=1
	Name string `json:"name"`
	// Key in its data.
	// +kubebuilder:validation:MinLength=1
	Key string `json:"key"`
}

// MockService is the Service before a mock.
type MockService struct {
	// Port of the Service, 1 to 65535; 8000 if left out. With 8080 the documentation port is left out of the Service.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port int32 `json:"port,omitempty"`
	// Type of the Service; ClusterIP if left out.
	// +kubebuilder:validation:Enum=ClusterIP;NodePort;LoadBalancer
	Type corev1.ServiceType `json:"type,omitempty"`
}

// APIMockList is a list of APIMocks.
//
// +kubebuilder:object:root=true
type APIMockList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []APIMock `json:"items"`
}
