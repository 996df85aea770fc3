package source

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"
)

// maxLink bounds the target of a symbolic link, as Linux does.
const maxLink = 4096

// node is one entry of a folder.
type node struct {
	name string
	mode fs.FileMode
	// key is what the content is found by.
	key string
	// hash is equal only for equal content; empty for a folder that has none.
	hash string
}

// content is where a tree's folders and files come from. It is safe for concurrent use.
type content interface {
	// list returns the entries of a folder, sorted by name. They are shared and must not be changed.
	list(dir node) ([]node, error)
	size(file node) (int64, error)
	open(file node) (io.ReadCloser, error)
}

// tree is the fs.FS over a content.
type tree struct {
	content
	root node
	// time that every file shows: the commit's, so that equal commits look equal.
	time time.Time
}

var (
	_ fs.ReadDirFS  = (*tree)(nil)
	_ fs.ReadFileFS = (*tree)(nil)
	_ fs.StatFS     = (*tree)(nil)
	_ fs.ReadLinkFS = (*tree)(nil)
)

// find returns the node at name without following a link at its end.
func (t *tree) find(op, name string) (node, error) {
	if !fs.ValidPath(strings.ToValidUTF8(name, "_")) { // git knows names in any encoding
		return node{}, &fs.PathError{Op: op, Path: name, Err: fs.ErrInvalid}
	}
	at := t.root
	if name == "." {
		return at, nil
	}
	done := 0
	for part := range strings.SplitSeq(name, "/") {
		if at.mode&fs.ModeSymlink != 0 {
			return node{}, &fs.PathError{Op: op, Path: name, Err: fmt.Errorf("%s %w", name[:done-1], ErrLink)}
		}
		if !at.mode.IsDir() {
			return node{}, &fs.PathError{Op: op, Path: name, Err: fs.ErrNotExist}
		}
		nodes, err := t.list(at)
		if err != nil {
			return node{}, &fs.PathError{Op: op, Path: name, Err: err}
		}
		i, found := slices.BinarySearchFunc(nodes, part, func(n node, s string) int { return strings.Compare(n.name, s) })
		if !found {
			return node{}, &fs.PathError{Op: op, Path: name, Err: fs.ErrNotExist}
		}
		at, done = nodes[i], done+len(part)+1
	}
	return at, nil
}

// target is find for what reads content: a link is refused.
func (t *tree) target(op, name string) (node, error) {
	n, err := t.find(op, name)
	if err == nil && n.mode&fs.ModeSymlink != 0 {
		err = &fs.PathError{Op: op, Path: name, Err: ErrLink}
	}
	return n, err
}

// Open opens a file or a folder. Content is read when it is asked for, not before.
func (t *tree) Open(name string) (fs.File, error) {
	n, err := t.target("open", name)
	if err != nil {
		return nil, err
	}
	if n.mode.IsDir() {
		return &openDir{tree: t, node: n, path: name}, nil
	}
	return &openFile{tree: t, node: n, path: name}, nil
}

// ReadDir returns the entries of a folder, sorted by name.
func (t *tree) ReadDir(name string) ([]fs.DirEntry, error) {
	n, err := t.target("readdir", name)
	if err != nil {
		return nil, err
	}
	return t.entries(n, name)
}

func (t *tree) entries(n node, name string) ([]fs.DirEntry, error) {
	if !n.mode.IsDir() {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: errors.New("not a directory")}
	}
	nodes, err := t.list(n)
	if err != nil {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: err}
	}
	out := make([]fs.DirEntry, len(nodes))
	for i, n := range nodes {
		out[i] = entry{tree: t, node: n}
	}
	return out, nil
}

// ReadFile returns a whole file, of any size: ask Stat first where that matters.
func (t *tree) ReadFile(name string) ([]byte, error) {
	n, err := t.target("open", name)
	if err != nil {
		return nil, err
	}
	if n.mode.IsDir() {
		return nil, &fs.PathError{Op: "read", Path: name, Err: errors.New("is a directory")}
	}
	b, err := t.read(n)
	if err != nil {
		return nil, &fs.PathError{Op: "read", Path: name, Err: err}
	}
	return b, nil
}

func (t *tree) read(n node) (_ []byte, err error) {
	size, err := t.size(n)
	if err != nil {
		return nil, err
	}
	r, err := t.open(n)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	var buf bytes.Buffer
	buf.Grow(int(min(size+bytes.MinRead, 1<<20)))
	_, err = buf.ReadFrom(r)
	return buf.Bytes(), err
}

// Stat describes a file or a folder; a link is refused.
func (t *tree) Stat(name string) (fs.FileInfo, error) {
	n, err := t.target("stat", name)
	if err != nil {
		return nil, err
	}
	return t.info(n, name)
}

// Lstat describes whatever name is, also a link.
func (t *tree) Lstat(name string) (fs.FileInfo, error) {
	n, err := t.find("lstat", name)
	if err != nil {
		return nil, err
	}
	return t.info(n, name)
}

// ReadLink returns the target of a link as it was committed: it may lead anywhere.
func (t *tree) ReadLink(name string) (string, error) {
	n, err := t.find("readlink", name)
	if err != nil {
		return "", err
	}
	if n.mode&fs.ModeSymlink == 0 {
		return "", &fs.PathError{Op: "readlink", Path: name, Err: fs.ErrInvalid}
	}
	size, err := t.size(n)
	if err == nil && size > maxLink {
		err = fmt.Errorf("the target of the link is longer than %d bytes", maxLink)
	}
	if err != nil {
		return "", &fs.PathError{Op: "readlink", Path: name, Err: err}
	}
	b, err := t.read(n)
	if err != nil {
		return "", &fs.PathError{Op: "readlink", Path: name, Err: err}
	}
	return string(b), nil
}

func (t *tree) info(n node, name string) (fs.FileInfo, error) {
	i := info{node: n, time: t.time}
	i.node.name = path.Base(name)
	if n.mode.IsDir() {
		return i, nil
	}
	var err error
	if i.size, err = t.size(n); err != nil {
		return nil, &fs.PathError{Op: "stat", Path: name, Err: err}
	}
	return i, nil
}
