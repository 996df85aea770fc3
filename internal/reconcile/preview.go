package reconcile

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"time"

	"github.com/tidelock/tidelock/api/v1alpha1"
	"github.com/tidelock/tidelock/internal/apply"
	"github.com/tidelock/tidelock/internal/desired"
	"github.com/tidelock/tidelock/internal/diff"
)

// previewPatience is how long a preview waits for an API server that has yet to answer.
const previewPatience = 20 * time.Second

// Preview says what a pass would do if the head of the source were the newest commit: it goes along the line up to the first
// write, and stops. Nothing is written: no Lease is taken, no definition is installed, no commit is kept. instance and head
// are how the two sides are shown. The Cluster and the World must be running, and the Loop must not.
func (l *Loop) Preview(ctx context.Context, instance, head string) (diff.Diff, error) {
	if err := l.Cluster.Open(ctx); err != nil {
		return diff.Diff{}, err
	}
	status, err := l.Cluster.Recall(ctx)
	if err != nil {
		return diff.Diff{}, err
	}
	rev, tree, err := l.Source.Head(ctx)
	if err != nil {
		return diff.Diff{}, err
	}
	in := diff.Input{
		Head: diff.Side{Revision: diff.Revision{Name: head, Commit: rev.Commit, Subject: rev.Subject}},
		Path: l.Path, Checked: true, Now: l.now(), Unknown: l.follows(status, instance),
	}
	c, err := l.load(ctx, rev, tree, commit{})
	if problems, ok := errors.AsType[desired.Problems](err); ok {
		in.Head.Problems = problems
		in.Base.Revision.Name = instance
		return diff.Of(in), nil
	}
	if err != nil {
		return diff.Diff{}, err
	}
	in.Head.State = c.state
	if err := l.onRecord(ctx, &in, status, instance); err != nil {
		return diff.Diff{}, err
	}
	if err := l.foresee(ctx, &in, c); err != nil {
		return diff.Diff{}, err
	}
	return diff.Of(in), nil
}

// follows says where the instance looks at something else than what is previewed.
func (l *Loop) follows(status v1alpha1.SyncStatus, instance string) []string {
	if status.Repository == "" || path.Clean(status.Path) == path.Clean(l.Path) {
		return nil
	}
	return []string{fmt.Sprintf("whether %s is meant for this folder: it follows %s of %s, and this is %s",
		instance, status.Path, status.Repository, l.Path)}
}

// onRecord makes the commit that the instance is at the base. Where that cannot be had, the base has the traffic and the time
// of the head, so that nothing is said of them that may be wrong.
func (l *Loop) onRecord(ctx context.Context, in *diff.Input, status v1alpha1.SyncStatus, instance string) error {
	in.Base.Revision = diff.Revision{Name: instance, Commit: status.Commit, Subject: status.Subject}
	if status.Commit == "" {
		return nil
	}
	short := desired.Revision{Commit: status.Commit}.Short()
	in.Base.Revision.Name += " at " + short
	c, err := l.reload(ctx, status.Commit, commit{})
	problems, refused := errors.AsType[desired.Problems](err)
	switch {
	case err == nil:
		in.Base.State = c.state
	case refused:
		in.Base.Problems = problems
	case ctx.Err() != nil:
		return err
	default:
		in.Base.State = desired.State{
			Routes: in.Head.State.Routes, Schedules: in.Head.State.Schedules, Splits: in.Head.State.Splits,
			Warnings: in.Head.State.Warnings,
		}
		in.Unknown = append(in.Unknown, fmt.Sprintf("what changes of traffic and time: %s, which the instance is at, is not here "+
			"(git fetch)", short))
	}
	return nil
}

// foresee finds out what a commit would do to the cluster.
func (l *Loop) foresee(ctx context.Context, in *diff.Input, c commit) error {
	if l.Definitions != nil {
		due, err := l.Cluster.Uninstalled(ctx, l.Definitions, l.Version)
		if err != nil {
			return err
		}
		c.declared = c.declared.Assuming(due)
	}
	t, err := l.consider(ctx, in, c)
	if err != nil {
		return err
	}
	if in.Brake, err = brakes(t.plan, c.state.Brakes); err != nil {
		return err
	}
	for _, w := range append(t.waits, t.plan.Waits...) {
		in.Unknown = append(in.Unknown, w.String())
	}
	warnings := append(slices.Clip(in.Head.State.Warnings), t.plan.Warnings...)
	for _, id := range t.plan.Paused {
		text := "is left alone: it is annotated " + v1alpha1.AnnotationReconcile + ": " + v1alpha1.Disabled
		warnings = append(warnings, desired.Problem{Object: id.String(), Text: text})
	}
	in.Head.State.Warnings = warnings
	if t.plan, err = l.Cluster.Foresee(ctx, t.plan); err != nil {
		return err
	}
	sights, err := l.Cluster.Sights(ctx, t.plan)
	if err != nil {
		return err
	}
	in.Changes = seen(between(t.plan, in.Base.State), t.plan, sights)
	in.Secrets = hidden(in.Base.State, in.Head.State, livesOf(sights)...)
	return nil
}

// consider thinks about a commit as a pass does, until it knows: what is found wrong with it is noted, and held by the brakes
// it is thought through all the same.
func (l *Loop) consider(ctx context.Context, in *diff.Input, c commit) (thought, error) {
	end := l.now().Add(previewPatience)
	for {
		at := l.look(ctx, c, standing{})
		t, err := l.think(ctx, c, at, standing{})
		problems, refused := errors.AsType[desired.Problems](err)
		in.Refused = problems
		switch {
		case refused && t.plan.Commit == "": // by the rules of proxies, before there was a plan
			t.plan = apply.NewPlan(c.declared, l.Cluster.Inventory(), at.view)
		case !refused && !errors.Is(err, apply.ErrHeld):
			if err != nil || len(t.waits) == 0 || !l.now().Before(end) {
				return t, err
			}
			if err := pause(ctx, l.World.Changed(), firstRetry); err != nil {
				return t, err
			}
			continue
		case refused:
			return t, nil
		}
		t, err = l.preflight(ctx, t)
		if more, ok := errors.AsType[desired.Problems](err); ok {
			in.Refused, err = append(in.Refused, more...), nil
		}
		return t, err
	}
}

// seen sets what the API server has said of changes of objects that are there.
func seen(changes []diff.Change, plan apply.Plan, sights []apply.Sight) []diff.Change {
	for i := range sights {
		c, s := &changes[i], sights[i]
		switch {
		case s.After != nil:
			c.Before, c.After = s.Before, s.After
		case c.Action == diff.Adopt || c.Action == diff.Refuse || c.Action == diff.Correct:
			c.Before = nil // what it is now is not known
		case c.Action == diff.Create:
			c.Before = nil
			if plan.Writes[i].PutsBack() {
				c.Reason = "deleted in the cluster"
			}
		}
	}
	return changes
}
