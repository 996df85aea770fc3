package source

import (
	"bytes"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/go-git/go-git/v5/plumbing/format/gitignore"
)

// ignored tells what of a working tree would be in no commit: what .gitignore names and the index has not, and what lies in
// a submodule or a clone inside the tree, of which a commit holds but the name. A nil one ignores nothing.
type ignored struct {
	root     string
	patterns []gitignore.Pattern
	tracked  map[string]bool // files of the index, and the folders above them
}

// ignoredIn returns what is ignored in the working tree of a repository; nil where root is none.
func ignoredIn(root string) (*ignored, error) {
	dir, common, err := gitDir(root)
	if err != nil || dir == "" || dir == root {
		return nil, nil //nolint:nilerr,nilnil // a folder that only looks like a repository is read as it stands
	}
	index, err := newObjects(dir, common).sto.Index()
	if err != nil {
		return nil, fmt.Errorf("read the index: %w", err)
	}
	ig := &ignored{root: root, tracked: map[string]bool{}}
	for _, e := range index.Entries {
		for name := e.Name; name != "." && !ig.tracked[name]; name = path.Dir(name) {
			ig.tracked[name] = true
		}
	}
	return ig, ig.read(filepath.Join(common, "info", "exclude"), nil)
}

// enter reads the patterns of a folder, by its path from the root.
func (ig *ignored) enter(dir string) error {
	if ig == nil {
		return nil
	}
	var domain []string
	if dir != "" {
		domain = strings.Split(dir, "/")
	}
	return ig.read(filepath.Join(ig.root, dir, ".gitignore"), domain)
}

func (ig *ignored) read(file string, domain []string) error {
	data, err := os.ReadFile(file) //nolint:gosec // the working tree of who asks
	switch {
	case os.IsNotExist(err):
		return nil
	case err != nil:
		return fmt.Errorf("read what git ignores: %w", err)
	}
	for line := range bytes.Lines(data) {
		text := strings.TrimRight(string(line), "\r\n")
		if text != "" && text[0] != '#' {
			ig.patterns = append(ig.patterns, gitignore.ParsePattern(strings.ReplaceAll(text, "[!", "[^"), domain))
		}
	}
	return nil
}

// has tells whether git leaves name out.
func (ig *ignored) has(name string, isDir bool) bool {
	return ig != nil && !ig.tracked[name] && gitignore.NewMatcher(ig.patterns).Match(strings.Split(name, "/"), isDir)
}

// foreign tells whether a folder belongs to another repository.
func (ig *ignored) foreign(dir string) bool {
	if ig == nil {
		return false
	}
	_, err := os.Lstat(filepath.Join(ig.root, dir, ".git"))
	return err == nil
}
