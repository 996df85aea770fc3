package mock

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/tidelock/tidelock/internal/openapi"
)

// loadTimeout bounds the reading of a description.
const loadTimeout = 30 * time.Second

// definition is a description in the file system.
type definition struct {
	// root is the folder that no $ref leads out of; name is the file in it, with slashes.
	root, name string
}

// locate splits the path of a description. The root is the nearest folder above that holds .git, so that files of one
// repository can refer to each other; else the file's own folder. A link in a repository may lead out of it: there the
// file is where it really is.
func locate(file string) (definition, error) {
	if strings.Contains(file, "://") {
		return definition{}, fmt.Errorf("locate %s: nothing is fetched: name a file", file)
	}
	abs, err := filepath.Abs(file)
	if err != nil {
		return definition{}, fmt.Errorf("locate %s: %w", file, err)
	}
	own := filepath.Dir(abs)
	if repositoryOf(own) != "" {
		if own, err = filepath.EvalSymlinks(own); err != nil {
			return definition{}, fmt.Errorf("locate %s: %w", file, err)
		}
	}
	root := cmp.Or(repositoryOf(own), own)
	name, err := filepath.Rel(root, filepath.Join(own, filepath.Base(abs)))
	if err != nil {
		return definition{}, fmt.Errorf("locate %s: %w", file, err)
	}
	return definition{root: root, name: filepath.ToSlash(name)}, nil
}

// repositoryOf returns the nearest folder above, or folder itself, that holds .git; empty where there is none.
func repositoryOf(folder string) string {
	for {
		if _, err := os.Stat(filepath.Join(folder, ".git")); err == nil {
			return folder
		}
		above := filepath.Dir(folder)
		if above == folder {
			return ""
		}
		folder = above
	}
}

// load reads the description: packed (gzip, as a ConfigMap holds it), or YAML or JSON with all that it refers to. It also
// returns the files that were read, or asked for, also where that failed.
func (d definition) load(ctx context.Context) (doc openapi.Document, files []string, err error) {
	ctx, cancel := context.WithTimeout(ctx, loadTimeout)
	defer cancel()
	root, err := os.OpenRoot(d.root)
	if err != nil {
		return doc, []string{filepath.Join(d.root, filepath.FromSlash(d.name))}, fmt.Errorf("open %s: %w", d.root, err)
	}
	defer root.Close()
	read := func(name string) ([]byte, error) { // once a file
		files = append(files, filepath.Join(d.root, filepath.FromSlash(name)))
		return readFile(root, name)
	}
	first, err := read(d.name)
	switch {
	case err != nil:
		err = fmt.Errorf("read %s: %w", d.name, err)
	case bytes.HasPrefix(first, []byte("\x1f\x8b")):
		doc, err = openapi.Unpack(first)
	default:
		doc, err = openapi.Bundle(ctx, d.name, func(name string) ([]byte, error) {
			if name == d.name {
				return first, nil
			}
			return read(name)
		})
	}
	return doc, files, err
}

// readFile reads one file, and no more of it than a description may have.
func readFile(root *os.Root, name string) ([]byte, error) {
	f, err := root.Open(filepath.FromSlash(name))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no regular file", name)
	}
	return io.ReadAll(io.LimitReader(f, openapi.MaxSource+1))
}
