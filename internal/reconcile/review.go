package reconcile

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/tidelock/tidelock/internal/apply"
	"github.com/tidelock/tidelock/internal/desired"
	"github.com/tidelock/tidelock/internal/diff"
	"github.com/tidelock/tidelock/internal/redact"
	"github.com/tidelock/tidelock/internal/render"
)

// Version is one of the two states of a repository that a review compares.
type Version struct {
	// Name is how it is shown.
	Name     string
	Revision desired.Revision
	Tree     fs.FS
}

// Review says what a commit changes, with no cluster: both sides are rendered as a pass would, and the plan from one to the
// other is the one that a pass would make on a cluster that is as the base declares. An error is trouble on the way; what is
// wrong with the content stands in the Diff.
func Review(ctx context.Context, base, head Version, opts render.Options, now time.Time) (diff.Diff, error) {
	if opts.Cache == nil {
		opts.Cache = render.NewCache() // most files are the same on both sides
	}
	was, err := side(ctx, base, opts, now, true)
	if err != nil {
		return diff.Diff{}, err
	}
	is, err := side(ctx, head, opts, now, false)
	if err != nil {
		return diff.Diff{}, err
	}
	in := diff.Input{Base: was, Head: is, Path: opts.Path, Now: now, Secrets: hidden(was.State, is.State)}
	if len(is.Problems) > 0 {
		return diff.Of(in), nil
	}
	if in.Refused, err = verdictOn(is.State); err != nil {
		return diff.Diff{}, err
	}
	plan, err := apply.PlanBetween(was.State.Objects, is.State.Objects)
	if err != nil {
		return diff.Diff{}, fmt.Errorf("plan %s: %w", head.Name, err)
	}
	in.Changes = between(plan, was.State)
	if len(was.Problems) == 0 {
		in.Brake, err = brakes(plan, is.State.Brakes)
	}
	return diff.Of(in), err
}

// side renders one side. What is wrong with it is part of it.
func side(ctx context.Context, v Version, opts render.Options, now time.Time, base bool) (diff.Side, error) {
	out := diff.Side{Revision: diff.Revision{Name: v.Name, Commit: v.Revision.Commit, Subject: v.Revision.Subject}}
	if base && isBlank(v.Tree, opts.Path) {
		return out, nil
	}
	state, err := render.Render(ctx, v.Revision, v.Tree, opts)
	var problems desired.Problems
	switch {
	case errors.As(err, &problems):
		out.Problems = problems
	case err != nil:
		return out, err
	default:
		out.State = state.At(now) // as the daemon: with the weights of this moment
	}
	return out, nil
}

// isBlank reports whether a folder is missing or holds no manifest: the first commit of an application has no base.
func isBlank(tree fs.FS, folder string) bool {
	blank := true
	err := fs.WalkDir(tree, path.Clean(folder), func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if ext := path.Ext(name); !d.IsDir() && (ext == ".yaml" || ext == ".yml" || ext == ".json" || d.Type()&fs.ModeSymlink != 0) {
			blank = false
			return fs.SkipAll
		}
		return nil
	})
	return blank && (err == nil || errors.Is(err, fs.ErrNotExist))
}

// verdictOn is what no proxy could take of a state.
func verdictOn(state desired.State) ([]desired.Problem, error) {
	err := Check(state)
	if problems, ok := errors.AsType[desired.Problems](err); ok {
		return problems, nil
	}
	return nil, err
}

// brakes are what a plan deletes, and what the repository's brakes say of it.
func brakes(plan apply.Plan, limits desired.Brakes) (*diff.Brake, error) {
	b := &diff.Brake{Deletes: len(plan.Deletes()), Owned: plan.Owned, Digest: plan.DeletesDigest()}
	err := plan.Check(limits)
	switch {
	case errors.Is(err, apply.ErrHeld):
		b.Held, b.Text = true, strings.TrimPrefix(err.Error(), apply.ErrHeld.Error()+": ")
	case err != nil:
		return nil, err
	case b.Deletes == 0:
		return nil, nil //nolint:nilnil // nothing to say
	}
	return b, nil
}

// between turns a plan into what a reviewer is told of, with the objects of the base as they were.
func between(plan apply.Plan, base desired.State) []diff.Change {
	changes := make([]diff.Change, 0, len(plan.Writes)+len(plan.Prunes))
	wanted := make(map[desired.ID]int, cap(changes))
	for _, list := range [][]apply.Change{plan.Writes, plan.Prunes} {
		for i := range list {
			wanted[list[i].ID] = len(changes)
			changes = append(changes, changeOf(&list[i]))
		}
	}
	for i := range base.Objects {
		o := &base.Objects[i]
		at, ok := wanted[o.ID]
		if !ok {
			continue
		}
		c := &changes[at]
		c.Before = o.Content
		if c.After == nil {
			c.Origin, c.Source = o.Origin, o.Source
		}
	}
	return changes
}

func changeOf(c *apply.Change) diff.Change {
	out := diff.Change{ID: c.ID, Action: diff.Action(c.Action), Reason: c.Reason, WaitsFor: c.WaitsFor}
	if c.Action == apply.Create {
		out.Reason = "" // that it is new is said by what is done
	}
	if c.Object != nil {
		out.Origin, out.Source, out.After = c.Object.Origin, c.Object.Source, c.Object.Content
	}
	return out
}

// livesOf are the objects as they live.
func livesOf(sights []apply.Sight) []*unstructured.Unstructured {
	var out []*unstructured.Unstructured
	for _, s := range sights {
		if s.Before != nil {
			out = append(out, s.Before)
		}
	}
	return out
}

// hidden hides the values of the Secrets of all states, and of objects beside them.
func hidden(base, head desired.State, others ...*unstructured.Unstructured) *redact.Redactor {
	values := append(secretValues(base.Objects), secretValues(head.Objects)...)
	for _, u := range others {
		values = append(values, secretValues([]desired.Object{{ID: desired.ID{Kind: u.GetKind()}, Content: u}})...)
	}
	return redact.New(values...)
}
