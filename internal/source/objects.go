package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"sync"

	"github.com/go-git/go-billy/v5/osfs"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/storage/filesystem"
	"github.com/go-git/go-git/v5/storage/filesystem/dotgit"
)

const (
	// objectCache bounds what is kept of decoded objects, in bytes.
	objectCache = 32 << 20
	// largeObject is from where on a blob is streamed from disk, in bytes.
	largeObject = 1 << 20
	// maxPeel bounds a chain of tags.
	maxPeel = 16
	// emptyTree is an object that git knows without having it.
	emptyTree = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
)

// objects reads one git repository. The library's storage is not for concurrent use, and it remembers which packs there
// are while a push or git gc may change them: so it is locked, and opened anew when something is not where it was.
type objects struct {
	gitDir, commonDir string

	mu  sync.Mutex
	sto *filesystem.Storage
	// dirs are the folders that the newest trees read, old those of the trees before: what two generations did not ask
	// for is forgotten.
	dirs, old map[plumbing.Hash][]node
}

func newObjects(gitDir, commonDir string) *objects {
	o := &objects{gitDir: gitDir, commonDir: commonDir}
	o.reopen()
	o.age()
	return o
}

// reopen forgets what is remembered of the repository's files. o.mu is held, or o is not shared yet.
func (o *objects) reopen() {
	dot := dotgit.NewRepositoryFilesystem(osfs.New(o.gitDir), osfs.New(o.commonDir))
	o.sto = filesystem.NewStorageWithOptions(dot, cache.NewObjectLRU(objectCache), filesystem.Options{
		LargeObjectThreshold: largeObject,
		AlternatesFS:         osfs.New("/"),
	})
}

// age begins a new generation of folders.
func (o *objects) age() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.dirs, o.old = map[plumbing.Hash][]node{}, o.dirs
}

// get returns an object; a missing one is looked for twice.
func (o *objects) get(t plumbing.ObjectType, h plumbing.Hash) (plumbing.EncodedObject, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.locked(t, h)
}

func (o *objects) locked(t plumbing.ObjectType, h plumbing.Hash) (plumbing.EncodedObject, error) {
	obj, err := o.sto.EncodedObject(t, h)
	if err != nil {
		o.reopen()
		obj, err = o.sto.EncodedObject(t, h)
	}
	if err != nil {
		return nil, fmt.Errorf("read git object %s: %w", h, err)
	}
	return obj, nil
}

// has tells whether an object is there, without reading it.
func (o *objects) has(h plumbing.Hash) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.sto.HasEncodedObject(h) == nil {
		return true
	}
	_, err := o.sto.EncodedObject(plumbing.AnyObject, h) // objects of alternates
	return err == nil
}

// ref returns what a ref of the repository points at.
func (o *objects) ref(name string) (*plumbing.Reference, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.sto.Reference(plumbing.ReferenceName(name))
}

// refNames returns the full names of all refs that lead to something.
func (o *objects) refNames() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	iter, err := o.sto.IterReferences()
	if err != nil {
		return nil
	}
	defer iter.Close()
	var names []string
	_ = iter.ForEach(func(r *plumbing.Reference) error {
		if r.Type() == plumbing.HashReference {
			names = append(names, r.Name().String())
		}
		return nil
	})
	return names
}

// peel follows tags from h to a commit.
func (o *objects) peel(h plumbing.Hash) (*object.Commit, error) {
	for range maxPeel {
		obj, err := o.get(plumbing.AnyObject, h)
		if err != nil {
			return nil, err
		}
		if obj.Type() == plumbing.CommitObject {
			c := &object.Commit{}
			return c, c.Decode(obj)
		}
		if obj.Type() != plumbing.TagObject {
			return nil, fmt.Errorf("%s is a %s, no commit", h, obj.Type())
		}
		t := &object.Tag{}
		if err := t.Decode(obj); err != nil {
			return nil, err
		}
		h = t.Target
	}
	return nil, fmt.Errorf("%s is a chain of more than %d tags", h, maxPeel)
}

