package reconcile

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/tidelock/tidelock/internal/apply"
	"github.com/tidelock/tidelock/internal/desired"
	"github.com/tidelock/tidelock/internal/render"
)

// newest returns the newest commit and what it declares. Where it cannot be had or was refused before, it is the accepted
// commit with the reason.
func (l *Loop) newest(ctx context.Context, was standing) head {
	stay := head{commit: was.accepted}
	rev, tree, err := l.revision(ctx, was)
	switch {
	case err != nil:
		stay.unknown, stay.refused = err, was.refused
		return stay
	case rev.Commit == was.accepted.rev.Commit:
		return stay
	case was.refused.holds(rev, l.now()):
		stay.refused = was.refused
		return stay
	}
	c, err := l.load(ctx, rev, tree, was)
	switch {
	case isVerdict(err):
		stay.refused = &refusal{rev: rev, err: err}
		return stay
	case err != nil:
		stay.unknown = err
		return stay
	}
	return head{commit: c, fresh: true}
}

// revision returns the commit that the instance should be at: the newest one, the pinned one, or, while it is suspended,
// the accepted one.
func (l *Loop) revision(ctx context.Context, was standing) (desired.Revision, fs.FS, error) {
	spec, _ := l.Cluster.Spec()
	switch {
	case spec.Pin != "":
		return l.Source.Commit(ctx, spec.Pin)
	case spec.Suspend && was.accepted.known():
		return was.accepted.rev, nil, nil
	default:
		return l.Source.Head(ctx)
	}
}

// load renders a commit.
func (l *Loop) load(ctx context.Context, rev desired.Revision, tree fs.FS, was standing) (commit, error) {
	state, err := render.Render(ctx, rev, tree, l.Render)
	if err != nil {
		return commit{}, err
	}
	l.secrets.Add(secretValues(state.Objects)...)
	declared, err := apply.Declare(state.Objects, was.accepted.declared)
	if err != nil {
		return commit{}, err
	}
	return commit{rev: rev, state: state, declared: declared}, nil
}

// holds says that a refusal still stands for rev: the same commit, and its time to be looked at again has not come.
func (r *refusal) holds(rev desired.Revision, at time.Time) bool {
	return r != nil && r.rev.Commit == rev.Commit && (r.again.IsZero() || at.Before(r.again))
}

// reject turns a verdict of the cluster or the brakes about a new commit into a refusal, and the lack of an answer into a
// wait; it reports whether the pass should go on from the accepted commit.
func (h *head) reject(t thought, err error, at time.Time) bool {
	switch {
	case h.refused != nil || h.unknown != nil || !h.fresh:
		return false
	case isVerdict(err):
		h.refused = &refusal{rev: t.commit.rev, err: err, again: at.Add(recheckAfter)}
		return true
	case len(t.waits) > 0:
		h.unknown = fmt.Errorf("%s is not checked yet: %s", t.commit.rev, t.waits[0])
		return true
	}
	return false
}

// isVerdict tells a verdict about a commit's content from trouble on the way to one.
func isVerdict(err error) bool {
	var problems desired.Problems
	return errors.As(err, &problems) || errors.Is(err, apply.ErrHeld)
}

// secretValues are the values of the Secrets that a commit declares, as they stand in the manifests: base64.
func secretValues(objects []desired.Object) []string {
	var out []string
	for i := range objects {
		if o := &objects[i]; o.Kind == "Secret" && o.Group == "" {
			data, _, _ := unstructured.NestedStringMap(o.Content.Object, "data")
			out = append(out, slices.Sorted(maps.Values(data))...)
		}
	}
	return out
}
