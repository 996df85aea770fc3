package apply

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tidelock/tidelock/internal/desired"
)

func TestBrakesHoldWhatIsNotLikelyMeant(t *testing.T) {
	t.Parallel()
	plan := func(declared, deletes, owned int) Plan {
		p := Plan{Declared: declared, Owned: owned}
		for i := range deletes {
			p.Prunes = append(p.Prunes, Change{ID: desired.ID{Kind: "ConfigMap", Name: fmt.Sprint(i)}, Action: Delete})
		}
		return p
	}
	tests := map[string]struct {
		reason string
		plan   Plan
		brakes desired.Brakes
		want   string
	}{
		"empty":          {"a wrong path renders nothing", plan(0, 2, 2), desired.DefaultBrakes(), "would remove all 2 objects"},
		"empty, allowed": {"it was asked for", plan(0, 2, 2), desired.Brakes{AllowEmpty: true}, ""},
		"empty from the start": {
			"nothing is owned, so nothing is lost", plan(0, 0, 0), desired.DefaultBrakes(), "",
		},
		"ten of ten are few":  {"a share counts from eleven deletes", plan(1, 10, 11), desired.DefaultBrakes(), ""},
		"eleven of forty":     {"over 20 percent", plan(29, 11, 40), desired.DefaultBrakes(), "maxPercent is 20"},
		"eleven of a hundred": {"under 20 percent", plan(89, 11, 100), desired.DefaultBrakes(), ""},
		"fifty-one of a thousand": {
			"over maxDeletes", plan(949, 51, 1000), desired.DefaultBrakes(), "delete 51 of 1000 objects",
		},
		"approved": {
			"exactly this set was approved", plan(949, 51, 1000),
			desired.Brakes{MaxDeletes: 50, MaxPercent: 20, Approve: plan(949, 51, 1000).DeletesDigest()},
			"",
		},
		"another set approved": {
			"one delete more is another set", plan(949, 51, 1000),
			desired.Brakes{MaxDeletes: 50, MaxPercent: 20, Approve: plan(950, 50, 1000).DeletesDigest()},
			"prune.approve: " + plan(949, 51, 1000).DeletesDigest(),
		},
	}
	for name, tc := range tests {
		err := tc.plan.Check(tc.brakes)
		if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("%s: %s: got %v, want %q", name, tc.reason, err, tc.want)
		}
	}
}
