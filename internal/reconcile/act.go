package reconcile

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/tidelock/tidelock/internal/apply"
	"github.com/tidelock/tidelock/internal/desired"
	"github.com/tidelock/tidelock/internal/source"
	"github.com/tidelock/tidelock/internal/xds"
)

// accept records a commit as accepted before the first write, so that a crash in between goes on with it and nothing else.
func (l *Loop) accept(ctx context.Context, out outcome, was standing) (bool, error) {
	defer l.watch.enter(stepAccept)()
	c := out.want.commit
	switch {
	case !c.known():
		return false, nil
	case c.is(was.accepted):
		return true, nil
	}
	if err := l.keep(ctx, c, was); err != nil {
		return false, err
	}
	if err := l.Cluster.Report(ctx, l.accepting(was, out), nil); err != nil {
		return false, fmt.Errorf("record %s as accepted: %w", c.rev, err)
	}
	return true, nil
}

// keep makes sure that a commit can be had after a restart, beside those that proxies still serve and the one that is on
// record until c is. An older one that is gone already must not keep c out.
func (l *Loop) keep(ctx context.Context, c commit, was standing) error {
	err := l.Source.Keep(ctx, worthKeeping(c, was)...)
	if errors.Is(err, source.ErrUnknownCommit) {
		err = l.Source.Keep(ctx, c.rev.Commit)
	}
	if err != nil {
		return fmt.Errorf("keep %s: %w", c.rev, err)
	}
	return nil
}

// worthKeeping lists the commits that a restart may ask for, sorted.
func worthKeeping(c commit, was standing) []string {
	all := append(slices.Collect(maps.Values(was.full)), c.rev.Commit)
	if was.accepted.known() {
		all = append(all, was.accepted.rev.Commit)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// execute makes the plan's creates and updates. Those that failed rest for a while, unless they are others now.
func (l *Loop) execute(ctx context.Context, out outcome, was standing) outcome {
	defer l.watch.enter(stepApply)()
	plan := out.want.plan
	if was.writing.rests(plan.Digest, l.now()) {
		out.writing, out.result = was.writing, was.writing.left
		return out
	}
	out.result, out.err = l.Cluster.Execute(ctx, plan)
	if len(out.result.Failed) > 0 {
		out.writing = was.writing.next(without(plan, out.result).Digest(), out.result, l.now())
	}
	return out
}

// without returns a plan without what was done of it.
func without(p apply.Plan, res apply.Result) apply.Plan {
	done := map[desired.ID]bool{}
	for _, id := range slices.Concat(res.Created, res.Changed) {
		done[id] = true
	}
	p.Writes = slices.DeleteFunc(slices.Clone(p.Writes), func(c apply.Change) bool { return done[c.ID] })
	return p
}

// publish hands each group its snapshot and returns how far each has come. A group that an earlier life of the daemon served
// gets what it had from then first: what its proxies still route to is known to the server only so.
func (l *Loop) publish(out outcome, was standing) outcome {
	defer l.watch.enter(stepPublish)()
	out.published = maps.Clone(was.published)
	if out.published == nil {
		out.published = make(map[string]xds.Progress, len(out.want.snapshots))
	}
	for _, snap := range out.want.snapshots {
		_, served := was.published[snap.Group]
		if live := was.live[snap.Group]; !served && len(live) > 0 && was.full[snap.Group] != snap.Commit {
			in := xds.Input{Group: snap.Group, Commit: was.full[snap.Group], Live: live, Desired: live, World: out.look.World}
			before, err := xds.Build(in, nil)
			if err != nil {
				out.err = errors.Join(out.err, fmt.Errorf("build what group %s was served before: %w", snap.Group, err))
			} else {
				l.Proxies.Publish(before)
			}
		}
		progress := l.Proxies.Publish(snap)
		out.published[snap.Group] = progress
		if !progress.Reverted {
			continue
		}
		if serving, ok := l.Proxies.Served(snap.Group); ok {
			if out.reverted == nil {
				out.reverted = map[string][]desired.Route{}
			}
			out.reverted[snap.Group] = serving.InForce
		}
	}
	return out
}
