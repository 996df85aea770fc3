package reconcile

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/tidelock/tidelock/api/v1alpha1"
	"github.com/tidelock/tidelock/internal/apply"
	"github.com/tidelock/tidelock/internal/desired"
	"github.com/tidelock/tidelock/internal/xds"
)

func TestAnEventTellsWhatWasNotSoBefore(t *testing.T) {
	t.Parallel()
	at := noon()
	wait := desired.Wait{For: "route shop.example.com /", Until: "endpoints of shop/green/80"}
	goingOn := func() standing {
		s := standing{waits: []desired.Wait{wait}, since: map[desired.Wait]time.Time{wait: at.Add(-switchDeadline)}}
		s.told.sync = &v1alpha1.SyncStatus{Conditions: standing{}.conditions(at)}
		return s
	}
	fought := standing{result: apply.Result{Contested: []desired.ID{id("a")}}}
	refusing := standing{published: map[string]xds.Progress{"edge": {Rejections: []xds.Rejection{{Node: "edge-1", Message: "no such filter"}}}}}
	fails := func(text string) standing {
		failed := apply.Failure{ID: id("a"), Origin: desired.Origin{Path: "a.yaml", Line: 1}, Err: errors.New(text)}
		return standing{result: apply.Result{Failed: []apply.Failure{failed}}, thought: thoughtOver("a")}
	}
	live := standing{accepted: commit{rev: desired.Revision{Commit: "c1"}}}
	toldLive := live
	toldLive.told.sync = &v1alpha1.SyncStatus{Commit: "c1", Conditions: live.conditions(at)}
	drifted := standing{result: apply.Result{Corrected: []desired.ID{id("a"), id("gone")}}, thought: thoughtOver("a")}
	held := live
	held.refused = &refusal{err: fmt.Errorf("%w: 60 of 100", apply.ErrHeld)}
	stalled := goingOn()
	stalled.told.sync = &v1alpha1.SyncStatus{Conditions: goingOn().conditions(at)}
	tests := map[string]struct {
		reason   string
		was, now standing
		want     []string
	}{
		"nothing happened": {reason: "an event is news"},
		"a fight began":    {"somebody should look", standing{}, fought, []string{apply.ReasonContested}},
		"a fight goes on":  {"it was told", fought, fought, nil},
		"an object failed": {"also the object is told, where it is there", standing{}, fails("no"), []string{apply.ReasonFailed, apply.ReasonFailed + " ConfigMap a"}},
		"it fails again":   {"it was told", fails("no"), fails("no"), nil},
		"it fails in another way": {
			"the reason is what somebody mends", fails("no"), fails("never"), []string{apply.ReasonFailed, apply.ReasonFailed + " ConfigMap a"},
		},
		"drift was put back":     {"who looks at the object sees it", standing{}, drifted, []string{apply.ReasonCorrected, apply.ReasonCorrected + " ConfigMap a"}},
		"a brake held a commit":  {"another mend than a refusal's: a digest", live, held, []string{apply.ReasonPruneHeld}},
		"a commit went live":     {"what people wait for", live, live, []string{apply.ReasonApplied}},
		"it is live still":       {"it was told", toldLive, live, nil},
		"a proxy refused":        {"its traffic is not as the commit says", standing{}, refusing, []string{apply.ReasonProxyRejected}},
		"a proxy refuses still":  {"it was told", refusing, refusing, nil},
		"a wait became too long": {"somebody has to mend something", goingOn(), goingOn(), []string{apply.ReasonStalled}},
		"it is stalled still":    {"it was told", stalled, goingOn(), nil},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, h := range eventsOf(tc.was, tc.now, at) {
				got = append(got, strings.TrimSuffix(h.reason+" "+h.about.Kind+" "+h.about.Name, "  "))
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// thoughtOver is a thought for which objects are in the cluster.
func thoughtOver(names ...string) thought {
	t := thought{view: apply.View{Objects: map[desired.ID]apply.Live{}}}
	for _, name := range names {
		t.view.Objects[id(name)] = apply.Live{ID: id(name), UID: types.UID(name)}
	}
	return t
}

func TestOnePassTellsABoundedNumberOfObjects(t *testing.T) {
	t.Parallel()
	var names []string
	var ids []desired.ID
	for i := range 10 * eventsAtOnce {
		names = append(names, fmt.Sprintf("a%d", i))
		ids = append(ids, id(names[i]))
	}
	now := standing{result: apply.Result{Corrected: ids, Released: ids}, thought: thoughtOver(names...)}
	if got := eventsOf(standing{}, now, noon()); len(got) != 2+eventsAtOnce {
		t.Errorf("%d events, want one for each of two reasons on the Sync and %d on objects", len(got), eventsAtOnce)
	}
}
