package reconcile

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/tidelock/tidelock/api/v1alpha1"
	"github.com/tidelock/tidelock/internal/apply"
	"github.com/tidelock/tidelock/internal/desired"
)

// happening is one event: what kubectl describe shows of the instance.
type happening struct{ reason, text string }

// eventsOf are the events of a pass: what was not so before it. There is at most one of each reason, whatever happened to
// how many objects; their texts are not yet free of what is secret.
func eventsOf(was, now standing, at time.Time) []happening {
	var out []happening
	tell := func(reason, text string) { out = append(out, happening{reason, text}) }
	if now.accepted.rev.Commit != was.accepted.rev.Commit {
		tell(apply.ReasonAccepted, now.accepted.rev.String()+" "+now.accepted.rev.Subject)
	}
	if newlyRefused(was, now) {
		tell(apply.ReasonRejected, fmt.Sprintf("%s is refused: %s", now.refused.rev, now.refused.err))
	}
	if len(now.result.Pruned) > 0 {
		tell(apply.ReasonPruned, strings.Join(lines(now.result.Pruned), ", "))
	}
	contested := slices.DeleteFunc(slices.Clone(now.result.Contested), func(id desired.ID) bool {
		return slices.Contains(was.result.Contested, id)
	})
	if len(contested) > 0 {
		tell(apply.ReasonContested, "somebody changes back again and again: "+strings.Join(lines(contested), ", "))
	}
	var refused []string
	known := was.rejections()
	for _, r := range now.rejections() {
		if !slices.Contains(known, r) {
			refused = append(refused, fmt.Sprintf("proxy %s: %s", r.Node, r.Message))
		}
	}
	if len(refused) > 0 {
		tell(apply.ReasonProxyRejected, strings.Join(refused[:min(len(refused), remarkTexts)], "; "))
	}
	if now.refused == nil && len(refused) == 0 && now.again != 1 && toldToGoOn(was) && now.stalled(at) {
		_, text := now.words(at)
		tell(apply.ReasonStalled, text)
	}
	return out
}

// toldToGoOn reports whether the Sync says that the instance is not stalled.
func toldToGoOn(was standing) bool {
	return was.told.sync != nil && meta.IsStatusConditionFalse(was.told.sync.Conditions, v1alpha1.ConditionStalled)
}
