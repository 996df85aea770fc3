package apply

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/tidelock/tidelock/api/v1alpha1"
	"github.com/tidelock/tidelock/internal/desired"
)

// isWorkload says that pods of a kind are replaced when its template changes, and that its status tells how far that is.
// A bare ReplicaSet never replaces its pods, and a Job's or CronJob's end by themselves: nothing waits for those.
func isWorkload(gk schema.GroupKind) bool {
	return gk.Group == "apps" && slices.Contains([]string{"Deployment", "StatefulSet", "DaemonSet"}, gk.Kind)
}

// rollout is how far a workload's pods are with its template. The zero value is done: no pod of an older template is left,
// or can come back.
type rollout struct {
	// until is what has to happen first: "to roll out".
	until string
	// meant is set where somebody wants pods of an older template to stay, so that it may be so for ever.
	meant bool
}

func (r rollout) done() bool { return r.until == "" }

// Texts carry no numbers: a wait is known by its text, and begins anew with another one.
const toRollOut = "to roll out"

// rolloutOf reads a workload's status.
func rolloutOf(u *unstructured.Unstructured) rollout {
	gk := u.GroupVersionKind().GroupKind()
	if !isWorkload(gk) {
		return rollout{}
	}
	observed := number(u.Object, "status", "observedGeneration") >= u.GetGeneration()
	spec, status := field(u.Object, "spec"), field(u.Object, "status")
	switch gk.Kind {
	case "Deployment":
		return deploymentRollout(observed, spec, status)
	case "StatefulSet":
		return statefulSetRollout(observed, spec, status)
	default:
		return daemonSetRollout(observed, spec, status)
	}
}

// deploymentRollout goes by the counts of pods of all templates, of the newest one, and of those that serve. While it is
// paused nothing rolls out, and one that has no pods may get some of the older template.
func deploymentRollout(observed bool, spec, status any) rollout {
	all, updated := number(status, "replicas"), number(status, "updatedReplicas")
	alone := observed && all == updated
	failed := slices.ContainsFunc(items(status, "conditions"), func(c any) bool {
		return field(c, "type") == "Progressing" && field(c, "reason") == "ProgressDeadlineExceeded"
	})
	paused := field(spec, "paused") == true
	switch {
	case paused && alone && all > 0:
		return rollout{}
	case paused:
		return rollout{until: "to be resumed: it is paused", meant: true}
	case alone && updated >= number(spec, "replicas") && number(status, "availableReplicas") >= updated:
		return rollout{}
	case alone && failed:
		return rollout{} // its pods do not serve, and none of them is older
	case failed:
		return rollout{until: toRollOut + ": it exceeded its progress deadline"}
	}
	return rollout{until: toRollOut}
}

// statefulSetRollout also goes by the revisions: pods below the partition are made anew by the older one.
func statefulSetRollout(observed bool, spec, status any) rollout {
	all, updated := number(status, "replicas"), number(status, "updatedReplicas")
	byHand := isOnDelete(spec)
	alone := observed && all == updated &&
		(byHand || field(status, "currentRevision") == field(status, "updateRevision"))
	switch {
	case !alone && byHand:
		return onDelete()
	case !alone && number(spec, "updateStrategy", "rollingUpdate", "partition") > 0:
		return rollout{until: "to roll out below its partition", meant: true}
	case alone && all >= number(spec, "replicas") && number(status, "readyReplicas") >= all:
		return rollout{}
	}
	return rollout{until: toRollOut}
}

func daemonSetRollout(observed bool, spec, status any) rollout {
	wanted := number(status, "desiredNumberScheduled")
	alone := observed && number(status, "updatedNumberScheduled") >= wanted
	switch {
	case !alone && isOnDelete(spec):
		return onDelete()
	case alone && number(status, "numberAvailable") >= wanted:
		return rollout{}
	}
	return rollout{until: toRollOut}
}

func isOnDelete(spec any) bool { return field(spec, "updateStrategy", "type") == "OnDelete" }

func onDelete() rollout {
	return rollout{until: "to have its older pods deleted: its update strategy is OnDelete", meant: true}
}

// hold is why an object that left the repository stays for now: pods of an older template may start again.
type hold struct {
	workload desired.ID
	source   string // the kind of ours that the workload was generated from
	rollout
}

func (h hold) String() string { return fmt.Sprintf("%s %s", h.workload, h.until) }

// outlive notes what pods of a declared workload may still need although its manifest does not name it. ahead is set where
// the manifest is not what is live: a write is to come, or the object is left alone.
func (p *planning) outlive(id desired.ID, o *declaredObject, entry Entry, ahead *rollout) {
	live, seen := p.view.Objects[id]
	if !seen || entry.Earlier == "" && (ahead == nil || len(live.named) == 0) {
		return
	}
	names, roll := splitNames(entry.Earlier), live.rollout
	if ahead != nil {
		names, roll = append(names, live.named...), *ahead
	}
	if roll.done() {
		p.plan.rolledOut = append(p.plan.rolledOut, id)
		return
	}
	declared := namedBy(o.Content)
	for _, name := range names {
		if !slices.Contains(declared, name) {
			of := idNamed(id, name)
			p.holds[of] = append(p.holds[of], hold{workload: id, source: o.Source.Kind, rollout: roll})
		}
	}
}

// toWrite is how far a workload is that is about to be written, leftAlone one that somebody wants to be left alone.
func toWrite() *rollout { return &rollout{until: toRollOut} }

func leftAlone() *rollout {
	return &rollout{until: "to be reconciled: " + v1alpha1.AnnotationReconcile + " is " + v1alpha1.Disabled, meant: true}
}

// earlier returns what is to be noted before a workload is written: what its pods may need that the new manifest does not
// name. Only what we own is of interest: nothing else is deleted.
func (l *ledger) earlier(ch Change) string {
	if !isWorkload(ch.GroupKind()) || ch.Live == nil {
		return ""
	}
	names := append(splitNames(l.entries[ch.ID].Earlier), ch.Live.named...)
	if len(names) == 0 {
		return ""
	}
	declared := namedBy(ch.Object.Content)
	names = slices.DeleteFunc(names, func(name string) bool {
		_, owned := l.entries[idNamed(ch.ID, name)]
		return !owned || slices.Contains(declared, name)
	})
	slices.Sort(names)
	return strings.Join(slices.Compact(names), ",")
}

// rolledOut forgets what older templates of workloads named. It is no reason to write the inventory: it can be seen again.
func (l *ledger) rolledOut(ids []desired.ID) {
	for _, id := range ids {
		if e, ok := l.entries[id]; ok && e.Earlier != "" {
			e.Earlier = ""
			l.entries[id] = e
			l.current = nil
		}
	}
}

func splitNames(joined string) []string {
	if joined == "" {
		return nil
	}
	return strings.Split(joined, ",")
}

func cutKind(text string) (kind, name string) {
	kind, name, _ = strings.Cut(text, " ")
	return kind, name
}
