package reconcile

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/tidelock/tidelock/api/v1alpha1"
	"github.com/tidelock/tidelock/internal/apply"
	"github.com/tidelock/tidelock/internal/desired"
	"github.com/tidelock/tidelock/internal/xds"
)

// eventsAtOnce is how many objects have an event of their own from one pass; the Sync tells of all.
const eventsAtOnce = 20

// happening is one event: what kubectl describe shows of an object, or of the instance's Sync where about is zero.
type happening struct {
	about        apply.Regarding
	reason, text string
}

// eventsOf are the events of a pass: what was not so before it. The Sync has at most one of each reason, whatever happened
// to how many objects; their texts are not yet free of what is secret.
func eventsOf(was, now standing, at time.Time) []happening {
	b := bulletin{plan: now.thought.plan, view: now.thought.view}
	if now.accepted.rev.Commit != was.accepted.rev.Commit {
		b.tell(apply.ReasonAccepted, now.accepted.rev.String()+" "+now.accepted.rev.Subject)
	}
	if newlyRefused(was, now) {
		reason := apply.ReasonRejected
		if errors.Is(now.refused.err, apply.ErrHeld) {
			reason = apply.ReasonPruneHeld
		}
		b.tell(reason, fmt.Sprintf("%s is refused: %s", now.refused.rev, now.refused.err))
	}
	if len(now.result.Pruned) > 0 {
		b.tell(apply.ReasonPruned, strings.Join(lines(now.result.Pruned), ", "))
	}
	b.objects(apply.ReasonCorrected, "put back", now.result.Corrected)
	b.objects(apply.ReasonReleased, "no longer ours", now.result.Released)
	b.objects(apply.ReasonContested, "somebody changes back again and again", beyond(now.result.Contested, was.result.Contested))
	b.failures(was.result.Failed, now.result.Failed)
	refused := b.refusals(was, now)
	if now.refused == nil && !refused && now.again != 1 && toldToGoOn(was) && now.stalled(at) {
		_, text := now.words(at)
		b.tell(apply.ReasonStalled, text)
		b.stalls(now, at)
	}
	if now.settled() && !toldReady(was, now.accepted) {
		sum, _ := counts(now)
		b.tell(apply.ReasonApplied, fmt.Sprintf("%s is live: %d created, %d changed, %d pruned, %d as they were",
			now.accepted.rev, sum.Created, sum.Changed, sum.Pruned, sum.Unchanged))
	}
	return append(b.sync, b.single...)
}

// bulletin collects the events of a pass: those of the Sync, and those of single objects.
type bulletin struct {
	plan         apply.Plan
	view         apply.View
	sync, single []happening
}

func (b *bulletin) tell(reason, text string) {
	b.sync = append(b.sync, happening{reason: reason, text: text})
}

// about adds an event of one object, as long as there may be more. What is not in the cluster has no event of its own.
func (b *bulletin) about(id desired.ID, reason, text string) {
	if len(b.single) == eventsAtOnce {
		return
	}
	if r := b.regarding(id); r.UID != "" {
		b.single = append(b.single, happening{about: r, reason: reason, text: text})
	}
}

func (b *bulletin) regarding(id desired.ID) apply.Regarding {
	if ch := b.change(id); ch != nil {
		return ch.Regarding()
	}
	r := apply.Regarding{ID: id, UID: b.view.Objects[id].UID}
	if id.Group == v1alpha1.Group {
		r.Version = v1alpha1.GroupVersion().Version
	}
	return r
}

// change is what the plan did to an object; nil where that is nothing.
func (b *bulletin) change(id desired.ID) *apply.Change {
	for _, list := range [][]apply.Change{b.plan.Writes, b.plan.Prunes} {
		if i := slices.IndexFunc(list, func(c apply.Change) bool { return c.ID == id }); i >= 0 {
			return &list[i]
		}
	}
	return nil
}

