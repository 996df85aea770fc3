// Package apply keeps the cluster at a State: a watched view of what is there, a pure Plan, the server's dry run, the
// writes stage by stage, and the prune. What may be deleted is decided by the inventory and the UID, never by a label.
package apply

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
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
	// Finished is set on a Job that has completed or failed.
	Finished bool
	// Generation of the spec, as the API server counts it.
	Generation int64
	// Health by kstatus: "Current", "InProgress", "Failed", "Terminating" or "Unknown", with its message.
	Health        string
	HealthMessage string

	version    string // API version that it was read in
	exact      bool   // our managed fields are written in that version
	applied    bool   // our field manager has applied something
	handover   bool   // fields that others hold become ours with the next write
	finalizers string // by which a delete does not end at once, separated by commas
	replicas   bool   // spec.replicas is held by us, or by somebody whom we would take it from
	rival      string // the latest other field manager
	status     string // of a resource of ours: what was reported on it, and since when its conditions are as they are
	since      []transition

	named   []string // what the pods of a workload name: "ConfigMap settings"
	rollout rollout  // how far they are with the template
}

// View is what the cluster held at one moment. It is shared and must not be changed.
type View struct {
	// Generation grows with every change that is not the echo of our own write.
	Generation uint64
	// Objects that carry our owner label, by ID.
	Objects map[desired.ID]Live
	// Namespaced says of every kind that is known whether its objects live in a namespace.
	Namespaced map[schema.GroupKind]bool
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
	// Reason in plain words: "changed in the repository", "owned by Flux Kustomization flux-system/apps".
	Reason string
	// WaitsFor is what a Delete or Release waits for, where that can be known. Foresee sets it.
	WaitsFor string

	// digest of the content that is declared.
	digest string
	// claimant is the Tidelock instance that owns the object of a Refuse.
	claimant string
	// checked is set once the server was asked, and it is known that the write takes nothing of somebody else's.
	checked bool
	// keepsReplicas is set where the number of replicas leaves the manifest and is an autoscaler's from now on.
	keepsReplicas bool
	// owned is the entry of the inventory; zero where there is none.
	owned Entry
	// holds are workloads of which older pods may need the object of a Delete.
	holds []hold
}

// Plan is what would have to be done for the cluster to be as declared: pure, sorted, a function of its inputs.
type Plan struct {
	// Writes in the order in which they are made, by stage.
	Writes []Change
	// Prunes in the order in which they are made.
	Prunes []Change
	// Waits are objects that cannot be written before something ends, such as their deletion.
	Waits []desired.Wait
	// Paused are objects that the annotation tidelock.dev/reconcile leaves alone.
	Paused []desired.ID
	// Warnings are what the API server remarked on the writes when it was asked; they stop nothing.
	Warnings []desired.Problem
	// Unchanged is how many declared objects are as they should be.
	Unchanged int
	// Declared is how many objects the commit declares.
	Declared int
	// Owned is how many objects the inventory holds.
	Owned int
	// Commit that is recorded in the inventory for what is written. The caller sets it; it decides nothing.
	Commit string

	// rolledOut are workloads whose older pods are gone, and that the inventory does not know to be so.
	rolledOut []desired.ID
	// crds are the declared CustomResourceDefinitions by the kind that they define.
	crds map[schema.GroupKind]definition
}

// Empty says that there is nothing to write and nothing to prune.
func (p Plan) Empty() bool { return len(p.Writes) == 0 && len(p.Prunes) == 0 }

// Failure is one object that could not be written.
type Failure struct {
	desired.ID
	Origin desired.Origin
	Err    error
}

// Result is what was done, also where something failed.
type Result struct {
	Created, Changed, Pruned, Released []desired.ID
	// Corrected are those of Created and Changed that somebody had deleted or changed.
	Corrected []desired.ID
	// Contested are objects that somebody else keeps changing back; they are left alone for a while.
	Contested []desired.ID
	Failed    []Failure
	Waits     []desired.Wait
	// Kept are objects that left the repository and stay for as long as somebody wants older pods to: nothing is waited for.
	Kept []desired.Wait
}

// Add appends what o did.
func (r *Result) Add(o Result) {
	r.Created = append(r.Created, o.Created...)
	r.Changed = append(r.Changed, o.Changed...)
	r.Pruned = append(r.Pruned, o.Pruned...)
	r.Released = append(r.Released, o.Released...)
	r.Corrected = append(r.Corrected, o.Corrected...)
	r.Contested = append(r.Contested, o.Contested...)
	r.Failed = append(r.Failed, o.Failed...)
	r.Waits = append(r.Waits, o.Waits...)
	r.Kept = append(r.Kept, o.Kept...)
}
