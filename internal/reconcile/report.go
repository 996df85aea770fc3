package reconcile

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/tidelock/tidelock/api/v1alpha1"
	"github.com/tidelock/tidelock/internal/apply"
	"github.com/tidelock/tidelock/internal/desired"
	"github.com/tidelock/tidelock/internal/xds"
)

// statusLines bounds the lists in a status; the rest is counted.
const statusLines = 20

// report tells where a pass left the instance: the Sync, the status of each resource of ours, and one line in the log where
// there is news. A pass without news reports nothing.
func (l *Loop) report(ctx context.Context, was, now standing) {
	l.logPass(ctx, was, now)
	l.events(ctx, was, now)
	if err := l.Cluster.Report(ctx, l.syncStatus(now), l.statuses(now)); err != nil {
		l.log.WarnContext(ctx, "status not written", slog.String("error", l.hide(err.Error())))
	}
}

// events tells what kubectl describe shows of the instance: commits taken and refused, and what was deleted.
func (l *Loop) events(ctx context.Context, was, now standing) {
	var errs []error
	if now.accepted.rev.Commit != was.accepted.rev.Commit {
		errs = append(errs, l.Cluster.Event(ctx, apply.ReasonAccepted, l.hide(now.accepted.rev.String()+" "+now.accepted.rev.Subject)))
	}
	if newlyRefused(was, now) {
		text := fmt.Sprintf("%s is refused: %s", now.refused.rev, now.refused.err)
		errs = append(errs, l.Cluster.Event(ctx, apply.ReasonRejected, l.hide(text)))
	}
	if len(now.result.Pruned) > 0 {
		text := strings.Join(lines(now.result.Pruned), ", ")
		errs = append(errs, l.Cluster.Event(ctx, apply.ReasonPruned, l.hide(text)))
	}
	if err := errors.Join(errs...); err != nil {
		l.log.DebugContext(ctx, "event not written", l.errorAttr(err))
	}
}

func newlyRefused(was, now standing) bool {
	return now.refused != nil && (was.refused == nil || was.refused.rev.Commit != now.refused.rev.Commit)
}

func (l *Loop) logPass(ctx context.Context, was, now standing) {
	r := now.result
	if newlyRefused(was, now) {
		l.log.ErrorContext(ctx, "rejected", append(revisionAttrs(now.refused.rev), l.errorAttr(now.refused.err))...)
	}
	if now.unknown != nil && (was.unknown == nil || was.unknown.Error() != now.unknown.Error()) {
		l.log.WarnContext(ctx, "no newer commit", l.errorAttr(now.unknown))
	}
	if now.trouble != nil {
		l.log.WarnContext(ctx, "pass not finished", l.errorAttr(now.trouble))
	}
	for _, f := range r.Failed {
		l.log.WarnContext(ctx, "object failed", slog.String("object", f.String()), l.errorAttr(f.Err))
	}
	if news(was, now) {
		l.log.InfoContext(ctx, "reconciled", append(revisionAttrs(now.accepted.rev),
			slog.Int("created", len(r.Created)), slog.Int("changed", len(r.Changed)), slog.Int("pruned", len(r.Pruned)),
			slog.Int("failed", len(r.Failed)), slog.Int("waiting", len(now.waits)))...)
	}
}

// news says that a pass wrote something, took a commit, or came to the end of its waits.
func news(was, now standing) bool {
	r := now.result
	return len(r.Created)+len(r.Changed)+len(r.Pruned)+len(r.Released) > 0 ||
		was.accepted.rev.Commit != now.accepted.rev.Commit || len(was.waits) > 0 && len(now.waits) == 0
}

func revisionAttrs(rev desired.Revision) []any {
	return []any{slog.String("commit", rev.Short()), slog.String("subject", rev.Subject)}
}

func (l *Loop) errorAttr(err error) slog.Attr { return slog.String("error", l.hide(err.Error())) }

// accepting is the status that is written before the first write of a commit.
func (l *Loop) accepting(was standing, c commit) v1alpha1.SyncStatus {
	now := was
	now.accepted, now.refused, now.unknown = c, nil, nil
	now.waits = []desired.Wait{{For: c.rev.String(), Until: "its first pass"}}
	return l.syncStatus(now)
}

