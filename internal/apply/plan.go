package apply

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/tidelock/tidelock/api/v1alpha1"
	"github.com/tidelock/tidelock/internal/desired"
)

// defaultNamespace is where a namespaced object goes that names no namespace, as with kubectl.
const defaultNamespace = "default"

// NewPlan compares what is declared with what we own and with what the cluster holds. An object that the view does not
// know is planned as a Create; Preflight finds out whether it is there with another owner or none.
func NewPlan(d Declared, inv Inventory, view View) Plan {
	p := planning{view: view, holds: map[desired.ID][]hold{}, plan: Plan{Declared: len(d.objects), Owned: len(inv.Entries), crds: d.crds}}
	ids := make(map[desired.ID]bool, len(d.objects))
	for i := range d.objects {
		o := &d.objects[i]
		id := place(o.ID, d.crds, view.Namespaced)
		ids[id] = true
		entry, owned := inv.Entries[id]
		p.compare(id, o, entry, owned)
	}
	for id, entry := range inv.Entries {
		if !ids[id] {
			p.leave(id, entry)
		}
	}
	for i := range p.plan.Prunes {
		p.plan.Prunes[i].holds = p.holds[p.plan.Prunes[i].ID]
	}
	slices.SortFunc(p.plan.Prunes, func(a, b Change) int { return compareStaged(b.ID, a.ID) })
	slices.SortFunc(p.plan.Paused, desired.ID.Compare)
	return p.plan
}

// planning is one run of NewPlan.
type planning struct {
	view  View
	plan  Plan
	holds map[desired.ID][]hold // by what is held
}

// place gives an ID the namespace that the API server will give it.
func place(id desired.ID, crds map[schema.GroupKind]definition, namespaced map[schema.GroupKind]bool) desired.ID {
	in, known := namespaced[id.GroupKind()]
	if def, ok := crds[id.GroupKind()]; ok {
		in, known = def.namespaced, true
	}
	switch {
	case !known:
	case !in:
		id.Namespace = ""
	case id.Namespace == "":
		id.Namespace = defaultNamespace
	}
	return id
}

// compare plans what is done to one declared object.
func (p *planning) compare(id desired.ID, o *declaredObject, entry Entry, owned bool) {
	live, seen := p.view.Objects[id]
	switch {
	case o.paused, seen && live.Annotations[v1alpha1.AnnotationReconcile] == v1alpha1.Disabled:
		p.plan.Paused = append(p.plan.Paused, id)
		p.outlive(id, o, entry, leftAlone())
		return
	case seen && live.Deleting:
		p.plan.Waits = append(p.plan.Waits, desired.Wait{For: id.String(), Until: live.ending()})
		return
	case !seen && owned && entry.Finished && entry.Digest == o.digest:
		// A finished Job that its TTL or somebody took away has done its work.
		p.plan.Unchanged++
		return
	}
	action, reason := Create, "new in the repository"
	switch {
	case seen:
		action, reason = decide(&live, entry, owned, o.digest)
	case owned:
		reason = "gone from the cluster"
	}
	if action == "" {
		p.plan.Unchanged++
		p.outlive(id, o, entry, nil)
		return
	}
	p.outlive(id, o, entry, toWrite())
	c := Change{ID: id, Action: action, Object: &o.Object, Reason: reason, digest: o.digest, owned: entry}
	if seen {
		c.Live = new(live) // a copy for what changes alone: most objects do not
	}
	c.checked = action == Correct // the server took this content before
	p.plan.Writes = append(p.plan.Writes, c)
}

// decide returns what is done to a declared object that is there, or "" where it is as it should be.
func decide(live *Live, entry Entry, owned bool, digest string) (Action, string) {
	switch {
	case !owned:
		return Adopt, "carries our label, and is not in the inventory"
	case entry.UID != "" && entry.UID != live.UID:
		return Adopt, "somebody replaced it"
	case entry.digest(live) != digest:
		return Update, "changed in the repository"
	case !entry.matches(live):
		return Correct, driftReason(live, entry)
	}
	return "", ""
}

func driftReason(live *Live, entry Entry) string {
	switch {
	case entry.UID == "":
		return "written, and not recorded yet"
	case live.rival != "":
		return fmt.Sprintf("changed in the cluster by %s", live.rival)
	}
	return "changed in the cluster"
}

// leave plans the end of an object that left the repository.
func (p *planning) leave(id desired.ID, entry Entry) {
	c := Change{ID: id, Action: Delete, Reason: "left the repository", owned: entry}
	if live, seen := p.view.Objects[id]; seen {
		c.Live = &live
		if live.Annotations[v1alpha1.AnnotationReconcile] == v1alpha1.Disabled {
			p.plan.Paused = append(p.plan.Paused, id)
			return
		}
		if why := keeps(id, live); why != "" {
			c.Action, c.Reason = Release, why
		}
		if !entry.owns(&live) {
			c.Action, c.Reason = Release, "somebody replaced it"
		}
	}
	p.plan.Prunes = append(p.plan.Prunes, c)
}

// keeps says why an object outlives its manifest, or "".
func keeps(id desired.ID, live Live) string {
	prune := live.Annotations[v1alpha1.AnnotationPrune]
	switch {
	case prune == v1alpha1.Disabled:
		return "kept: " + v1alpha1.AnnotationPrune + " is disabled"
	case isPrecious(id.GroupKind()) && prune != v1alpha1.Enabled:
		return fmt.Sprintf("kept: a %s is deleted only where annotated %s: %s",
			id.Kind, v1alpha1.AnnotationPrune, v1alpha1.Enabled)
	}
	return ""
}
