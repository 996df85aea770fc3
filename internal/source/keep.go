package source

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"
)

// commit looks at what is kept first: only that is sure to be whole.
func (l *localOrigin) commit(ctx context.Context, id string) (*state, error) {
	if err := l.open(ctx); err != nil {
		return nil, err
	}
	if h, err := l.kept(id); err != nil {
		return nil, err
	} else if !h.IsZero() {
		c, err := l.store.peel(h)
		if err != nil {
			return nil, l.fail(ctx, ErrUnknownCommit, "read the kept commit "+id, err)
		}
		st := stateOf(l.store.objects, c, h, l.ref, l.loc.shown)
		st.rev.Commit = id
		return st, nil
	}
	dir, common, err := gitDir(l.loc.path)
	if err != nil {
		return nil, l.fail(ctx, ErrUnreachable, "read "+l.loc.shown, err)
	}
	if isCommit(id) && dir != "" {
		if err := l.use(dir, common); err != nil {
			return nil, l.fail(ctx, ErrUnreachable, "read "+l.loc.shown, err)
		}
		h := plumbing.NewHash(id)
		if c, err := l.repo.peel(h); err == nil && c.Hash == h {
			return stateOf(l.repo, c, h, l.ref, l.loc.shown), nil
		}
	}
	return nil, l.fail(ctx, ErrUnknownCommit, "look for commit "+id, errors.New("it is neither in "+l.loc.shown+" nor kept"))
}

// kept returns the commit of the store that stands for id; zero where there is none.
func (l *localOrigin) kept(id string) (plumbing.Hash, error) {
	refs, err := l.store.refs(keepRefs)
	if err != nil {
		return plumbing.ZeroHash, err
	}
	for ref, h := range refs {
		if ref[strings.LastIndexByte(ref, '/')+1:] == refName(id) {
			return h, nil
		}
	}
	return plumbing.ZeroHash, nil
}

// keep copies what the store lacks: the first time a whole tree, later what changed.
func (l *localOrigin) keep(ctx context.Context, states []*state) error {
	if err := l.open(ctx); err != nil {
		return err
	}
	unlock, err := l.store.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	refs := map[string]plumbing.Hash{}
	for _, st := range states {
		h, err := l.copy(ctx, st)
		if err != nil {
			return fmt.Errorf("keep %s: %w", st.rev.Commit, err)
		}
		refs[refName(st.rev.Commit)] = h
	}
	if err := l.store.keep(l.name, refs); err != nil {
		return err
	}
	return l.store.compact(ctx, nil)
}

// copy returns the commit in the store that stands for st, which is whole.
func (l *localOrigin) copy(ctx context.Context, st *state) (plumbing.Hash, error) {
	if h, err := l.kept(st.rev.Commit); err != nil || !h.IsZero() {
		return h, err
	}
	t, ok := st.tree.(*tree)
	if !ok {
		return plumbing.ZeroHash, errors.New("this is no tree of a source")
	}
	o, ok := t.content.(*objects)
	if !ok {
		return l.store.importTree(ctx, t, st.rev)
	}
	h := plumbing.NewHash(st.rev.Commit)
	c, err := o.peel(h)
	if err != nil {
		return h, err
	}
	base, err := l.keptTree()
	if err != nil {
		return h, err
	}
	if err := l.store.copyFrom(ctx, o, []*object.Commit{c}, base, l.store.has); err != nil {
		return h, err
	}
	return h, l.store.addShallow([]plumbing.Hash{h})
}

// keptTree returns the tree of a commit that is kept, which is whole in the store: what it has need not be copied.
func (l *localOrigin) keptTree() (plumbing.Hash, error) {
	refs, err := l.store.refs(keepRefs + l.name + "/")
	if err != nil {
		return plumbing.ZeroHash, err
	}
	for _, h := range refs {
		if c, err := l.store.peel(h); err == nil {
			return c.TreeHash, nil
		}
	}
	return plumbing.ZeroHash, nil
}

// refName turns "sha256:..." into what may stand in a ref.
func refName(commit string) string { return strings.Replace(commit, ":", "-", 1) }
