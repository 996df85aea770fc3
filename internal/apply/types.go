// Package apply keeps the cluster at a State: a watched view of what is there, a pure Plan, the server's dry run, the
// writes stage by stage, and the prune. What may be deleted is decided by the inventory and the UID, never by a label.
package apply

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/tidelock/tidelock/internal/desired"
)

// Live is what the plan needs to know of one object in the cluster.
type Live struct {
	desired.ID
	UID             types.UID
	ResourceVersion string
	// Owner is the value of the label tidelock.dev/owner; empty where there is none.
	Owner string
	// Foreign names another tool that manages the object (Flux, Argo CD, Helm); empty where there is none.
	Foreign string
	// Digest is the annotation tidelock.dev/digest.
	Digest string
	// Fields is a hash over the field paths that our field manager owns, and their values.
	Fields string
	// Annotations of ours on the live object (tidelock.dev/…).
	Annotations map[string]string
	// Deleting is set once a deletion was asked for.
	Deleting bool
	// Health by kstatus: "Current", "InProgress", "Failed", "Terminating" or "Unknown", with its message.
	Health        string
	HealthMessage string
}

// View is what the cluster held at one moment. It is shared and must not be changed.
type View struct {
	// Generation grows with every change that is not the echo of our own write.
	Generation uint64
	// Objects that carry our owner label, by ID.
	Objects map[desired.ID]Live
}

// Action is what a Change does.
type Action string

// The actions.
const (
	Create   Action = "create"
	Adopt    Action = "adopt"    // there without an owner: taken over
	Update   Action = "update"   // the content in git changed
	Correct  Action = "correct"  // the live object drifted
	Recreate Action = "recreate" // an immutable field changed, and the annotation allows it
	Refuse   Action = "refuse"   // another owner has it
	Delete   Action = "delete"   // left the repository
	Release  Action = "release"  // left the repository, and is kept: labels off, object stays
)

// Change is one thing that a Plan does to one object.
type Change struct {
	desired.ID
	Action Action
	// Object as declared; nil for Delete and Release.
	Object *desired.Object
	// Live as it was seen; nil where the object is absent.
	Live *Live
	// Reason in plain words: "data.v changed", "owned by Flux Kustomization flux-system/apps".
	Reason string
}

// Plan is what would have to be done for the cluster to be as declared: pure, sorted, a function of its inputs.
type Plan struct {
	// Writes in the order in which they are made, by stage.
	Writes []Change
	// Prunes in the order in which they are made.
	Prunes []Change
	// Unchanged is how many declared objects are as they should be.
	Unchanged int
	// Owned is how many objects the inventory holds.
	Owned int
}

// Failure is one object that could not be written.
type Failure struct {
	desired.ID
	Origin desired.Origin
	Err    error
}

// Result is what was done, also where something failed.
type Result struct {
	Created, Changed, Pruned, Released []desired.ID
	Failed                             []Failure
	Waits                              []desired.Wait
}