// objects tells what happened to several objects, on each for the reason that the plan has.
func (b *bulletin) objects(reason, text string, ids []desired.ID) {
	if len(ids) == 0 {
		return
	}
	b.tell(reason, text+": "+strings.Join(lines(ids), ", "))
	for _, id := range ids[:min(len(ids), eventsAtOnce)] {
		why := text
		if ch := b.change(id); ch != nil && ch.Reason != "" {
			why += ": " + ch.Reason
		}
		b.about(id, reason, why)
	}
}

// failures tells of objects that could not be written, or for another reason than before.
func (b *bulletin) failures(was, now []apply.Failure) {
	known := make(map[desired.ID]string, len(was))
	for _, f := range was {
		known[f.ID] = f.Err.Error()
	}
	fresh := slices.DeleteFunc(slices.Clone(now), func(f apply.Failure) bool { return known[f.ID] == f.Err.Error() })
	if len(fresh) == 0 {
		return
	}
	texts := make([]string, 0, min(len(fresh), remarkTexts))
	for _, f := range fresh[:min(len(fresh), remarkTexts)] {
		texts = append(texts, fmt.Sprintf("%s: %s: %v", f.Origin, f.ID, f.Err))
	}
	b.tell(apply.ReasonFailed, fmt.Sprintf("%d objects: %s", len(fresh), strings.Join(texts, "; ")))
	for _, f := range fresh[:min(len(fresh), eventsAtOnce)] {
		b.about(f.ID, apply.ReasonFailed, fmt.Sprintf("%v (%s)", f.Err, f.Origin))
	}
}

// refusals tells what proxies said that they had not said before, and reports whether there was any.
func (b *bulletin) refusals(was, now standing) bool {
	known := was.rejections()
	fresh := slices.DeleteFunc(now.rejections(), func(r xds.Rejection) bool { return slices.Contains(known, r) })
	if len(fresh) == 0 {
		return false
	}
	texts := make([]string, 0, len(fresh))
	for _, r := range fresh {
		texts = append(texts, fmt.Sprintf("proxy %s: %s", r.Node, r.Message))
	}
	b.tell(apply.ReasonProxyRejected, strings.Join(texts[:min(len(texts), remarkTexts)], "; "))
	for i := range now.thought.snapshots {
		for _, route := range refusedRoutes(now, &now.thought.snapshots[i]) {
			b.about(idOf(route.Source), apply.ReasonProxyRejected, fmt.Sprintf("%s (%s)", texts[0], route.Origin))
		}
	}
	return true
}

// stalls tells the resources whose routes wait for a backend for longer than they may.
func (b *bulletin) stalls(now standing, at time.Time) {
	overdue := now.overdue(at)
	for i := range now.thought.snapshots {
		snap := &now.thought.snapshots[i]
		held := slices.DeleteFunc(slices.Clone(snap.Held), func(w desired.Wait) bool { return !slices.Contains(overdue, w) })
		for _, route := range missing(inGroup(now.accepted.state.Routes, snap.Group), snap.InForce) {
			for _, text := range heldUntil(route, held) {
				b.about(idOf(route.Source), apply.ReasonStalled, text)
			}
		}
	}
}

// idOf is the resource of ours that routes come from.
func idOf(s desired.Source) desired.ID {
	return desired.ID{Group: v1alpha1.Group, Kind: s.Kind, Namespace: s.Namespace, Name: s.Name}
}

// beyond are those of now that were not before.
func beyond(now, was []desired.ID) []desired.ID {
	known := make(map[desired.ID]bool, len(was))
	for _, id := range was {
		known[id] = true
	}
	return slices.DeleteFunc(slices.Clone(now), func(id desired.ID) bool { return known[id] })
}

// toldReady reports whether the Sync says that a commit is live, or did when this life of the daemon began.
func toldReady(was standing, c commit) bool {
	ready := func(s *v1alpha1.SyncStatus) bool {
		return s != nil && s.Commit == c.rev.Commit && meta.IsStatusConditionTrue(s.Conditions, v1alpha1.ConditionReady)
	}
	return ready(was.told.sync) || ready(&was.before)
}

// toldToGoOn reports whether the Sync says that the instance is not stalled.
func toldToGoOn(was standing) bool {
	return was.told.sync != nil && meta.IsStatusConditionFalse(was.told.sync.Conditions, v1alpha1.ConditionStalled)
}
