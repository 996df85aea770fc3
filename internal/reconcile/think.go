package reconcile

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/tidelock/tidelock/internal/apply"
	"github.com/tidelock/tidelock/internal/desired"
	"github.com/tidelock/tidelock/internal/xds"
)

// think finds out what a commit would do: everything that can fail without touching the world. A commit that was accepted
// before is not put to the server again, and what the server has answered about another one is not asked again.
func (l *Loop) think(ctx context.Context, c commit, at look, was standing) (thought, error) {
	defer l.watch.enter(stepThink)()
	c, err := c.at(l.now())
	if err != nil {
		return thought{commit: c}, err
	}
	t, before, accepted := thought{commit: c}, thoughtOf(c, was), c.is(was.accepted)
	switch {
	case !c.known():
		return t, nil
	case at.err != nil:
		return t, at.err
	case !accepted && at.unlisted != nil:
		return t, at.unlisted
	}
	// Once a commit's Services have been seen, those of another commit that are not listed yet are no reason to wait.
	sighted := at.Synced || len(before.snapshots) > 0
	if !sighted {
		t.waits = []desired.Wait{{For: c.rev.String(), Until: "the API server to list endpoints"}}
		if !accepted {
			return t, nil
		}
	}
	groups := l.groups(c)
	if sighted {
		t.key = key{
			commit: c.rev.Commit, steps: c.steps, view: at.view.Generation, world: at.Generation, mocks: at.mocks,
			groups: strings.Join(groups, " "),
		}
	}
	t.view = at.view
	known := t.key != (key{}) && t.key == before.key
	if known && accepted {
		before.commit = c
		return before, nil
	}
	if known {
		t.snapshots, t.plan = before.snapshots, before.plan
		return l.preflight(ctx, t)
	}
	if sighted {
		if t.snapshots, err = l.snapshots(c, groups, at, was); err != nil {
			return t, err
		}
	}
	t.plan = apply.NewPlan(c.declared, l.Cluster.Inventory(), at.view)
	t.plan.Commit = c.rev.Commit
	if accepted {
		return t, nil
	}
	if err := t.plan.Check(c.state.Brakes); err != nil {
		return t, err
	}
	return l.preflight(ctx, t)
}

// thoughtOf is what the last pass thought of a commit, if it did.
func thoughtOf(c commit, was standing) thought {
	for _, t := range []thought{was.thought, was.checking} {
		if c.known() && t.commit.is(c) {
			return t
		}
	}
	return thought{}
}

func (l *Loop) preflight(ctx context.Context, t thought) (thought, error) {
	defer l.watch.enter(stepPreflight)()
	var err error
	t.plan, t.waits, err = l.Cluster.Preflight(ctx, t.plan)
	return t, err
}

// snapshots builds what each group is to hold.
func (l *Loop) snapshots(c commit, groups []string, at look, was standing) ([]xds.Snapshot, error) {
	out := make([]xds.Snapshot, 0, len(groups))
	for _, group := range groups {
		in := xds.Input{Group: group, Commit: c.rev.Commit, Live: was.live[group], Desired: c.state.Routes, World: at.World}
		snap, err := xds.Build(in, l.built)
		if err != nil {
			return nil, err
		}
		out = append(out, snap)
	}
	return out, nil
}

// groups returns the proxy groups that need a snapshot: those that are connected, those that a route names, and the
// nameless one, so that a commit is checked also while no proxy is there.
func (l *Loop) groups(c commit) []string {
	set := map[string]bool{"": true}
	for _, g := range l.Proxies.Groups() {
		set[g] = true
	}
	for _, g := range c.groups {
		set[g] = true
	}
	return slices.Sorted(maps.Keys(set))
}
