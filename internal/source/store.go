package source

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"
)

const (
	// ourRefs is how all refs of the store begin.
	ourRefs = "refs/tidelock"
	// tipRef is the newest commit that is here whole.
	tipRef = "refs/tidelock-tip"
	// keepRefs are the commits that instances keep: refs/tidelock/<instance>/<commit>.
	keepRefs = "refs/tidelock/"
	// maxRecent is how many of the newest commits stay whole when packs are made one.
	maxRecent = 8
	// maxPacks is after how many fetches the packs are made one.
	maxPacks = 32
	// lockPoll is how often a store that another process writes to is tried again.
	lockPoll = 20 * time.Millisecond
)

// store is a bare repository of ours that holds commits with their whole trees, and of their history what came along.
// Several processes may use one: whoever writes holds the lock, and a commit that a ref names is always whole.
type store struct {
	dir string
	*objects
}

// openStore makes or mends the store in dir.
func openStore(ctx context.Context, dir string) (*store, error) {
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return nil, fmt.Errorf("make the folder for git objects (is the data directory writable?): %w", err)
	}
	st := &store{dir: dir}
	unlock, err := st.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	lost := false
	if _, err := os.Stat(filepath.Join(dir, head)); err != nil {
		if err := initStore(dir); err != nil {
			return nil, fmt.Errorf("make the object store %s: %w", dir, err)
		}
	} else if lost, err = mend(dir); err != nil {
		return nil, fmt.Errorf("mend the object store %s: %w", dir, err)
	}
	st.objects = newObjects(dir, dir)
	if lost {
		return st, st.letGo(ctx)
	}
	return st, nil
}

// letGo removes the refs to commits that are not whole any more. The lock is held.
func (st *store) letGo(ctx context.Context) error {
	refs, err := st.refs(ourRefs)
	if err != nil {
		return err
	}
	for ref, h := range refs {
		c, err := st.peel(h)
		if err == nil {
			err = st.there(ctx, c, plumbing.ZeroHash)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err == nil {
			continue
		}
		if err := os.Remove(filepath.Join(st.dir, filepath.FromSlash(ref))); err != nil {
			return fmt.Errorf("let go of %s: %w", ref, err)
		}
	}
	return nil
}

// initStore makes dir in one step, so that a crash leaves nothing half made.
func initStore(dir string) (err error) {
	tmp, err := os.MkdirTemp(filepath.Dir(dir), filepath.Base(dir)+".new-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(tmp)) }()
	o := newObjects(tmp, tmp)
	if err := o.sto.Init(); err != nil {
		return err
	}
	// HEAD and config make it a repository for git's own commands too.
	config := "[core]\n\trepositoryformatversion = 0\n\tbare = true\n[gc]\n\tauto = 0\n"
	if err := os.WriteFile(filepath.Join(tmp, "config"), []byte(config), 0o600); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(tmp, "HEAD"), []byte("ref: refs/heads/main\n"), 0o600); err != nil {
		return err
	}
	if err := os.RemoveAll(dir); err != nil { // the rest of something that was never one of ours
		return err
	}
	return os.Rename(tmp, dir)
}

// lock waits for the store's lock, which the kernel frees when its holder dies.
func (st *store) lock(ctx context.Context) (unlock func(), err error) {
	f, err := os.OpenFile(st.dir+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock the object store: %w", err)
	}
	wait := time.NewTicker(lockPoll)
	defer wait.Stop()
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return func() { _ = f.Close() }, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			return nil, errors.Join(fmt.Errorf("lock the object store %s: %w", st.dir, err), f.Close())
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(fmt.Errorf("wait for the lock of the object store %s: %w", st.dir, ctx.Err()), f.Close())
		case <-wait.C:
		}
	}
}

// tip returns the newest commit that is here whole; nil for none.
func (st *store) tip() *object.Commit {
	ref, err := st.ref(tipRef)
	if err != nil || !st.has(ref.Hash()) {
		return nil
	}
	c, err := st.peel(ref.Hash())
	if err != nil || !st.has(c.TreeHash) && c.TreeHash.String() != emptyTree {
		return nil
	}
	return c
}

// whole returns the commit that h is, or is a tag of, where all of its tree is here; else an error that names what is
// missing. It costs as much as the commit differs from the tip, which is known to be whole.
func (st *store) whole(ctx context.Context, h plumbing.Hash) (*object.Commit, error) {
	if !st.has(h) {
		return nil, fmt.Errorf("git object %s: %w", h, plumbing.ErrObjectNotFound)
	}
	c, err := st.peel(h)
	if err != nil {
		return nil, err
	}
	var base plumbing.Hash
	if tip := st.tip(); tip != nil {
		base = tip.TreeHash
	}
	return c, st.there(ctx, c, base)
}

// there tells, as an error, what of the commit's tree is missing, where all of the tree base is there.
func (st *store) there(ctx context.Context, c *object.Commit, base plumbing.Hash) error {
	return st.walk(ctx, c.TreeHash, base, func(h plumbing.Hash) error {
		if !st.has(h) {
			return fmt.Errorf("git object %s: %w", h, plumbing.ErrObjectNotFound)
		}
		return nil
	})
}

// setRef points a ref of ours at h. The lock is held.
func (st *store) setRef(name string, h plumbing.Hash) error {
	st.mu.Lock()
	defer st.mu.Unlock()
	if err := st.sto.SetReference(plumbing.NewHashReference(plumbing.ReferenceName(name), h)); err != nil {
		return fmt.Errorf("set %s in the object store: %w", name, err)
	}
	return nil
}

// refs returns the refs below prefix by name.
func (st *store) refs(prefix string) (map[string]plumbing.Hash, error) {
	st.mu.Lock()
	defer st.mu.Unlock()
	iter, err := st.sto.IterReferences()
	if err != nil {
		return nil, fmt.Errorf("list refs of the object store: %w", err)
	}
	defer iter.Close()
	out := map[string]plumbing.Hash{}
	err = iter.ForEach(func(r *plumbing.Reference) error {
		if r.Type() == plumbing.HashReference && strings.HasPrefix(r.Name().String(), prefix) {
			out[r.Name().String()] = r.Hash()
		}
		return nil
	})
	return out, err
}

// keep points name's refs at commits, which are here whole, and lets go of those that it kept before. The lock is held.
func (st *store) keep(name string, commits map[string]plumbing.Hash) error {
	prefix := keepRefs + name + "/"
	before, err := st.refs(prefix)
	if err != nil {
		return err
	}
	for ref, h := range commits {
		if err := st.setRef(prefix+ref, h); err != nil {
			return err
		}
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	for ref := range before {
		if _, ok := commits[strings.TrimPrefix(ref, prefix)]; ok {
			continue
		}
		if err := st.sto.RemoveReference(plumbing.ReferenceName(ref)); err != nil {
			return fmt.Errorf("let go of %s: %w", ref, err)
		}
	}
	return nil
}
