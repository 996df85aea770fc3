package desired

import (
	"cmp"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// State is what one commit declares, sorted: equal input gives an equal State.
type State struct {
	// Objects to apply, by ID.
	Objects []Object
	// Routes to publish, by Route.Key.
	Routes []Route
	// Schedules to fire, by namespace and name.
	Schedules []Schedule
	// Splits are the weights of Routes and Objects over time, by namespace and name; At moves between their steps.
	Splits []Split
	// Warnings are what a reviewer should see; they stop nothing.
	Warnings []Problem
	// Brakes of the repository's tidelock.yaml, with defaults filled in.
	Brakes Brakes
}

// Object is one Kubernetes object as the repository declares it, without labels and annotations of ours.
type Object struct {
	ID
	// Version of the API that the manifest is written in.
	Version string
	// Origin is where the manifest stands.
	Origin Origin
	// Source is set on a generated object: the resource of ours that it comes from.
	Source Source
	// Content is the manifest; it is shared and must not be changed.
	Content *unstructured.Unstructured
	// Steps are the contents by step of the split in Source: first the one of no step. Empty where Content stays as it is.
	Steps []*unstructured.Unstructured
}

// GVK returns the type that the manifest is written in.
func (o Object) GVK() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: o.Group, Version: o.Version, Kind: o.Kind}
}

// Source names the resource of ours that something was lowered from.
type Source struct {
	Kind string
	Key
}

// String returns "ProxyRoute shop/web".
func (s Source) String() string { return s.Kind + " " + s.Key.String() }

// Brakes stop a commit that would delete more than is likely meant.
type Brakes struct {
	// MaxDeletes in one commit.
	MaxDeletes int
	// MaxPercent of what is owned, where more than 10 are deleted.
	MaxPercent int
	// Approve is the digest of the set of deletes that is let through.
	Approve string
	// AllowEmpty lets a commit through that declares nothing.
	AllowEmpty bool
}

// DefaultBrakes returns the brakes of a repository that sets none.
func DefaultBrakes() Brakes {
	const maxDeletes, maxPercent = 50, 20
	return Brakes{MaxDeletes: maxDeletes, MaxPercent: maxPercent}
}

// Wait is one thing that an act could not finish, and what it waits for. The next pass looks again.
type Wait struct {
	// For is what is held up: "route shop.example.com /", "prune ConfigMap shop/old".
	For string
	// Until is what must happen: "endpoints of shop/cart/8080", "CRD gizmos.example.dev Established".
	Until string
}

// String returns "route shop.example.com / waits for endpoints of shop/cart/8080".
func (w Wait) String() string { return w.For + " waits for " + w.Until }

// Compare orders waits by what is held up, then by what it waits for.
func (w Wait) Compare(o Wait) int {
	return cmp.Or(strings.Compare(w.For, o.For), strings.Compare(w.Until, o.Until))
}
