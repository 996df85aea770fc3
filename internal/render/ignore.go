package render

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/go-git/go-git/v5/plumbing/format/gitignore"

	"github.com/tidelock/tidelock/internal/desired"
)

// ignoreFile names, as .gitignore does, files of a plain folder that are no manifests.
const ignoreFile = ".tidelockignore"

// ignore is the patterns in force in a folder, the nearest last.
type ignore []gitignore.Pattern

// match reports whether name is left out. Patterns of a nearer folder win, later lines win, "!" takes back.
func (ig ignore) match(name string, isDir bool) bool {
	return gitignore.NewMatcher(ig).Match(strings.Split(name, "/"), isDir)
}

// ignoredAbove returns the patterns of the folders from root to above dir.
func (r *run) ignoredAbove(root, dir string) (ignore, error) {
	if dir == root {
		return nil, nil
	}
	parent := path.Dir(dir)
	above, err := r.ignoredAbove(root, parent)
	if err != nil {
		return nil, err
	}
	return r.ignoredIn(parent, above)
}

// ignoredIn returns above and the patterns of dir's own file.
func (r *run) ignoredIn(dir string, above ignore) (ignore, error) {
	name := path.Join(dir, ignoreFile)
	data, err := r.tree.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return above, nil
	}
	if err != nil {
		return above, r.refuse(desired.Origin{Path: name}, err)
	}
	var domain []string
	if dir != "." {
		domain = strings.Split(dir, "/")
	}
	out := append(ignore{}, above...)
	for i, line := range strings.Split(string(data), "\n") {
		line = strings.TrimSuffix(line, "\r")
		if strings.TrimSpace(line) == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if !validPattern(line) {
			r.problem(desired.Origin{Path: name, Line: i + 1}, fmt.Sprintf("%q is not a pattern as in .gitignore", line))
			continue
		}
		// git writes [!a] for what Go writes [^a].
		out = append(out, gitignore.ParsePattern(strings.ReplaceAll(line, "[!", "[^"), domain))
	}
	return out, nil
}

// validPattern refuses what would silently match nothing.
func validPattern(line string) bool {
	for part := range strings.SplitSeq(strings.TrimPrefix(line, "!"), "/") {
		if _, err := path.Match(part, ""); err != nil {
			return false
		}
	}
	return true
}
