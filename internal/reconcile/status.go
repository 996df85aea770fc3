package reconcile

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/tidelock/tidelock/api/v1alpha1"
	"github.com/tidelock/tidelock/internal/apply"
	"github.com/tidelock/tidelock/internal/desired"
	"github.com/tidelock/tidelock/internal/schedule"
	"github.com/tidelock/tidelock/internal/xds"
)

// statuses is what each resource of ours shows of itself.
func (l *Loop) statuses(now standing) map[desired.ID]toldOf {
	remarks := l.remarks(now)
	entries := l.Cluster.Inventory().Entries
	out := map[desired.ID]toldOf{}
	for i := range now.accepted.state.Objects {
		o := &now.accepted.state.Objects[i]
		if o.Group != v1alpha1.Group {
			continue
		}
		if s, known := l.statusOf(now, o, entries[o.ID], remarks); known {
			out[o.ID] = s
		}
	}
	return out
}

// statusOf is what one resource of ours shows of itself; false where that is not known: what was reported before stays.
func (l *Loop) statusOf(now standing, o *desired.Object, entry apply.Entry, remarks map[desired.Source]remark) (toldOf, bool) {
	standing, known := l.runsOf(o)
	if !known || entry.UID == "" {
		return toldOf{}, false
	}
	remark := remarks[desired.Source{Kind: o.Kind, Key: desired.Key{Namespace: o.Namespace, Name: o.Name}}]
	message := bounded(strings.Join(remark.texts, "; "))
	status := apply.ObjectStatus{ID: o.ID, Status: l.specific(now.accepted, o, standing, v1alpha1.Status{
		Phase:              remark.phase(),
		Message:            message,
		Commit:             entry.Commit,
		ObservedGeneration: now.thought.view.Objects[o.ID].Generation,
		Conditions: []metav1.Condition{
			condition(v1alpha1.ConditionReady, len(remark.texts) == 0, remark.phase(), message),
		},
	})}
	return toldOf{uid: string(entry.UID), status: status}, true
}

// newStatuses are those that are not as they were told last, by ID.
func newStatuses(told, now map[desired.ID]toldOf) []apply.ObjectStatus {
	var out []apply.ObjectStatus
	for id, s := range now {
		if old, ok := told[id]; !ok || !reflect.DeepEqual(old, s) {
			out = append(out, s.status)
		}
	}
	slices.SortFunc(out, func(a, b apply.ObjectStatus) int { return a.Compare(b.ID) })
	return out
}

// specific adds what one kind shows beside the rest.
func (l *Loop) specific(c commit, o *desired.Object, standing schedule.Standing, s v1alpha1.Status) any {
	switch o.Kind {
	case v1alpha1.KindTrafficSplit:
		return splitStatus(s, c.splitOf(o), c.asOf)
	case v1alpha1.KindProxyRoute:
		return v1alpha1.ProxyRouteStatus{Status: s, Hosts: hosts(o.Content)}
	case v1alpha1.KindAt:
		return l.atStatus(standing, s)
	default:
		return s
	}
}

// splitStatus adds the weights in force, and when they change next.
func splitStatus(s v1alpha1.Status, split desired.Split, asOf time.Time) v1alpha1.TrafficSplitStatus {
	out := v1alpha1.TrafficSplitStatus{Status: s, Weights: split.String()}
	if at, weights := split.Next(asOf); !at.IsZero() {
		out.NextStep, out.NextWeights = &metav1.Time{Time: at.UTC()}, weights
	}
	return out
}

// hosts are those of a route, as far as a column goes.
func hosts(route *unstructured.Unstructured) string {
	switch list, _, _ := unstructured.NestedStringSlice(route.Object, "spec", "hosts"); len(list) {
	case 0:
		return desired.AnyHost
	case 1:
		return list[0]
	default:
		return list[0] + " " + more(len(list)-1)
	}
}

// splitOf returns the split of an object; they are sorted alike.
func (c commit) splitOf(o *desired.Object) desired.Split {
	key := desired.Key{Namespace: o.Namespace, Name: o.Name}
	i, ok := slices.BinarySearchFunc(c.state.Splits, key, func(s desired.Split, k desired.Key) int { return s.Compare(k) })
	if !ok {
		return desired.Split{}
	}
	return c.state.Splits[i]
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

// remarkTexts bounds how many texts a resource shows.
const remarkTexts = 5

// remarks are what there is to say about each resource of ours: which of its objects could not be written, what a proxy
// said against its routes, and what these wait for.
type remarks struct {
	hide func(string) string
	by   map[desired.Source]remark
}

func (l *Loop) remarks(now standing) map[desired.Source]remark {
	out := remarks{hide: l.hide, by: map[desired.Source]remark{}}
	out.failures(now)
	for i := range now.thought.snapshots {
		snap := &now.thought.snapshots[i]
		out.refusals(now, snap)
		out.held(now, snap)
		for _, n := range snap.Notes {
			out.say(n.Source, false, n.Text)
		}
	}
	return out.by
}

func (rs remarks) say(s desired.Source, failed bool, text string) {
	r := rs.by[s]
	text = rs.hide(text)
	r.failed = r.failed || failed
	if len(r.texts) < remarkTexts && !slices.Contains(r.texts, text) {
		r.texts = append(r.texts, text)
	}
	rs.by[s] = r
}

func (rs remarks) failures(now standing) {
	if len(now.result.Failed) == 0 {
		return
	}
	sources := sourcesOf(now.accepted.state.Objects)
	for _, f := range now.result.Failed {
		s, ok := sources[f.ID]
		if !ok {
			s = desired.Source{Kind: f.Kind, Key: desired.Key{Namespace: f.Namespace, Name: f.Name}}
		}
		rs.say(s, true, f.Err.Error())
	}
}

func (rs remarks) refusals(now standing, snap *xds.Snapshot) {
	routes := refusedRoutes(now, snap)
	for _, r := range now.published[snap.Group].Rejections {
		for _, route := range routes {
			rs.say(route.Source, true, fmt.Sprintf("proxy %s refused: %s (%s)", r.Node, r.Message, route.Origin))
		}
	}
}

func (rs remarks) held(now standing, snap *xds.Snapshot) {
	if len(snap.Held) == 0 {
		return
	}
	for _, route := range missing(inGroup(now.accepted.state.Routes, snap.Group), snap.InForce) {
		for _, text := range heldUntil(route, snap.Held) {
			rs.say(route.Source, false, text)
		}
	}
}

// refusedRoutes are the routes that the rejections of a group are about: those that were new, or, where there is nothing to
// go back to, all. What one proxy alone refuses says nothing about a route.
func refusedRoutes(now standing, snap *xds.Snapshot) []*desired.Route {
	p := now.published[snap.Group]
	switch {
	case len(p.Rejections) == 0 || p.Settled:
		return nil
	case p.Reverted:
		return missing(snap.InForce, now.live[snap.Group])
	case len(p.Waits) > 0:
		return nil
	}
	return missing(snap.InForce, nil)
}

// sourcesOf are the resources of ours that objects were generated from, by object.
func sourcesOf(objects []desired.Object) map[desired.ID]desired.Source {
	out := map[desired.ID]desired.Source{}
	for i := range objects {
		if objects[i].Source != (desired.Source{}) {
			out[objects[i].ID] = objects[i].Source
		}
	}
	return out
}
