package render

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Bounds of what one render reads.
const (
	// maxFile is the size of one file.
	maxFile = 16 << 20
	// maxTotal is the size of all files that one render reads.
	maxTotal = 512 << 20
	// maxFiles is how many files and folders one render looks at.
	maxFiles = 200_000
	// maxFolders is how deep folders may be nested.
	maxFolders = 64
	// maxLinks is how many links one path may lead through, as in Linux.
	maxLinks = 40
)

// The states of a name that are not a hash.
const (
	stateMissing = "missing"
	stateFolder  = "folder"
	stateRefused = "refused: "
)

// badPath is a path that is refused. It names the path as it stands in the repository, and nothing of what a link leads to.
type badPath struct {
	path string
	why  string
}

func (e *badPath) Error() string { return e.path + " " + e.why }

func tooDeep(name string) *badPath {
	return &badPath{path: name, why: fmt.Sprintf("is nested more than %d deep", maxFolders)}
}

// tree reads the repository: links are resolved inside it, what leads out is refused, sizes are bounded. Names are
// slash-separated from the repository's root. A tree is for one render and one goroutine.
type tree struct {
	base  fs.FS
	links fs.ReadLinkFS // nil where base has no links
	real  map[string]string
	total *int
	// reads records the state of each name that was looked at; nil where nobody asks.
	reads map[string]string
}

func newTree(base fs.FS) *tree {
	links, _ := base.(fs.ReadLinkFS)
	return &tree{base: base, links: links, real: map[string]string{}, total: new(int)}
}

// recording returns a tree over the same files that records into reads.
func (t *tree) recording(reads map[string]string) *tree {
	c := *t
	c.reads = reads
	return &c
}

// Open opens a file or folder of the repository.
func (t *tree) Open(name string) (fs.File, error) {
	info, err := t.Stat(name)
	if err != nil {
		return nil, err
	}
	if err := fits(name, info); err != nil {
		return nil, err
	}
	return t.base.Open(t.real[name])
}

// Stat describes what name leads to.
func (t *tree) Stat(name string) (fs.FileInfo, error) {
	info, err := t.stat(name)
	if t.reads != nil {
		t.reads[name] = t.stateOf(name, info, err)
	}
	return info, err
}

func (t *tree) stat(name string) (fs.FileInfo, error) {
	canon, err := t.resolve(name)
	if err != nil {
		return nil, err
	}
	info, err := fs.Stat(t.base, canon)
	if err != nil {
		return nil, fmt.Errorf("look at %s: %w", name, err)
	}
	return info, nil
}

// ReadFile returns the content of a file.
func (t *tree) ReadFile(name string) ([]byte, error) {
	info, err := t.Stat(name)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return nil, &badPath{path: name, why: "is a folder"}
	}
	if err := fits(name, info); err != nil {
		return nil, err
	}
	data, err := fs.ReadFile(t.base, t.real[name])
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	if isPointer(data) {
		return nil, &badPath{path: name, why: "is a pointer of Git LFS, its content is not in the repository: " +
			"take it out of LFS (git lfs migrate export)"}
	}
	*t.total += len(data)
	if *t.total > maxTotal {
		return nil, &badPath{path: name, why: fmt.Sprintf("is one too many: more than %d MiB to read", maxTotal>>20)}
	}
	return data, nil
}

// maxPointer bounds a pointer of Git LFS, as its specification does.
const maxPointer = 1024

func isPointer(data []byte) bool {
	return len(data) < maxPointer && bytes.HasPrefix(data, []byte("version https://git-lfs.github.com/spec/"))
}

// ReadDir lists a folder, sorted by name. Links show as links.
func (t *tree) ReadDir(name string) ([]fs.DirEntry, error) {
	if _, err := t.Stat(name); err != nil {
		return nil, err
	}
	entries, err := fs.ReadDir(t.base, t.real[name])
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", name, err)
	}
	return entries, nil
}

