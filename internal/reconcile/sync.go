package reconcile

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/tidelock/tidelock/api/v1alpha1"
	"github.com/tidelock/tidelock/internal/apply"
	"github.com/tidelock/tidelock/internal/desired"
	"github.com/tidelock/tidelock/internal/xds"
)

const (
	// statusLines bounds the lists in a status; the rest is counted. statusText bounds one text, in bytes.
	statusLines = 20
	statusText  = 4 << 10
)

// accepting is the status that is written before the first write of a commit.
func (l *Loop) accepting(was standing, out outcome) v1alpha1.SyncStatus {
	now := was
	now.spec, now.generation = out.newest.spec, out.newest.generation
	now.accepted, now.thought = out.want.commit, out.want
	now.refused, now.unknown, now.unchecked, now.trouble, now.lost = nil, nil, nil, nil, nil
	now.result, now.published = apply.Result{}, nil
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
		Counts:     counts(now),
		Waiting:    lines(now.waits),
		Released:   lines(now.released),
		Proxies:    proxies(l.Proxies.Proxies(), now, at),
		Conditions: now.conditions(at),
	}
	// The nameless group stands for "no proxy yet"; it has nothing live.
	delete(s.LiveCommit, "")
	if len(now.unserved) > 0 {
		// Nobody has told these proxies anything new.
		s.Proxies, s.LiveCommit = now.before.Proxies, now.before.LiveCommit
	}
	if !now.accepted.known() {
		// What an earlier life accepted stays on record until there is something newer.
		s.Commit, s.LiveCommit = now.before.Commit, now.before.LiveCommit
	}
	if s.Commit == now.before.Commit && len(now.released) == 0 {
		s.Released = now.before.Released
	}
	if r := now.refused; r != nil {
		s.Rejected = &v1alpha1.Rejected{Commit: r.rev.Commit, Errors: split(r.err.Error())}
	}
	return l.hidden(s)
}

// hidden takes what is secret out of a status, and bounds its texts.
func (l *Loop) hidden(s v1alpha1.SyncStatus) v1alpha1.SyncStatus {
	show := func(text *string) { *text = bounded(l.hide(*text)) }
	for i := range s.Waiting {
		show(&s.Waiting[i])
	}
	for i := range s.Proxies {
		show(&s.Proxies[i].Message)
	}
	for i := range s.Conditions {
		show(&s.Conditions[i].Message)
	}
	if s.Rejected != nil {
		for i := range s.Rejected.Errors {
			show(&s.Rejected.Errors[i])
		}
	}
	return s
}

// counts are those of the last pass that wrote anything, in this life of the daemon or in the one before.
func counts(now standing) v1alpha1.Counts {
	n := func(i int) int32 { return int32(min(i, 1<<30)) } //nolint:gosec // bounded
	c := v1alpha1.Counts{
		Created: n(len(now.last.Created)), Changed: n(len(now.last.Changed)), Pruned: n(len(now.last.Pruned)),
		Failed: n(len(now.result.Failed)), Waiting: n(len(now.waits)), Unchanged: n(now.thought.plan.Unchanged),
	}
	if !now.wrote && (!now.accepted.known() || now.accepted.rev.Commit == now.before.Commit) {
		c.Created, c.Changed, c.Pruned = now.before.Counts.Created, now.before.Counts.Changed, now.before.Counts.Pruned
	}
	return c
}

// proxies are those that are connected, and those that were before the daemon started and may still come back.
func proxies(list []xds.Proxy, now standing, at time.Time) []v1alpha1.ProxyStatus {
	out := make([]v1alpha1.ProxyStatus, 0, len(list))
	for _, p := range list {
		out = append(out, v1alpha1.ProxyStatus{Node: p.Node, Group: p.Group, State: string(p.State), Message: p.Message})
	}
	if !at.Before(now.absent) {
		return out
	}
	for _, p := range now.before.Proxies {
		here := func(o v1alpha1.ProxyStatus) bool { return o.Node == p.Node && o.Group == p.Group }
		if !slices.ContainsFunc(out, here) {
			p.State, p.Message = string(xds.Updating), "not back yet since the daemon started"
			out = append(out, p)
		}
	}
	slices.SortFunc(out, func(a, b v1alpha1.ProxyStatus) int {
		return cmp.Or(strings.Compare(a.Group, b.Group), strings.Compare(a.Node, b.Node))
	})
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

func bounded(text string) string {
	if len(text) <= statusText {
		return text
	}
	return strings.ToValidUTF8(text[:statusText], "") + "…"
}