// syncStatus is what the Sync shows of a standing.
func (l *Loop) syncStatus(now standing) v1alpha1.SyncStatus {
	s := v1alpha1.SyncStatus{
		Repository: l.Repository, Ref: l.Ref, Path: l.Path,
		Commit:     now.accepted.rev.Commit,
		LiveCommit: maps.Clone(now.full),
		Counts:     counts(now),
		Waiting:    lines(now.waits),
		Released:   lines(now.last.Released),
		Proxies:    proxies(l.Proxies.Proxies()),
		Conditions: l.conditions(now),
	}
	// The nameless group stands for "no proxy yet"; it has nothing live.
	delete(s.LiveCommit, "")
	if !now.accepted.known() {
		// What an earlier life accepted stays on record until there is something newer.
		s.Commit, s.LiveCommit = now.before.Commit, now.before.LiveCommit
	}
	if r := now.refused; r != nil {
		s.Rejected = &v1alpha1.Rejected{Commit: r.rev.Commit, Errors: split(l.hide(r.err.Error()))}
	}
	return s
}

func counts(now standing) v1alpha1.Counts {
	n := func(i int) int32 { return int32(min(i, 1<<30)) } //nolint:gosec // bounded
	return v1alpha1.Counts{
		Created: n(len(now.last.Created)), Changed: n(len(now.last.Changed)), Pruned: n(len(now.last.Pruned)),
		Failed: n(len(now.result.Failed)), Waiting: n(len(now.waits)), Unchanged: n(now.thought.plan.Unchanged),
	}
}

// conditions are Ready, Reconciling and Stalled, as kstatus reads them.
func (l *Loop) conditions(now standing) []metav1.Condition {
	reason, message := l.verdict(now)
	is := func(kind string, yes bool) metav1.Condition {
		status := metav1.ConditionFalse
		if yes {
			status = metav1.ConditionTrue
		}
		return metav1.Condition{Type: kind, Status: status, Reason: reason, Message: message}
	}
	stalled := now.refused != nil || len(now.overdue(l.now())) > 0 || len(now.rejections()) > 0
	ready := now.settled()
	return []metav1.Condition{
		is(v1alpha1.ConditionReady, ready),
		is(v1alpha1.ConditionReconciling, !ready && !stalled),
		is(v1alpha1.ConditionStalled, stalled),
	}
}

// verdict is where an instance stands, in one word and one sentence.
func (l *Loop) verdict(now standing) (reason, message string) {
	at := now.accepted.rev
	switch {
	case now.refused != nil && at.Commit != "":
		return "Rejected", l.hide(fmt.Sprintf("%s is refused, %s stays live: %s", now.refused.rev, at, first(now.refused.err)))
	case now.refused != nil:
		return "Rejected", l.hide(fmt.Sprintf("%s is refused: %s", now.refused.rev, first(now.refused.err)))
	case now.unknown != nil:
		return "NoNewCommit", l.hide(now.unknown.Error())
	case now.trouble != nil:
		return "Trouble", l.hide(now.trouble.Error())
	case len(now.result.Failed) > 0:
		f := now.result.Failed[0]
		return "Failed", l.hide(fmt.Sprintf("%d objects failed; %s: %v", len(now.result.Failed), f.ID, f.Err))
	case len(now.rejections()) > 0:
		r := now.rejections()[0]
		return "ProxyRejected", l.hide(fmt.Sprintf("proxy %s refused %s: %s", r.Node, now.accepted.rev, r.Message))
	case len(now.waits) > 0:
		return "Waiting", now.waits[0].String()
	case now.again:
		return "Progressing", "looking again after the last writes"
	default:
		return "Live", fmt.Sprintf("%s is live", at)
	}
}

func proxies(list []xds.Proxy) []v1alpha1.ProxyStatus {
	out := make([]v1alpha1.ProxyStatus, 0, len(list))
	for _, p := range list {
		out = append(out, v1alpha1.ProxyStatus{Node: p.Node, Group: p.Group, State: string(p.State), Message: p.Message})
	}
	return out
}

// lines writes a list for a status; what is over the bound is counted.
func lines[T fmt.Stringer](list []T) []string {
	out := make([]string, 0, min(len(list), statusLines+1))
	for i, v := range list {
		if i == statusLines {
			return append(out, fmt.Sprintf("and %d more", len(list)-i))
		}
		out = append(out, v.String())
	}
	return out
}

func first(err error) string {
	head, _, _ := strings.Cut(err.Error(), "\n")
	return head
}

func split(text string) []string {
	all := strings.Split(text, "\n")
	if len(all) > statusLines {
		all = append(all[:statusLines:statusLines], fmt.Sprintf("and %d more", len(all)-statusLines))
	}
	return all
}
