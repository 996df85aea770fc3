package reconcile

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/tidelock/tidelock/api/v1alpha1"
	"github.com/tidelock/tidelock/internal/apply"
	"github.com/tidelock/tidelock/internal/desired"
)

// tally is what was done for one commit, by the name of each kind; only Created, Changed and Pruned are set.
type tally map[string]v1alpha1.Counts

// kindName is how texts begin that are about an object: "Deployment", "Gizmo.example.dev".
func kindName(text string) string {
	name, _, _ := strings.Cut(text, " ")
	return name
}

// kindsOf counts a commit's objects by kind.
func kindsOf(objects []desired.Object) map[string]int {
	out := map[string]int{}
	for i := range objects {
		out[kindName(objects[i].String())]++
	}
	return out
}

// with returns the tally after another pass for the same commit. What somebody had changed and was put back is left out.
func (t tally) with(res apply.Result) tally {
	if len(res.Created)+len(res.Changed)+len(res.Pruned) == 0 {
		return t
	}
	out := maps.Clone(t)
	if out == nil {
		out = tally{}
	}
	corrected := make(map[desired.ID]bool, len(res.Corrected))
	for _, id := range res.Corrected {
		corrected[id] = true
	}
	add := func(ids []desired.ID, count func(*v1alpha1.Counts)) {
		for _, id := range ids {
			if !corrected[id] {
				c := out[kindName(id.String())]
				count(&c)
				out[kindName(id.String())] = c
			}
		}
	}
	add(res.Created, func(c *v1alpha1.Counts) { c.Created++ })
	add(res.Changed, func(c *v1alpha1.Counts) { c.Changed++ })
	add(res.Pruned, func(c *v1alpha1.Counts) { c.Pruned++ })
	return out
}

// tallyOf is what an earlier life of the daemon had done for the commit on record.
func tallyOf(before v1alpha1.SyncStatus) tally {
	out := tally{}
	for _, k := range before.Kinds {
		if n := (v1alpha1.Counts{Created: k.Created, Changed: k.Changed, Pruned: k.Pruned}); n != (v1alpha1.Counts{}) {
			out[k.Kind] = n
		}
	}
	return out
}

// statusKinds bounds the kinds that a status lists; the rest are others.
const (
	statusKinds = 40
	otherKinds  = "others"
)

// counts are those of the accepted commit's objects, in all and by kind.
func counts(now standing) (v1alpha1.Counts, []v1alpha1.KindCounts) {
	by := maps.Clone(now.done)
	if by == nil {
		by = tally{}
	}
	count := func(kind string, add func(*v1alpha1.Counts)) {
		c := by[kind]
		add(&c)
		by[kind] = c
	}
	for _, f := range now.result.Failed {
		count(kindName(f.String()), func(c *v1alpha1.Counts) { c.Failed++ })
	}
	for _, w := range now.waits {
		if kind := kindName(w.For); now.accepted.kinds[kind] > 0 {
			count(kind, func(c *v1alpha1.Counts) { c.Waiting++ })
		}
	}
	for kind, n := range now.accepted.kinds {
		count(kind, func(c *v1alpha1.Counts) {
			c.Unchanged = max(0, int32(min(n, 1<<30))-c.Created-c.Changed-c.Failed-c.Waiting) //nolint:gosec // bounded
		})
	}
	var sum v1alpha1.Counts
	kinds := make([]v1alpha1.KindCounts, 0, len(by))
	for _, kind := range slices.Sorted(maps.Keys(by)) {
		sum = plus(sum, by[kind])
		kinds = append(kinds, v1alpha1.KindCounts{Kind: kind, Counts: by[kind]})
	}
	// Routes, proxies and the prune are waited for, too.
	sum.Waiting = int32(min(len(now.waits), 1<<30))
	return sum, atMost(kinds)
}

