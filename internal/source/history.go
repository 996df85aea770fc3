package source

import (
	"container/heap"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"

	"github.com/tidelock/tidelock/internal/desired"
)

// ErrShallow says that a clone holds too little of the history.
var ErrShallow = errors.New("this clone is shallow and does not reach far enough: fetch the whole history " +
	"(GitHub Actions: fetch-depth: 0 at actions/checkout; GitLab CI: GIT_DEPTH: 0; by hand: git fetch --unshallow)")

// History reads the commits of a local repository, as a person names them.
type History struct {
	objects *objects
	shown   string
}

// OpenHistory opens the repository of a folder: the root of a working tree, or a bare repository.
func OpenHistory(folder string) (*History, error) {
	dir, common, err := gitDir(folder)
	if err != nil {
		return nil, err
	}
	if dir == "" {
		return nil, fmt.Errorf("%s is in no git repository: there are no commits to compare", folder)
	}
	o := newObjects(dir, common)
	if err := supported(o); err != nil {
		return nil, err
	}
	return &History{objects: o, shown: folder}, nil
}

func (h *History) shallow() bool {
	st, err := os.Stat(filepath.Join(h.objects.commonDir, "shallow"))
	return err == nil && st.Size() > 0
}

// Default names the branch that changes are compared with: the remote's default branch, where that is known, else main or
// master, of the remote before those here.
func (h *History) Default() (string, error) {
	if r, err := h.objects.ref("refs/remotes/origin/HEAD"); err == nil && r.Type() == plumbing.SymbolicReference {
		if _, err := h.objects.ref(r.Target().String()); err == nil {
			return r.Target().Short(), nil
		}
	}
	for _, name := range []string{"origin/main", "origin/master"} {
		if _, err := h.objects.ref("refs/remotes/" + name); err == nil {
			return name, nil
		}
	}
	for _, name := range []string{"main", "master"} {
		if _, err := h.objects.ref("refs/heads/" + name); err == nil {
			return name, nil
		}
	}
	err := errors.New("find the branch to compare with: there is no origin/HEAD, main or master")
	if h.shallow() {
		err = fmt.Errorf("%w: %w", err, ErrShallow)
	}
	return "", err
}

// Commit returns a commit by its full hash; ref is how it is shown.
func (h *History) Commit(id, ref string) (desired.Revision, fs.FS, error) {
	c, err := h.objects.peel(plumbing.NewHash(id))
	if err != nil {
		return desired.Revision{}, nil, fmt.Errorf("read commit %s: %w", id, err)
	}
	st := stateOf(h.objects, c, c.Hash, ref, h.shown)
	return st.rev, st.tree, nil
}

// MergeBase returns the newest commit that both have in their history: where a branch began, or was brought up to date.
func (h *History) MergeBase(ctx context.Context, a, b string) (string, error) {
	if a == b {
		return a, nil // also at the edge of a shallow clone
	}
	p := painter{objects: h.objects, colours: map[plumbing.Hash]colour{}}
	if err := errors.Join(p.paint(plumbing.NewHash(a), left), p.paint(plumbing.NewHash(b), right)); err != nil {
		return "", err
	}
	found, err := p.meet(ctx)
	switch {
	case err != nil:
		return "", fmt.Errorf("find where %s and %s part: %w", a, b, err)
	case !found.IsZero():
		return found.String(), nil
	case p.cut:
		return "", fmt.Errorf("find where %s and %s part: %w", a, b, ErrShallow)
	}
	return "", fmt.Errorf("%s and %s have no history in common: --exact compares them as they are", a, b)
}

// colour says whose ancestor a commit is; stale is one that is an ancestor of what both have.
type colour uint8

const (
	left colour = 1 << iota
	right
	stale
)

// painter walks two histories from the newest commit to the oldest, as git merge-base does.
type painter struct {
	objects *objects
	colours map[plumbing.Hash]colour
	queue   byTime
	cut     bool // a parent is not here
}

// paint gives a commit a colour, and queues it where that is news.
func (p *painter) paint(h plumbing.Hash, with colour) error {
	was, known := p.colours[h]
	if was|with == was {
		return nil
	}
	c, err := p.objects.peel(h)
	if err != nil {
		if !known && errors.Is(err, plumbing.ErrObjectNotFound) && len(p.colours) > 1 {
			p.cut = true // the edge of a shallow clone
			return nil
		}
		return err
	}
	p.colours[h] = was | with
	heap.Push(&p.queue, c)
	return nil
}

// meet returns the newest commit of both colours; zero for none.
func (p *painter) meet(ctx context.Context) (plumbing.Hash, error) {
	var found []*object.Commit
	for p.queue.Len() > 0 && p.anyFresh() {
		if err := ctx.Err(); err != nil {
			return plumbing.ZeroHash, err
		}
		c, _ := heap.Pop(&p.queue).(*object.Commit)
		with := p.colours[c.Hash]
		if with&(left|right) == left|right {
			if with&stale == 0 {
				found = append(found, c)
			}
			with |= stale
		}
		for _, parent := range c.ParentHashes {
			if err := p.paint(parent, with); err != nil {
				return plumbing.ZeroHash, err
			}
		}
	}
	found = slices.DeleteFunc(found, func(c *object.Commit) bool { return p.colours[c.Hash]&stale != 0 })
	return p.newest(ctx, found)
}

// newest returns the newest commit that is no ancestor of another one. Where clocks disagree, the walk may have met an
// ancestor first.
func (p *painter) newest(ctx context.Context, found []*object.Commit) (plumbing.Hash, error) {
	var best plumbing.Hash
	slices.SortStableFunc(found, func(a, b *object.Commit) int { return b.Committer.When.Compare(a.Committer.When) })
	for _, c := range found {
		if best.IsZero() {
			best = c.Hash
			continue
		}
		below, err := p.ancestors(ctx, c)
		if err != nil {
			return best, err
		}
		if below[best] {
			best = c.Hash
		}
	}
	return best, nil
}

// ancestors returns all of a commit that are here.
func (p *painter) ancestors(ctx context.Context, c *object.Commit) (map[plumbing.Hash]bool, error) {
	seen := map[plumbing.Hash]bool{}
	for todo := slices.Clone(c.ParentHashes); len(todo) > 0; {
		h := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if seen[h] {
			continue
		}
		seen[h] = true
		parent, err := p.objects.peel(h)
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case errors.Is(err, plumbing.ErrObjectNotFound):
			continue // the edge of a shallow clone
		case err != nil:
			return nil, err
		}
		todo = append(todo, parent.ParentHashes...)
	}
	return seen, nil
}

// anyFresh reports whether the queue holds a commit that may still lead to one that both have.
func (p *painter) anyFresh() bool {
	for _, c := range p.queue {
		if p.colours[c.Hash]&stale == 0 {
			return true
		}
	}
	return false
}

// byTime is a heap of commits, the newest first.
type byTime []*object.Commit

func (q *byTime) Len() int           { return len(*q) }
func (q *byTime) Less(i, j int) bool { return (*q)[i].Committer.When.After((*q)[j].Committer.When) }
func (q *byTime) Swap(i, j int)      { (*q)[i], (*q)[j] = (*q)[j], (*q)[i] }

// Push implements heap.Interface.
func (q *byTime) Push(x any) {
	if c, ok := x.(*object.Commit); ok {
		*q = append(*q, c)
	}
}

// Pop implements heap.Interface.
func (q *byTime) Pop() any {
	last := (*q)[len(*q)-1]
	*q = (*q)[:len(*q)-1]
	return last
}
