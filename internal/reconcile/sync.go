package reconcile

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/tidelock/tidelock/api/v1alpha1"
	"github.com/tidelock/tidelock/internal/apply"
	"github.com/tidelock/tidelock/internal/desired"
	"github.com/tidelock/tidelock/internal/xds"
)

const (
	// statusLines bounds the lists in a status; the rest is counted. statusText bounds one text, in bytes.
	statusLines = 20
	statusText  = 4 << 10
	// statusProxies bounds the proxies in a status, and proxyText what is said of each: all fits into one object.
	statusProxies = 1000
	proxyText     = 512
)

// accepting is the status that is written before the first write of a commit.
func (l *Loop) accepting(was standing, out outcome) v1alpha1.SyncStatus {
	now := was
	now.spec, now.generation = out.newest.spec, out.newest.generation
	now.accepted, now.thought, now.remarks = out.want.commit, out.want, out.want.plan.Warnings
	now.refused, now.unknown, now.unchecked, now.trouble, now.lost = nil, nil, nil, nil, nil
	now.result, now.published, now.done = apply.Result{}, nil, nil
	now.waits = []desired.Wait{{For: now.accepted.rev.String(), Until: "its first pass"}}
	return l.syncStatus(now)
}

// syncStatus is what the Sync shows of a standing.
func (l *Loop) syncStatus(now standing) v1alpha1.SyncStatus {
	at := l.now()
	if spec, generation := l.Cluster.Spec(); spec == now.spec {
		now.generation = generation // the Sync was made, or touched without a change
	}
	s := v1alpha1.SyncStatus{
		ObservedGeneration: now.generation,
		Repository:         l.Repository, Ref: l.Ref, Path: l.Path,
		Commit:     now.accepted.rev.Commit,
		LiveCommit: maps.Clone(now.full),
		Subject:    now.accepted.rev.Subject,
		CommitTime: timeOf(now.accepted.rev),
		Waiting:    waiting(now, at),
		Drift:      now.drift,
		Contested:  lines(now.result.Contested),
		Released:   lines(now.released),
		NextRuns:   l.nextRuns(),
		Proxies:    proxies(l.Proxies.Proxies(), now, at),
		Conditions: now.conditions(at),
	}
	s.Counts, s.Kinds = counts(now)
	// The nameless group stands for "no proxy yet"; it has nothing live.
	delete(s.LiveCommit, "")
	if len(now.unserved) > 0 {
		// Nobody has told these proxies anything new.
		s.Proxies, s.LiveCommit = now.before.Proxies, now.before.LiveCommit
	}
	remarked := now.accepted
	remarked.state.Warnings = append(slices.Clip(remarked.state.Warnings), now.remarks...)
	s.Warnings = warnings(remarked, s.Proxies, now.result.Kept)
	if !now.accepted.known() {
		// What an earlier life accepted stays on record until there is something newer.
		s.Commit, s.Subject, s.CommitTime = now.before.Commit, now.before.Subject, now.before.CommitTime
		s.LiveCommit, s.Counts, s.Kinds = now.before.LiveCommit, now.before.Counts, now.before.Kinds
	}
	if s.Commit == now.before.Commit && len(now.released) == 0 {
		s.Released = now.before.Released
	}
	if r := now.refused; r != nil {
		s.Rejected = &v1alpha1.Rejected{Commit: r.rev.Commit, Subject: r.rev.Subject, Errors: split(r.err.Error())}
	}
	return l.hidden(s)
}

// hidden takes what is secret out of a status, and bounds its texts.
func (l *Loop) hidden(s v1alpha1.SyncStatus) v1alpha1.SyncStatus {
	show := func(text *string) { *text = bounded(l.hide(*text)) }
	show(&s.Subject)
	for i := range s.Waiting {
		show(&s.Waiting[i].For)
		show(&s.Waiting[i].Until)
	}
	for i := range s.Warnings {
		show(&s.Warnings[i])
	}
	for i := range s.Proxies {
		show(&s.Proxies[i].Message)
	}
	for i := range s.Conditions {
		show(&s.Conditions[i].Message)
	}
	if s.Rejected != nil {
		show(&s.Rejected.Subject)
		for i := range s.Rejected.Errors {
			show(&s.Rejected.Errors[i])
		}
	}
	return s
}

// proxies are those that are connected, and those that were before the daemon started and may still come back.
func proxies(list []xds.Proxy, now standing, at time.Time) []v1alpha1.ProxyStatus {
	out := make([]v1alpha1.ProxyStatus, 0, len(list))
	for _, p := range list {
		out = append(out, v1alpha1.ProxyStatus{
			Node: p.Node, Group: p.Group, State: string(p.State), Message: cut(strings.TrimSpace(p.Message), proxyText),
		})
	}
	if !at.Before(now.absent) {
		return out[:min(len(out), statusProxies)]
	}
	for _, p := range now.before.Proxies {
		here := func(o v1alpha1.ProxyStatus) bool { return o.Node == p.Node && o.Group == p.Group }
		if !slices.ContainsFunc(out, here) {
			p.State, p.Message = string(xds.Updating), "not back yet since the daemon started"
			out = append(out, p)
		}
	}
	slices.SortFunc(out, byGroup)
	return out[:min(len(out), statusProxies)]
}

// lines writes a list for a status; what is over the bound is counted.
func lines[T fmt.Stringer](list []T) []string {
	out := make([]string, 0, min(len(list), statusLines+1))
	for i, v := range list {
		if i == statusLines {
			return append(out, more(len(list)-i))
		}
		out = append(out, v.String())
	}
	return out
}

func more(n int) string { return fmt.Sprintf("and %d more", n) }

// timeOf is when a commit was made; nil for a folder without git.
func timeOf(rev desired.Revision) *metav1.Time {
	if rev.Time.IsZero() {
		return nil
	}
	return &metav1.Time{Time: rev.Time.UTC()}
}

func first(err error) string {
	head, _, _ := strings.Cut(err.Error(), "\n")
	return head
}

func split(text string) []string {
	all := strings.Split(text, "\n")
	if len(all) > statusLines {
		all = append(all[:statusLines:statusLines], more(len(all)-statusLines))
	}
	return all
}

func bounded(text string) string { return cut(text, statusText) }

func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}
