package reconcile

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

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
	stalled := goingOn()
	stalled.told.sync = &v1alpha1.SyncStatus{Conditions: goingOn().conditions(at)}
	tests := map[string]struct {
		reason   string
		was, now standing
		want     []string
	}{
		"nothing happened":       {reason: "an event is news"},
		"a fight began":          {"somebody should look", standing{}, fought, []string{apply.ReasonContested}},
		"a fight goes on":        {"it was told", fought, fought, nil},
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
				got = append(got, h.reason)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}