// atMost folds what is over the bound into one line.
func atMost(kinds []v1alpha1.KindCounts) []v1alpha1.KindCounts {
	if len(kinds) <= statusKinds {
		return kinds
	}
	rest := v1alpha1.KindCounts{Kind: otherKinds}
	for _, k := range kinds[statusKinds:] {
		rest.Counts = plus(rest.Counts, k.Counts)
	}
	return append(kinds[:statusKinds:statusKinds], rest)
}

func plus(a, b v1alpha1.Counts) v1alpha1.Counts {
	return v1alpha1.Counts{
		Created: a.Created + b.Created, Changed: a.Changed + b.Changed, Unchanged: a.Unchanged + b.Unchanged,
		Failed: a.Failed + b.Failed, Waiting: a.Waiting + b.Waiting, Pruned: a.Pruned + b.Pruned,
	}
}

// drifted returns the record of corrections after those of another pass.
func drifted(was *v1alpha1.Drift, corrected []desired.ID, at time.Time) *v1alpha1.Drift {
	if len(corrected) == 0 {
		return was
	}
	now := v1alpha1.Drift{Corrected: int64(len(corrected)), Last: metav1.NewTime(at), Objects: lines(corrected)}
	if was != nil {
		now.Corrected += was.Corrected
	}
	return &now
}

// waiting are the waits of a status, with when each began.
func waiting(now standing, at time.Time) []v1alpha1.Wait {
	out := make([]v1alpha1.Wait, 0, min(len(now.waits), statusLines))
	for _, w := range now.waits[:min(len(now.waits), statusLines)] {
		out = append(out, v1alpha1.Wait{For: w.For, Until: w.Until, Since: metav1.NewTime(began(now.shown, w, at))})
	}
	return out
}

// shownSince is since for the eyes of users: a restart of the daemon does not begin a wait anew. Before the cluster has
// been looked at nothing is known of the waits of before, so they are not forgotten.
func shownSince(was map[desired.Wait]time.Time, out outcome, waits []desired.Wait, at time.Time) map[desired.Wait]time.Time {
	now := since(was, waits, at)
	if len(out.want.snapshots) == 0 && len(was) > 0 {
		old := maps.Clone(was)
		maps.Copy(old, now)
		return old
	}
	return now
}

// waitsOf are the waits that an earlier life of the daemon reported.
func waitsOf(before v1alpha1.SyncStatus) map[desired.Wait]time.Time {
	out := make(map[desired.Wait]time.Time, len(before.Waiting))
	for _, w := range before.Waiting {
		out[desired.Wait{For: w.For, Until: w.Until}] = w.Since.Time
	}
	return out
}

// warnings are what stops nothing and somebody should know: those of the commit, proxy groups that nobody belongs to, and
// what is kept for older pods.
func warnings(c commit, connected []v1alpha1.ProxyStatus, kept []desired.Wait) []string {
	var out []string
	for _, w := range kept {
		out = append(out, fmt.Sprintf("%s left the repository and is kept: older pods may need it, and it waits for %s", w.For, w.Until))
	}
	for _, group := range c.groups {
		if slices.ContainsFunc(connected, func(p v1alpha1.ProxyStatus) bool { return p.Group == group }) {
			continue
		}
		i := slices.IndexFunc(c.state.Routes, func(r desired.Route) bool { return slices.Contains(r.Proxies, group) })
		out = append(out, desired.Problem{
			Origin: c.state.Routes[i].Origin, Object: c.state.Routes[i].Source.String(), Field: "spec.proxies",
			Text: "no proxy of group " + group + " is connected: tidelock xds bootstrap --group " + group,
		}.Error())
	}
	for _, w := range c.state.Warnings {
		out = append(out, w.Error())
	}
	if n := len(out) - statusLines; n > 0 {
		out = append(out[:statusLines:statusLines], more(n))
	}
	return out
}

// byGroup orders proxies by group and node.
func byGroup(a, b v1alpha1.ProxyStatus) int {
	return cmp.Or(strings.Compare(a.Group, b.Group), strings.Compare(a.Node, b.Node))
}
