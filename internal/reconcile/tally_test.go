package reconcile

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/tidelock/tidelock/api/v1alpha1"
	"github.com/tidelock/tidelock/internal/apply"
	"github.com/tidelock/tidelock/internal/desired"
	"github.com/tidelock/tidelock/internal/xds"
)

func TestCountsSayWhatWasDoneForTheCommitAndHowItsObjectsAre(t *testing.T) {
	t.Parallel()
	ids := func(names ...string) []desired.ID {
		var out []desired.ID
		for _, n := range names {
			out = append(out, id(n))
		}
		return out
	}
	two := commitOf("a")
	two.kinds = map[string]int{"ConfigMap": 4, "Service": 2}
	for name, tc := range map[string]struct {
		reason string
		now    standing
		want   map[string]v1alpha1.Counts
		sum    v1alpha1.Counts
	}{
		"several passes": {
			"a commit is in after a pass that writes and another that prunes; they add up",
			standing{accepted: two, done: tally{}.
				with(apply.Result{Created: ids("a"), Changed: ids("b")}).with(apply.Result{Pruned: ids("old")})},
			map[string]v1alpha1.Counts{"ConfigMap": {Created: 1, Changed: 1, Unchanged: 2, Pruned: 1}, "Service": {Unchanged: 2}},
			v1alpha1.Counts{Created: 1, Changed: 1, Unchanged: 4, Pruned: 1},
		},
		"drift": {
			"what somebody changed is not the commit's doing",
			standing{accepted: two, done: tally{}.
				with(apply.Result{Created: ids("a"), Changed: ids("b", "c"), Corrected: ids("a", "b")})},
			map[string]v1alpha1.Counts{"ConfigMap": {Changed: 1, Unchanged: 3}, "Service": {Unchanged: 2}},
			v1alpha1.Counts{Changed: 1, Unchanged: 5},
		},
		"outstanding": {
			"an object that failed or waits is not unchanged, and a route's wait is no object's",
			standing{
				accepted: two, result: apply.Result{Failed: []apply.Failure{{ID: id("a")}}},
				waits: []desired.Wait{{For: "Service shop/web", Until: "x"}, {For: "route shop.example.com /", Until: "y"}},
			},
			map[string]v1alpha1.Counts{"ConfigMap": {Failed: 1, Unchanged: 3}, "Service": {Waiting: 1, Unchanged: 1}},
			v1alpha1.Counts{Failed: 1, Waiting: 2, Unchanged: 4},
		},
		"after a restart": {
			"what was done for the commit on record stays on record",
			standing{accepted: two, done: tallyOf(v1alpha1.SyncStatus{Kinds: []v1alpha1.KindCounts{
				{Kind: "ConfigMap", Counts: v1alpha1.Counts{Created: 3, Unchanged: 1, Failed: 9}}, {Kind: "Service"},
			}})},
			map[string]v1alpha1.Counts{"ConfigMap": {Created: 3, Unchanged: 1}, "Service": {Unchanged: 2}},
			v1alpha1.Counts{Created: 3, Unchanged: 3},
		},
	} {
		sum, kinds := counts(tc.now)
		got := map[string]v1alpha1.Counts{}
		for _, k := range kinds {
			got[k.Kind] = k.Counts
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s: %s (-want +got):\n%s", name, tc.reason, diff)
		}
		if diff := cmp.Diff(tc.sum, sum); diff != "" {
			t.Errorf("%s: %s: in all (-want +got):\n%s", name, tc.reason, diff)
		}
	}
}

func TestAStatusOfManyKindsIsBounded(t *testing.T) {
	t.Parallel()
	c := commitOf("a")
	c.kinds = map[string]int{}
	for i := range 3 * statusKinds {
		c.kinds[fmt.Sprintf("Kind%03d.example.com", i)] = 2
	}
	sum, kinds := counts(standing{accepted: c})
	last := kinds[len(kinds)-1]
	if len(kinds) != statusKinds+1 || last.Kind != otherKinds || last.Unchanged != 4*statusKinds || sum.Unchanged != 6*statusKinds {
		t.Errorf("%d kinds, the last %+v, in all %+v", len(kinds), last, sum)
	}
}

