package v1alpha1

// ConfigFile is the name of the file at the root of --path that holds a Config.
const ConfigFile = "tidelock.yaml"

// Config is tidelock.yaml at the root of the repository: how it is rendered and what stops a commit. It is read from git
// only and never applied. Nothing of the daemon's own security can be set here.
//
// +kubebuilder:object:generate=false
type Config struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// Units are folders that are rendered and cached one by one.
	Units []Unit `json:"units,omitempty"`
	// Prune holds the brakes.
	Prune Brakes `json:"prune,omitempty"`
	// Mocks are defaults of every APIMock.
	Mocks MockDefaults `json:"mocks,omitempty"`
}

// Unit is a folder, or a pattern as of path.Match, that is rendered by itself.
//
// +kubebuilder:object:generate=false
type Unit struct {
	Path string `json:"path"`
}

// Brakes stop a commit that would delete more than is likely meant.
//
// +kubebuilder:object:generate=false
type Brakes struct {
	// MaxDeletes in one commit; 50 if left out.
	MaxDeletes *int `json:"maxDeletes,omitempty"`
	// MaxPercent of the inventory in one commit, where more than 10 are deleted; 20 if left out.
	MaxPercent *int `json:"maxPercent,omitempty"`
	// Approve is the digest of the set of deletes that is let through.
	Approve string `json:"approve,omitempty"`
	// AllowEmpty lets a commit through that declares nothing.
	AllowEmpty bool `json:"allowEmpty,omitempty"`
}

// MockDefaults are the defaults of every APIMock.
//
// +kubebuilder:object:generate=false
type MockDefaults struct {
	// Image of the mock server.
	Image string `json:"image,omitempty"`
}
