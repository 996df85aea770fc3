package reconcile

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/tidelock/tidelock/api/v1alpha1"
	"github.com/tidelock/tidelock/internal/apply"
	"github.com/tidelock/tidelock/internal/desired"
	"github.com/tidelock/tidelock/internal/source"
	"github.com/tidelock/tidelock/internal/xds"
)

// giveUpAfter is how often in a row a write may fail before one that is made only once is said not to succeed.
const giveUpAfter = 6

// settled reports whether nothing is left to do.
func (s standing) settled() bool {
	return s.accepted.known() && s.refused == nil && s.unknown == nil && s.unchecked == nil && s.trouble == nil &&
		len(s.waits) == 0 && len(s.result.Failed) == 0 && len(s.rejections()) == 0 && s.again == 0
}

// rejections are what proxies said against what is published now, by group.
func (s standing) rejections() []xds.Rejection {
	var out []xds.Rejection
	for _, group := range slices.Sorted(maps.Keys(s.published)) {
		out = append(out, s.published[group].Rejections...)
	}
	return out
}

// verdict is why the newest commit will not come in by itself.
func (s standing) verdict() error {
	switch {
	case s.refused != nil:
		return fmt.Errorf("%s is refused:\n%w", s.refused.rev, s.refused.err)
	case errors.Is(s.unknown, errNoAnswer):
		return nil
	case s.unknown != nil:
		return s.unknown
	case s.writing.tries >= giveUpAfter || s.pruning.tries >= giveUpAfter || s.owned():
		var errs []error
		for _, f := range s.result.Failed {
			errs = append(errs, fmt.Errorf("%s: %s: %w", f.Origin, f.ID, f.Err))
		}
		return errors.Join(errs...)
	case s.again == 0 && len(s.unserved) > 0 && len(s.waits) == 1 && s.waits[0].For == "prune":
		return fmt.Errorf("%s is in, and nothing was deleted: %s", s.accepted.rev, s.waits[0])
	default:
		return nil
	}
}

// owned reports whether nothing fails but what others own: that does not mend itself.
func (s standing) owned() bool {
	return s.again == 0 && len(s.result.Failed) > 0 && !slices.ContainsFunc(s.result.Failed, func(f apply.Failure) bool {
		return !errors.Is(f.Err, apply.ErrOwned)
	})
}

// overdue are the waits that have gone on for longer than they may.
func (s standing) overdue(at time.Time) []desired.Wait {
	var out []desired.Wait
	for _, w := range s.waits {
		if at.Sub(began(s.since, w, at)) >= switchDeadline {
			out = append(out, w)
		}
	}
	return out
}

// stalled reports whether the instance can go on only if somebody mends something.
func (s standing) stalled(at time.Time) bool {
	return s.refused != nil || len(s.overdue(at)) > 0 || len(s.rejections()) > 0 ||
		errors.Is(s.unknown, source.ErrUnknownRef) || errors.Is(s.unknown, source.ErrUnknownCommit)
}

// conditions are Ready, Reconciling and Stalled, as kstatus reads them.
func (s standing) conditions(at time.Time) []metav1.Condition {
	reason, message := s.words(at)
	ready, stalled := s.settled(), s.stalled(at)
	return []metav1.Condition{
		condition(v1alpha1.ConditionReady, ready, reason, message),
		condition(v1alpha1.ConditionReconciling, !ready && !stalled, reason, message),
		condition(v1alpha1.ConditionStalled, stalled, reason, message),
	}
}

// words are where an instance stands, in one word and one sentence.
func (s standing) words(at time.Time) (reason, message string) {
	reason, message = s.state(at)
	if s.lost != nil && !s.accepted.known() {
		message += fmt.Sprintf("; nothing is written or deleted until a commit is accepted: %v", s.lost)
	}
	return reason, message
}

func (s standing) state(at time.Time) (reason, message string) {
	rev := s.accepted.rev
	switch {
	case s.refused != nil && s.accepted.known():
		return "Rejected", fmt.Sprintf("%s is refused, %s stays live: %s", s.refused.rev, rev, first(s.refused.err))
	case s.refused != nil:
		return "Rejected", fmt.Sprintf("%s is refused: %s", s.refused.rev, first(s.refused.err))
	case s.unknown != nil:
		return "NoNewCommit", s.unknown.Error()
	case s.unchecked != nil:
		return "Checking", s.unchecked.Error()
	case s.trouble != nil:
		return "Trouble", s.trouble.Error()
	case len(s.result.Failed) > 0:
		f := s.result.Failed[0]
		return "Failed", fmt.Sprintf("%d objects failed; %s: %v", len(s.result.Failed), f.ID, f.Err)
	case len(s.rejections()) > 0:
		r := s.rejections()[0]
		return "ProxyRejected", fmt.Sprintf("proxy %s refused %s: %s", r.Node, rev, r.Message)
	case len(s.overdue(at)) > 0:
		return "Overdue", s.overdue(at)[0].String()
	case len(s.waits) > 0:
		return "Waiting", s.waits[0].String()
	case s.again > 0:
		return "Progressing", "looking again after the last writes"
	case s.spec.Pin != "":
		return "Pinned", fmt.Sprintf("%s is live, held there by spec.pin", rev)
	case s.spec.Suspend:
		return "Suspended", fmt.Sprintf("%s is live, and no newer commit is looked for: spec.suspend", rev)
	default:
		return "Live", fmt.Sprintf("%s is live", rev)
	}
}