func TestProxiesOfAStatusAreBounded(t *testing.T) {
	t.Parallel()
	many := make([]xds.Proxy, 3*statusProxies)
	for i := range many {
		many[i] = xds.Proxy{Node: fmt.Sprint(i), Group: "edge", State: xds.Rejected, Message: strings.Repeat("no ", 1000)}
	}
	size := 0
	got := proxies(many, standing{}, noon())
	for _, p := range got {
		size += len(p.Node) + len(p.Group) + len(p.State) + len(p.Message)
	}
	if len(got) != statusProxies || size > 700<<10 {
		t.Errorf("%d proxies, %d bytes: the API server takes 1.5 MB", len(got), size)
	}
}

func TestDriftAddsUpAcrossRestarts(t *testing.T) {
	t.Parallel()
	at := noon()
	was := &v1alpha1.Drift{Corrected: 41, Last: metav1.NewTime(at.Add(-time.Hour)), Objects: []string{"ConfigMap shop/old"}}
	if got := drifted(was, nil, at); got != was {
		t.Errorf("a pass that put nothing back changes the record: %+v", got)
	}
	want := &v1alpha1.Drift{Corrected: 42, Last: metav1.NewTime(at), Objects: []string{"ConfigMap shop/a"}}
	if diff := cmp.Diff(want, drifted(was, []desired.ID{id("a")}, at)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAWaitIsShownSinceItBeganAlsoAfterARestart(t *testing.T) {
	t.Parallel()
	at := noon()
	long := desired.Wait{For: "route shop.example.com /", Until: "endpoints of shop/cart/8080"}
	before := v1alpha1.SyncStatus{Waiting: []v1alpha1.Wait{
		{For: long.For, Until: long.Until, Since: metav1.NewTime(at.Add(-72 * time.Hour))},
		{For: "prune", Until: "the switch", Since: metav1.NewTime(at.Add(-time.Hour))},
	}}
	blind := desired.Wait{For: "main@abc", Until: "the API server to list endpoints"}
	shown := shownSince(waitsOf(before), outcome{}, []desired.Wait{blind}, at)
	sighted := outcome{want: thought{snapshots: []xds.Snapshot{{}}}}
	shown = shownSince(shown, sighted, []desired.Wait{long}, at.Add(time.Second))
	got := waiting(standing{waits: []desired.Wait{long}, shown: shown}, at.Add(time.Minute))
	if diff := cmp.Diff(before.Waiting[:1], got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(shown) != 1 {
		t.Errorf("what is over is remembered: %v", shown)
	}
}

func TestAProxyGroupThatNobodyBelongsToIsAWarning(t *testing.T) {
	t.Parallel()
	c := commitOf("a")
	c.state.Routes = []desired.Route{
		{Source: desired.Source{Kind: "ProxyRoute", Key: desired.Key{Namespace: "shop", Name: "all"}}},
		{
			Source:  desired.Source{Kind: "ProxyRoute", Key: desired.Key{Namespace: "shop", Name: "web"}},
			Origin:  desired.Origin{Path: "web.yaml", Line: 3},
			Proxies: []string{"edg", "edge"},
		},
	}
	c.groups = named(c.state.Routes)
	c.state.Warnings = []desired.Problem{{Origin: desired.Origin{Path: "kustomization.yaml"}, Text: "old"}}
	kept := []desired.Wait{{For: "ConfigMap shop/one", Until: "Deployment shop/web to be resumed: it is paused"}}
	want := []string{
		"ConfigMap shop/one left the repository and is kept: older pods may need it, and it waits for Deployment shop/web to be " +
			"resumed: it is paused",
		"web.yaml:3: ProxyRoute shop/web: spec.proxies: no proxy of group edg is connected: tidelock xds bootstrap --group edg",
		"kustomization.yaml: old",
	}
	if diff := cmp.Diff(want, warnings(c, []v1alpha1.ProxyStatus{{Node: "edge-1", Group: "edge"}}, kept)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	c.state.Warnings = make([]desired.Problem, 100)
	if got := warnings(c, nil, nil); len(got) != statusLines+1 || got[statusLines] != "and 82 more" {
		t.Errorf("%d warnings, the last %q", len(got), got[len(got)-1])
	}
}