// list implements content: key is the hash of a tree.
func (o *objects) list(dir node) ([]node, error) {
	if dir.key == "" || dir.key == emptyTree {
		return nil, nil
	}
	h := plumbing.NewHash(dir.key)
	o.mu.Lock()
	defer o.mu.Unlock()
	nodes, ok := o.dirs[h]
	if !ok {
		nodes, ok = o.old[h]
	}
	if !ok {
		obj, err := o.locked(plumbing.TreeObject, h)
		if err != nil {
			return nil, err
		}
		t := &object.Tree{}
		if err := t.Decode(obj); err != nil {
			return nil, fmt.Errorf("read git tree %s: %w", h, err)
		}
		if nodes, err = entries(t); err != nil {
			return nil, err
		}
	}
	o.dirs[h] = nodes
	return nodes, nil
}

// entries translates a git tree, which orders folders as if their names ended in a slash, and is hostile input.
func entries(t *object.Tree) ([]node, error) {
	nodes := make([]node, len(t.Entries))
	for i, e := range t.Entries {
		if e.Name == "." || e.Name == ".." || strings.Contains(e.Name, "/") {
			return nil, fmt.Errorf("git tree %s: %q is no name of a file", t.Hash, e.Name)
		}
		n := node{name: e.Name, key: e.Hash.String()}
		n.hash = n.key
		switch e.Mode {
		case filemode.Dir:
			n.mode = fs.ModeDir | 0o755
		case filemode.Symlink:
			n.mode = fs.ModeSymlink | 0o777
		case filemode.Executable:
			n.mode = 0o755
		case filemode.Submodule:
			n.mode, n.key = fs.ModeDir|0o755, ""
		case filemode.Empty, filemode.Regular, filemode.Deprecated:
			n.mode = 0o644
		}
		nodes[i] = n
	}
	slices.SortFunc(nodes, func(a, b node) int { return strings.Compare(a.name, b.name) })
	for i := 1; i < len(nodes); i++ {
		if nodes[i].name == nodes[i-1].name {
			return nil, fmt.Errorf("git tree %s: two entries are named %q", t.Hash, nodes[i].name)
		}
	}
	return nodes, nil
}

// size implements content.
func (o *objects) size(file node) (int64, error) {
	h := plumbing.NewHash(file.key)
	o.mu.Lock()
	defer o.mu.Unlock()
	if size, err := o.sto.EncodedObjectSize(h); err == nil {
		return size, nil
	}
	obj, err := o.locked(plumbing.BlobObject, h)
	if err != nil {
		return 0, err
	}
	return obj.Size(), nil
}

// open implements content.
func (o *objects) open(file node) (io.ReadCloser, error) {
	h := plumbing.NewHash(file.key)
	o.mu.Lock()
	defer o.mu.Unlock()
	obj, err := o.locked(plumbing.BlobObject, h)
	if err != nil {
		return nil, err
	}
	r, err := obj.Reader()
	if err != nil {
		return nil, fmt.Errorf("read git object %s: %w", h, err)
	}
	if obj.Size() > largeObject {
		return &lockedReader{mu: &o.mu, ReadCloser: r}, nil
	}
	return r, nil
}

// lockedReader streams from a pack: what it resolves deltas with is shared with the storage.
type lockedReader struct {
	mu *sync.Mutex
	io.ReadCloser
}

func (r *lockedReader) Read(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ReadCloser.Read(p)
}

// walk calls visit for every object that the folder has and base has not, folders before what is in them. It does not
// look into folders that are equal in both.
func (o *objects) walk(ctx context.Context, dir, base plumbing.Hash, visit func(plumbing.Hash) error) error {
	if dir == base || dir.String() == emptyTree {
		return nil
	}
	if err := errors.Join(ctx.Err(), visit(dir)); err != nil {
		return err
	}
	nodes, err := o.list(node{key: dir.String()})
	if err != nil {
		return err
	}
	var before []node
	if !base.IsZero() {
		if before, err = o.list(node{key: base.String()}); err != nil {
			before = nil // a base that is gone saves nothing
		}
	}
	for _, n := range nodes {
		i, found := slices.BinarySearchFunc(before, n.name, func(b node, s string) int { return strings.Compare(b.name, s) })
		var was node
		if found {
			was = before[i]
		}
		switch {
		case n.key == "" || found && n.key == was.key:
			continue
		case !n.mode.IsDir():
			err = visit(plumbing.NewHash(n.key))
		case was.mode.IsDir():
			err = o.walk(ctx, plumbing.NewHash(n.key), plumbing.NewHash(was.key), visit)
		default:
			err = o.walk(ctx, plumbing.NewHash(n.key), plumbing.ZeroHash, visit)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
