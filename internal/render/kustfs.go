package render

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// ourConfiguration is the path under which kustomize reads the references of the kinds of ours. No repository can hold it:
// it is no valid path there.
const ourConfiguration = "/\x00/tidelock.yaml"

var errReadOnly = errors.New("the repository is read-only")

// kustFS is the repository as kustomize sees it: read-only, rooted at "/", and each kustomization file as plan has it. A
// kustomization that plan has not seen is refused, so that nothing is built unchecked.
type kustFS struct {
	tree  *tree
	files map[string][]byte
}

var _ filesys.FileSystem = kustFS{}

func treeName(p string) string {
	if p = strings.TrimPrefix(path.Clean("/"+p), "/"); p == "" {
		return "."
	}
	return p
}

// ReadFile reads a file of the repository.
func (f kustFS) ReadFile(p string) ([]byte, error) {
	if p == ourConfiguration {
		return []byte(ourReferences), nil
	}
	name := treeName(p)
	if data, ok := f.files[name]; ok {
		return data, nil
	}
	data, err := f.tree.ReadFile(name)
	if err == nil && isKustomization(name) {
		return nil, &badPath{path: name, why: "was not checked before the build"}
	}
	return data, err
}

// CleanedAbs splits p into a folder without links and a file in it; "" for a folder.
func (f kustFS) CleanedAbs(p string) (filesys.ConfirmedDir, string, error) {
	name := treeName(p)
	info, err := f.tree.Stat(name)
	if err != nil {
		return "", "", err
	}
	file := ""
	if !info.IsDir() {
		name, file = path.Dir(name), path.Base(name)
	}
	canon, err := f.tree.resolve(name)
	if err != nil {
		return "", "", err
	}
	return filesys.ConfirmedDir(path.Join("/", canon)), file, nil
}

// IsDir reports whether p is a folder.
func (f kustFS) IsDir(p string) bool {
	info, err := f.tree.Stat(treeName(p))
	return err == nil && info.IsDir()
}

// Exists reports whether p is there.
func (f kustFS) Exists(p string) bool {
	_, err := f.tree.Stat(treeName(p))
	return err == nil
}

// ReadDir, Glob, Open and Walk are not used by a build.
func (f kustFS) ReadDir(p string) ([]string, error) { return nil, unused("list", p) }

// Glob is refused.
func (f kustFS) Glob(p string) ([]string, error) { return nil, unused("match", p) }

// Open is refused.
func (f kustFS) Open(p string) (filesys.File, error) { return nil, unused("open", p) }

// Walk is refused.
func (f kustFS) Walk(p string, _ filepath.WalkFunc) error { return unused("walk", p) }

func unused(what, p string) error { return fmt.Errorf("%s %s: %w", what, p, fs.ErrInvalid) }

// Create is refused.
func (f kustFS) Create(string) (filesys.File, error) { return nil, errReadOnly }

// Mkdir is refused.
func (f kustFS) Mkdir(string) error { return errReadOnly }

// MkdirAll is refused.
func (f kustFS) MkdirAll(string) error { return errReadOnly }

// RemoveAll is refused.
func (f kustFS) RemoveAll(string) error { return errReadOnly }

// WriteFile is refused.
func (f kustFS) WriteFile(string, []byte) error { return errReadOnly }