func fits(name string, info fs.FileInfo) error {
	if info.Size() > maxFile && !info.IsDir() {
		return &badPath{path: name, why: fmt.Sprintf("is larger than %d MiB", maxFile>>20)}
	}
	if !info.IsDir() && !info.Mode().IsRegular() {
		return &badPath{path: name, why: "is neither a file nor a folder"}
	}
	return nil
}

// hash returns the content hash of a file: git's own where the tree carries it.
func (t *tree) hash(name string, info fs.FileInfo) (string, error) {
	if h, ok := info.Sys().(string); ok && h != "" {
		return h, nil
	}
	if err := fits(name, info); err != nil {
		return "", err
	}
	data, err := fs.ReadFile(t.base, t.real[name])
	if err != nil {
		return "", fmt.Errorf("read %s: %w", name, err)
	}
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:]), nil
}

// state returns a text that is equal where name leads to equal content: a hash, "folder", or what is wrong.
func (t *tree) state(name string) string {
	info, err := t.stat(name)
	return t.stateOf(name, info, err)
}

// unchanged reports whether every name leads to what it led to when reads were recorded.
func (t *tree) unchanged(reads map[string]string) bool {
	for name, state := range reads {
		if t.state(name) != state {
			return false
		}
	}
	return true
}

func (t *tree) stateOf(name string, info fs.FileInfo, err error) string {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return stateMissing
	case err != nil:
		return stateRefused + err.Error()
	case info.IsDir():
		return stateFolder
	}
	h, err := t.hash(name, info)
	if err != nil {
		return stateRefused + err.Error()
	}
	return h
}

// resolve returns the name that name leads to, without links.
func (t *tree) resolve(name string) (string, error) {
	if !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl) {
		return "", &badPath{path: name, why: "is a name that is not UTF-8, or holds a control character: rename it, or name the " +
			"folder above in " + ignoreFile}
	}
	if !fs.ValidPath(name) {
		return "", &badPath{path: name, why: "leads out of the repository"}
	}
	if strings.Count(name, "/") > maxFolders {
		return "", tooDeep(name)
	}
	return t.walk(name, 0)
}

// walk resolves the parent of name, then name in it. Results are kept, so that a chain of links costs what it is long.
func (t *tree) walk(name string, hops int) (string, error) {
	if name == "." {
		t.real["."] = "."
		return ".", nil
	}
	if canon, ok := t.real[name]; ok {
		return canon, nil
	}
	dir, err := t.walk(path.Dir(name), hops)
	if err != nil {
		return "", err
	}
	canon := path.Join(dir, path.Base(name))
	if t.links != nil {
		if canon, err = t.deref(dir, canon, hops); err != nil {
			return "", err
		}
	}
	t.real[name] = canon
	return canon, nil
}

// deref returns where link, an entry of dir, leads to; itself where it is no link.
func (t *tree) deref(dir, link string, hops int) (string, error) {
	info, err := t.links.Lstat(link)
	if err != nil {
		return "", fmt.Errorf("look at %s: %w", link, err)
	}
	if info.Mode()&fs.ModeSymlink == 0 {
		return link, nil
	}
	if hops >= maxLinks {
		return "", &badPath{path: link, why: "is a link that leads round in a circle"}
	}
	target, err := t.links.ReadLink(link)
	if err != nil {
		return "", fmt.Errorf("read link %s: %w", link, err)
	}
	outside := &badPath{path: link, why: "is a link that leads out of the repository"}
	if path.IsAbs(target) {
		return "", outside
	}
	at := dir
	for part := range strings.SplitSeq(target, "/") {
		switch part {
		case "", ".":
		case "..":
			if at == "." {
				return "", outside
			}
			at = path.Dir(at)
		default:
			if at, err = t.walk(path.Join(at, part), hops+1); err != nil {
				return "", dangling(link, err)
			}
		}
	}
	return at, nil
}

// dangling names the link, not what it leads to, where that is missing.
func dangling(link string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: %w", &badPath{path: link, why: "is a link that leads to nothing"}, fs.ErrNotExist)
	}
	return err
}
