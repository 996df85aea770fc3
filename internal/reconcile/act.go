package reconcile

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/tidelock/tidelock/internal/desired"
	"github.com/tidelock/tidelock/internal/xds"
)

// accept records a commit as accepted before the first write, so that a crash in between goes on with it and nothing else.
// Routes that proxies still serve may come from an earlier commit; that one is kept too.
func (l *Loop) accept(ctx context.Context, want thought, was standing) (bool, error) {
	switch {
	case !want.commit.known():
		return false, nil
	case want.commit.rev.Commit == was.accepted.rev.Commit:
		return true, nil
	}
	keep := []string{want.commit.rev.Commit}
	for _, c := range was.full {
		keep = append(keep, c)
	}
	slices.Sort(keep)
	if err := l.Source.Keep(ctx, slices.Compact(keep)...); err != nil {
		return false, fmt.Errorf("keep %s: %w", want.commit.rev, err)
	}
	if err := l.Cluster.Report(ctx, l.accepting(was, want.commit), nil); err != nil {
		return false, fmt.Errorf("record %s as accepted: %w", want.commit.rev, err)
	}
	return true, nil
}

// execute makes the plan's creates and updates.
func (l *Loop) execute(ctx context.Context, out outcome) outcome {
	out.result, out.err = l.Cluster.Execute(ctx, out.want.plan)
	return out
}

// publish hands each group its snapshot and returns how far each has come. A group that an earlier life of the daemon served
// gets what it had from then first: what its proxies still route to is known to the server only so.
func (l *Loop) publish(out outcome, w world, was standing) outcome {
	out.published = make(map[string]xds.Progress, len(out.want.snapshots))
	for _, snap := range out.want.snapshots {
		_, served := was.published[snap.Group]
		if live := was.live[snap.Group]; !served && len(live) > 0 && was.full[snap.Group] != snap.Commit {
			in := xds.Input{Group: snap.Group, Commit: was.full[snap.Group], Live: live, Desired: live, World: w.World}
			before, err := xds.Build(in, nil)
			if err != nil {
				out.err = errors.Join(out.err, fmt.Errorf("build what group %s was served before: %w", snap.Group, err))
			} else {
				l.Proxies.Publish(before)
			}
		}
		out.published[snap.Group] = l.Proxies.Publish(snap)
	}
	return out
}

// prune deletes what left the repository, once nothing can need it any more: everything is in, every route has switched,
// and the proxies have let go.
func (l *Loop) prune(ctx context.Context, out outcome, was standing) outcome {
	if len(out.want.plan.Prunes) == 0 && !l.mocksToEnd(out) {
		return out
	}
	if why := out.holdsPrune(was, l.now()); len(why) > 0 {
		if len(out.want.plan.Prunes) > 0 {
			out.result.Waits = append(out.result.Waits, why...)
		}
		return out
	}
	res, err := l.Cluster.Prune(ctx, out.want.plan, keepReached(out.want.snapshots))
	out.result.Add(res)
	out.err = errors.Join(out.err, err)
	return l.endMocks(ctx, out)
}

// holdsPrune says what must happen before anything may be deleted. A route that has been held back for too long holds back
// only what it reaches.
func (out outcome) holdsPrune(was standing, at time.Time) []desired.Wait {
	var why []desired.Wait
	hold := func(until string) { why = append(why, desired.Wait{For: "prune", Until: until}) }
	if n := len(out.result.Failed); n > 0 {
		hold(fmt.Sprintf("%d failed writes to succeed", n))
	}
	for _, w := range out.result.Waits {
		hold(w.For)
	}
	for _, w := range out.held() {
		if at.Sub(began(was.since, w, at)) < switchDeadline {
			hold("the switch of " + w.For)
		}
	}
	for _, group := range slices.Sorted(maps.Keys(out.published)) {
		if !out.published[group].Settled {
			hold("the proxies of group " + group)
		}
	}
	return why
}

// held are the switches that wait for a backend, each once.
func (out outcome) held() []desired.Wait {
	var waits []desired.Wait
	for _, s := range out.want.snapshots {
		for _, w := range s.Held {
			if !slices.Contains(waits, w) {
				waits = append(waits, w)
			}
		}
	}
	return waits
}

// keepReached keeps what routes in force reach although they should have switched: with no route held back that is nothing.
// Which pods and settings are behind a Service is not known here, so the whole namespace of a held backend is spared.
func keepReached(snapshots []xds.Snapshot) func(desired.ID) string {
	spared := map[string]string{}
	for _, s := range snapshots {
		if len(s.Held) == 0 {
			continue
		}
		for i := range s.InForce {
			for _, b := range s.InForce[i].Backends {
				spared[b.Upstream.Service.Namespace] = s.Held[0].For
			}
		}
	}
	return func(id desired.ID) string {
		ns := id.Namespace
		if id.Kind == "Namespace" {
			ns = id.Name
		}
		if held, ok := spared[ns]; ok {
			return "the switch of " + strings.TrimSpace(held)
		}
		return ""
	}
}
