package reconcile

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"time"

	"github.com/tidelock/tidelock/internal/apply"
	"github.com/tidelock/tidelock/internal/desired"
	"github.com/tidelock/tidelock/internal/render"
)

// errSuspended says why there is no commit to go to.
var errSuspended = errors.New("suspended by spec.suspend before any commit was accepted")

// errNoAnswer says that there is no newest commit yet: the repository takes its time.
var errNoAnswer = errors.New("no answer yet")

// headPatience is how long a pass waits for the first answer of a repository, where there is an accepted commit to keep up.
const headPatience = time.Second

// newest returns the newest commit and what it declares. Where it cannot be had or was refused before, it is the accepted
// commit with the reason.
func (l *Loop) newest(ctx context.Context, was standing) head {
	defer l.watch.enter(stepSource)()
	h := head{commit: was.accepted}
	h.spec, h.generation = l.Cluster.Spec()
	rev, tree, err := l.revision(ctx, h, was)
	switch {
	case err != nil:
		h.unknown, h.refused = err, was.refused
		return h
	case rev.Commit == was.accepted.rev.Commit:
		return h
	case was.refused.holds(rev, l.now()):
		h.refused = was.refused
		return h
	case rev.Commit == was.checking.commit.rev.Commit:
		h.commit, h.fresh = was.checking.commit, true
		return h
	}
	c, err := l.load(ctx, rev, tree, was.accepted)
	switch {
	case isVerdict(err):
		h.refused = &refusal{rev: rev, err: err}
	case err != nil:
		h.unknown = err
	default:
		h.commit, h.fresh = c, true
	}
	return h
}

// revision returns the commit that the instance should be at: the pinned one, or, while it is suspended, the accepted one,
// or else the newest one. What users pin goes before their suspension: it is what they ask for by name.
func (l *Loop) revision(ctx context.Context, h head, was standing) (desired.Revision, fs.FS, error) {
	switch pin := h.spec.Pin; {
	case pin == "" && !h.spec.Suspend:
		return l.follow(ctx, was)
	case was.accepted.known() && (pin == "" || pin == was.accepted.rev.Commit):
		return was.accepted.rev, nil, nil
	case pin == "" && was.lost != nil:
		return desired.Revision{}, nil, fmt.Errorf("suspended at a commit that cannot be had: %w", was.lost)
	case pin == "":
		return desired.Revision{}, nil, errSuspended
	case was.unknown != nil && was.spec.Pin == pin && l.now().Before(was.retry):
		// Looking for a commit may ask a remote, which news of something else is no reason for.
		return desired.Revision{}, nil, was.unknown
	default:
		rev, tree, err := l.Source.Commit(ctx, pin)
		if err != nil {
			err = fmt.Errorf("spec.pin: %w", err)
		}
		return rev, tree, err
	}
}

// follow returns the newest commit. A repository that takes its time keeps nothing from the accepted one: its answer is news.
func (l *Loop) follow(ctx context.Context, was standing) (desired.Revision, fs.FS, error) {
	if !was.accepted.known() {
		return l.Source.Head(ctx)
	}
	patient, cancel := context.WithTimeout(ctx, headPatience)
	defer cancel()
	rev, tree, err := l.Source.Head(patient)
	if err != nil && patient.Err() != nil && ctx.Err() == nil {
		err = fmt.Errorf("look at %s: %w", l.Repository, errNoAnswer)
	}
	return rev, tree, err
}

// load renders a commit. What did not change since the accepted one is not prepared again.
func (l *Loop) load(ctx context.Context, rev desired.Revision, tree fs.FS, accepted commit) (commit, error) {
	defer l.watch.enter(stepRender)()
	l.Progress("rendering " + rev.String())
	defer l.Progress("")
	state, err := render.Render(ctx, rev, tree, l.Render)
	if err != nil {
		return commit{}, err
	}
	l.veil.learn(secretValues(state.Objects))
	l.Hidden.Set(l.veil.hidden)
	declared, err := apply.Declare(state.Objects, accepted.declared)
	if err != nil {
		return commit{}, err
	}
	c := commit{rev: rev, state: state, declared: declared, groups: named(state.Routes), kinds: kindsOf(state.Objects)}
	if c, err = c.at(l.now()); err != nil {
		return commit{}, err
	}
	if l.Mocks != nil {
		c.mocks = documents(state.Objects)
	}
	return c, nil
}

// named lists the proxy groups that routes name.
func named(routes []desired.Route) []string {
	set := map[string]bool{}
	for i := range routes {
		for _, g := range routes[i].Proxies {
			set[g] = true
		}
	}
	return slices.Sorted(maps.Keys(set))
}

// holds says that a refusal still stands for rev: the same commit, and its time to be looked at again has not come.
func (r *refusal) holds(rev desired.Revision, at time.Time) bool {
	return r != nil && r.rev.Commit == rev.Commit && (r.again.IsZero() || at.Before(r.again))
}

// reject turns a verdict of the cluster or the brakes about a new commit into a refusal, and the lack of an answer into a
// wait; it reports whether the pass should go on from the accepted commit. A commit that was refused before stays refused
// until there is another answer.
func (h *head) reject(t thought, err error, was standing, at time.Time) bool {
	if !h.fresh {
		return false
	}
	switch rev := t.commit.rev; {
	case isVerdict(err):
		h.refused = &refusal{rev: rev, err: err, again: at.Add(recheckAfter)}
	case err != nil:
		h.unchecked = fmt.Errorf("%s is not checked yet: %w", rev, err)
	case len(t.waits) > 0:
		h.unchecked = fmt.Errorf("%s is not checked yet: %s", rev, t.waits[0])
	default:
		return false
	}
	if h.unchecked != nil {
		h.checking = t
		if was.refused != nil && was.refused.rev.Commit == t.commit.rev.Commit {
			h.refused = was.refused
		}
	}
	return true
}

// isVerdict tells a verdict about a commit's content from trouble on the way to one.
func isVerdict(err error) bool {
	var problems desired.Problems
	return errors.As(err, &problems) || errors.Is(err, apply.ErrHeld)
}
