package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Phases of APIMock, TrafficSplit, ProxyRoute and EnvoyConfig.
const (
	// PhaseLive: in the cluster and, where it has routes, with the proxies.
	PhaseLive = "Live"
	// PhaseWaiting: accepted, and something is outstanding that the message names.
	PhaseWaiting = "Waiting"
	// PhaseFailed: a proxy or the API server refused it; the message names why.
	PhaseFailed = "Failed"
)

// Status is what the daemon reports of each resource of ours. It changes only when the resource changes, or what it waits
// for: it never carries the newest commit.
type Status struct {
	// Phase in one word.
	Phase string `json:"phase,omitempty"`
	// Message says what is waited for, or what is wrong.
	Message string `json:"message,omitempty"`
	// Commit at which this resource last changed.
	Commit string `json:"commit,omitempty"`
	// ObservedGeneration of the spec.
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Conditions: Ready.
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}
