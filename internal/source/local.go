package source

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"

	"github.com/go-git/go-git/v5/plumbing"
)

// localOrigin reads a repository where it stands, or a folder without one. It writes nothing there: what is kept is
// copied into a store of ours.
type localOrigin struct {
	loc  location
	ref  string
	name string
	dir  string
	log  *slog.Logger

	repo  *objects // the repository, once found
	snap  *snapshot
	store *store // opened at the first use
	last  *state
}

func (l *localOrigin) newest(ctx context.Context) (*state, error) {
	gitDir, common, err := gitDir(l.loc.path)
	if err != nil {
		return l.last, l.fail(ctx, ErrUnreachable, "read "+l.loc.shown, err)
	}
	var st *state
	if gitDir == "" {
		st, err = l.folder(ctx)
	} else {
		st, err = l.head(ctx, gitDir, common)
	}
	if err != nil {
		return l.last, err
	}
	l.last = st
	return st, nil
}

// head resolves the ref in a repository.
func (l *localOrigin) head(ctx context.Context, gitDir, common string) (*state, error) {
	if err := l.use(gitDir, common); err != nil {
		return nil, l.fail(ctx, ErrUnreachable, "read "+l.loc.shown, err)
	}
	shown, tip, err := resolve(l.repo, l.ref)
	if err != nil {
		return nil, l.fail(ctx, kindOf(err), "find "+l.what(), err)
	}
	if l.last != nil && l.last.tip == tip && l.last.rev.Ref == shown {
		return l.last, nil
	}
	c, err := l.repo.peel(tip)
	if err != nil {
		kind := ErrUnreachable
		if isCommit(l.ref) {
			kind = ErrUnknownRef
		}
		return nil, l.fail(ctx, kind, "read "+l.what(), err)
	}
	if _, err := l.repo.list(node{key: c.TreeHash.String()}); err != nil {
		return nil, l.fail(ctx, ErrUnreachable, "read "+l.what(), err)
	}
	st := stateOf(l.repo, c, tip, shown, l.loc.shown)
	warnSubmodules(ctx, l.log, st)
	return st, nil
}

// use opens the repository, unless it is the one that is open.
func (l *localOrigin) use(gitDir, common string) error {
	if l.repo != nil && l.repo.gitDir == gitDir && l.repo.commonDir == common {
		return nil
	}
	o := newObjects(gitDir, common)
	if err := supported(o); err != nil {
		return err
	}
	l.repo = o
	return nil
}

// resolve finds the ref in a local repository. shown is the ref as the user gave it, or the branch of HEAD.
func resolve(o *objects, ref string) (shown string, tip plumbing.Hash, err error) {
	if isCommit(ref) {
		return ref, plumbing.NewHash(ref), nil
	}
	for _, name := range candidates(ref) {
		shown = ref
		for range maxPeel { // symbolic refs
			r, err := o.ref(name)
			if err != nil {
				break
			}
			if r.Type() == plumbing.HashReference {
				if shown == "" {
					shown = shortRef(name)
				}
				return shown, r.Hash(), nil
			}
			name = r.Target().String()
		}
	}
	all := o.refNames()
	if len(all) == 0 {
		return "", plumbing.ZeroHash, &failure{kind: ErrEmptyRepository, text: "it has no commit yet"}
	}
	return "", plumbing.ZeroHash, noSuchRef(ref, slices.Values(all))
}

// folder takes a snapshot, which costs reading what changed since the last one.
func (l *localOrigin) folder(ctx context.Context) (*state, error) {
	if l.ref != "" {
		return nil, l.fail(ctx, ErrUnknownRef, "find "+l.what(), errors.New("the folder is no git repository"))
	}
	snap, err := takeSnapshot(ctx, l.loc.path, l.snap, quiet, false)
	if err != nil {
		return nil, l.fail(ctx, ErrUnreachable, "read "+l.loc.shown, err)
	}
	l.snap = snap
	if l.last != nil && l.last.rev.Commit == snap.digest {
		return l.last, nil
	}
	return snap.state(l.loc.shown), nil
}

// supported refuses what the library would misread.
func supported(o *objects) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	cfg, err := o.sto.Config()
	if err != nil {
		return fmt.Errorf("read the repository's config: %w", err)
	}
	ext := cfg.Raw.Section("extensions")
	if f := ext.Option("refstorage"); f != "" && f != "files" {
		return fmt.Errorf("its refs are stored as %s, which is not supported: git refs migrate --ref-format=files", f)
	}
	if f := ext.Option("objectformat"); f != "" && f != "sha1" {
		return fmt.Errorf("its objects are named by %s, which is not supported", f)
	}
	return nil
}

func (l *localOrigin) open(ctx context.Context) (err error) {
	if l.store == nil {
		l.store, err = openStore(ctx, filepath.Join(l.dir, storeName(l.loc.shown, l.ref)))
	}
	return err
}

func (l *localOrigin) what() string {
	if l.ref == "" {
		return head + " of " + l.loc.shown
	}
	return fmt.Sprintf("%q in %s", l.ref, l.loc.shown)
}

func (l *localOrigin) fail(ctx context.Context, kind error, what string, why error) error {
	return redactor{}.fail(ctx, kind, what, why)
}

// kindOf returns the kind that an error already has, or ErrUnknownRef.
func kindOf(err error) error {
	if f := (*failure)(nil); errors.As(err, &f) {
		return f.kind
	}
	return ErrUnknownRef
}
