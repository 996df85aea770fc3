package source

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"slices"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"

	"github.com/tidelock/tidelock/internal/desired"
)

// importer turns a snapshot into git objects.
type importer struct {
	tree  *tree
	seen  map[plumbing.Hash]plumbing.EncodedObject // nil for a blob, which is read again when it is written
	blobs map[plumbing.Hash]node
	order []plumbing.Hash
}

// importTree writes a snapshot into the store as a commit without parents, so that it outlives the folder's next change.
// The lock is held.
func (st *store) importTree(ctx context.Context, t *tree, rev desired.Revision) (plumbing.Hash, error) {
	im := importer{tree: t, seen: map[plumbing.Hash]plumbing.EncodedObject{}, blobs: map[plumbing.Hash]node{}}
	root, err := im.folder(ctx, t.root)
	if err != nil {
		return plumbing.ZeroHash, err
	}
	c := &object.Commit{TreeHash: root, Message: rev.Commit + "\n", Author: object.Signature{When: rev.Time.UTC()}}
	c.Author.Name, c.Author.Email, c.Committer = rev.Subject, "", object.Signature{When: rev.Time.UTC()}
	h, err := im.add(c.Encode)
	if err != nil {
		return plumbing.ZeroHash, err
	}
	im.order = slices.DeleteFunc(im.order, st.has)
	if len(im.order) == 0 {
		return h, nil
	}
	return h, st.addObjects(ctx, im.order, im.get)
}

func (im *importer) get(h plumbing.Hash) (plumbing.EncodedObject, error) {
	if obj := im.seen[h]; obj != nil {
		return obj, nil
	}
	b, err := im.tree.read(im.blobs[h])
	if err != nil {
		return nil, err
	}
	obj := &plumbing.MemoryObject{}
	obj.SetType(plumbing.BlobObject)
	if _, err := obj.Write(b); err != nil {
		return nil, err
	}
	if obj.Hash() != h {
		return nil, errMoving
	}
	return obj, nil
}

// add takes a commit or a tree.
func (im *importer) add(encode func(plumbing.EncodedObject) error) (plumbing.Hash, error) {
	obj := &plumbing.MemoryObject{}
	if err := encode(obj); err != nil {
		return plumbing.ZeroHash, err
	}
	h := obj.Hash()
	if _, ok := im.seen[h]; !ok {
		im.seen[h] = obj
		im.order = append(im.order, h)
	}
	return h, nil
}

func (im *importer) folder(ctx context.Context, dir node) (plumbing.Hash, error) {
	nodes, err := im.tree.list(dir)
	if err := errors.Join(err, ctx.Err()); err != nil {
		return plumbing.ZeroHash, err
	}
	t := &object.Tree{}
	for _, n := range nodes {
		e := object.TreeEntry{Name: n.name, Mode: filemode.Regular}
		switch {
		case n.mode.IsDir():
			e.Mode = filemode.Dir
			e.Hash, err = im.folder(ctx, n)
		default:
			e.Hash, err = im.blob(n)
		}
		if err != nil {
			return plumbing.ZeroHash, err
		}
		switch {
		case n.mode&fs.ModeSymlink != 0:
			e.Mode = filemode.Symlink
		case n.mode.IsRegular() && n.mode&0o111 != 0:
			e.Mode = filemode.Executable
		}
		t.Entries = append(t.Entries, e)
	}
	slices.SortFunc(t.Entries, func(a, b object.TreeEntry) int { return cmp.Compare(sortName(a), sortName(b)) })
	return im.add(t.Encode)
}

// sortName is the name by which git orders entries.
func sortName(e object.TreeEntry) string {
	if e.Mode == filemode.Dir {
		return e.Name + "/"
	}
	return e.Name
}

func (im *importer) blob(n node) (plumbing.Hash, error) {
	b, err := im.tree.read(n)
	if err != nil {
		return plumbing.ZeroHash, err
	}
	h := plumbing.ComputeHash(plumbing.BlobObject, b)
	if _, ok := im.seen[h]; !ok {
		im.seen[h] = nil
		im.blobs[h] = n
		im.order = append(im.order, h)
	}
	return h, nil
}
