package source

import (
	"errors"
	"io"
	"io/fs"
	"time"
)

// info describes a node.
type info struct {
	node node
	size int64
	time time.Time
}

func (i info) Name() string       { return i.node.name }
func (i info) Size() int64        { return i.size }
func (i info) Mode() fs.FileMode  { return i.node.mode }
func (i info) ModTime() time.Time { return i.time }
func (i info) IsDir() bool        { return i.node.mode.IsDir() }

// Sys returns the hash of the content, a string.
func (i info) Sys() any { return i.node.hash }

// entry is an fs.DirEntry; its size is looked up only when it is asked for.
type entry struct {
	tree *tree
	node node
}

func (e entry) Name() string               { return e.node.name }
func (e entry) IsDir() bool                { return e.node.mode.IsDir() }
func (e entry) Type() fs.FileMode          { return e.node.mode.Type() }
func (e entry) Info() (fs.FileInfo, error) { return e.tree.info(e.node, e.node.name) }
func (e entry) String() string             { return fs.FormatDirEntry(e) }

// openFile is an open file. Like os.File it is for one goroutine at a time.
type openFile struct {
	tree   *tree
	node   node
	path   string
	body   io.ReadCloser
	closed bool
}

func (f *openFile) Stat() (fs.FileInfo, error) { return f.tree.info(f.node, f.path) }

func (f *openFile) Read(p []byte) (int, error) {
	if f.closed {
		return 0, &fs.PathError{Op: "read", Path: f.path, Err: fs.ErrClosed}
	}
	if f.body == nil {
		body, err := f.tree.open(f.node)
		if err != nil {
			return 0, &fs.PathError{Op: "read", Path: f.path, Err: err}
		}
		f.body = body
	}
	n, err := f.body.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = &fs.PathError{Op: "read", Path: f.path, Err: err}
	}
	return n, err
}

func (f *openFile) Close() error {
	if f.closed {
		return &fs.PathError{Op: "close", Path: f.path, Err: fs.ErrClosed}
	}
	f.closed = true
	if f.body == nil {
		return nil
	}
	return f.body.Close()
}

// openDir is an open folder.
type openDir struct {
	tree *tree
	node node
	path string
	at   int
}

func (d *openDir) Stat() (fs.FileInfo, error) { return d.tree.info(d.node, d.path) }
func (d *openDir) Close() error               { return nil }

func (d *openDir) Read([]byte) (int, error) {
	return 0, &fs.PathError{Op: "read", Path: d.path, Err: errors.New("is a directory")}
}

// ReadDir returns the next n entries, or all that are left where n is not positive.
func (d *openDir) ReadDir(n int) ([]fs.DirEntry, error) {
	all, err := d.tree.entries(d.node, d.path)
	if err != nil {
		return nil, err
	}
	rest := all[d.at:]
	if n > 0 && len(rest) == 0 {
		return nil, io.EOF
	}
	if n > 0 && n < len(rest) {
		rest = rest[:n]
	}
	d.at += len(rest)
	return rest, nil
}
