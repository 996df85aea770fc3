package reconcile

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/tidelock/tidelock/api/v1alpha1"
	"github.com/tidelock/tidelock/internal/apply"
	"github.com/tidelock/tidelock/internal/desired"
)

// statuses is what each resource of ours shows of itself.
func (l *Loop) statuses(now standing) []apply.ObjectStatus {
	remarks := l.remarks(now)
	entries := l.Cluster.Inventory().Entries
	var out []apply.ObjectStatus
	for i := range now.accepted.state.Objects {
		o := &now.accepted.state.Objects[i]
		entry, owned := entries[o.ID]
		if o.Group != v1alpha1.Group || !owned || entry.UID == "" {
			continue
		}
		remark := remarks[desired.Source{Kind: o.Kind, Key: desired.Key{Namespace: o.Namespace, Name: o.Name}}]
		out = append(out, apply.ObjectStatus{ID: o.ID, Status: specific(o, v1alpha1.Status{
			Phase:              remark.phase(),
			Message:            strings.Join(remark.texts, "; "),
			Commit:             entry.Commit,
			ObservedGeneration: now.thought.view.Objects[o.ID].Generation,
			Conditions:         []metav1.Condition{remark.ready()},
		})})
	}
	return out
}

// specific adds what one kind shows beside the rest.
func specific(o *desired.Object, s v1alpha1.Status) any {
	switch o.Kind {
	case v1alpha1.KindTrafficSplit:
		return v1alpha1.TrafficSplitStatus{Status: s, Weights: weights(o.Content)}
	case v1alpha1.KindAt:
		if s.Phase == v1alpha1.PhaseLive {
			s.Phase = v1alpha1.AtPending
		}
		return v1alpha1.AtStatus{Status: s}
	default:
		return s
	}
}

// weights are those in force, as "stable=90 canary=10".
func weights(split *unstructured.Unstructured) string {
	targets, _, _ := unstructured.NestedSlice(split.Object, "spec", "targets")
	var parts []string
	for _, t := range targets {
		target, ok := t.(map[string]any)
		if !ok {
			continue
		}
		weight := any(1)
		if w, ok := target["weight"]; ok {
			weight = w
		}
		parts = append(parts, fmt.Sprintf("%v=%v", target["name"], weight))
	}
	return strings.Join(parts, " ")
}

// remark is what there is to say about one resource of ours.
type remark struct {
	failed bool
	texts  []string
}

func (r remark) phase() string {
	switch {
	case r.failed:
		return v1alpha1.PhaseFailed
	case len(r.texts) > 0:
		return v1alpha1.PhaseWaiting
	default:
		return v1alpha1.PhaseLive
	}
}

func (r remark) ready() metav1.Condition {
	c := metav1.Condition{
		Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse,
		Reason: r.phase(), Message: strings.Join(r.texts, "; "),
	}
	if len(r.texts) == 0 {
		c.Status = metav1.ConditionTrue
	}
	return c
}

// remarks collects, by resource of ours: what its routes wait for, what a proxy said against them, and which of its objects
// could not be written.
func (l *Loop) remarks(now standing) map[desired.Source]remark {
	out := map[desired.Source]remark{}
	say := func(s desired.Source, failed bool, text string) {
		r := out[s]
		r.failed = r.failed || failed
		if !slices.Contains(r.texts, text) {
			r.texts = append(r.texts, l.hide(text))
		}
		out[s] = r
	}
	for _, snap := range now.thought.snapshots {
		for _, n := range snap.Notes {
			say(n.Source, false, n.Text)
		}
		for _, r := range now.published[snap.Group].Rejections {
			for _, route := range notLive(now.live[snap.Group], now.accepted.state.Routes) {
				say(route.Source, true, fmt.Sprintf("proxy %s refused: %s (%s)", r.Node, r.Message, route.Origin))
			}
		}
	}
	for _, f := range now.result.Failed {
		say(sourceOf(now.accepted.state.Objects, f.ID), true, f.Err.Error())
	}
	return out
}

// notLive are the routes of a commit that are not among those in force: the ones that a proxy's refusal is about.
func notLive(live, want []desired.Route) []*desired.Route {
	var out []*desired.Route
	for i := range want {
		same := func(r desired.Route) bool {
			return r.Source == want[i].Source && r.Rule == want[i].Rule && reflect.DeepEqual(r, want[i])
		}
		if !slices.ContainsFunc(live, same) {
			out = append(out, &want[i])
		}
	}
	return out
}

// sourceOf is the resource of ours that an object comes from: itself, or what it was generated from.
func sourceOf(objects []desired.Object, id desired.ID) desired.Source {
	for i := range objects {
		if objects[i].ID == id && objects[i].Source != (desired.Source{}) {
			return objects[i].Source
		}
	}
	return desired.Source{Kind: id.Kind, Key: desired.Key{Namespace: id.Namespace, Name: id.Name}}
}
