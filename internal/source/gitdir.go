package source

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// gitDir finds the repository of a folder: the folder itself where it is bare, its .git, or what a .git file of a
// worktree or submodule names. common is where refs and objects are, which worktrees share. Both are empty where the
// folder has no repository.
func gitDir(folder string) (dir, common string, err error) {
	switch st, err := os.Stat(folder); {
	case err != nil:
		return "", "", fmt.Errorf("open the folder: %w", err)
	case !st.IsDir():
		return "", "", errors.New("it is a file: name a folder or a repository")
	}
	dot := filepath.Join(folder, ".git")
	st, err := os.Stat(dot)
	switch {
	case errors.Is(err, fs.ErrNotExist) && isGitDir(folder):
		dir = folder
	case errors.Is(err, fs.ErrNotExist):
		return "", "", nil
	case err != nil:
		return "", "", fmt.Errorf("open the repository: %w", err)
	case st.IsDir():
		dir = dot
	default:
		if dir, err = linked(dot, "gitdir: ", folder); err != nil {
			return "", "", err
		}
	}
	if !isGitDir(dir) {
		return "", "", fmt.Errorf("%s is no git repository: HEAD is missing", dir)
	}
	common, err = linked(filepath.Join(dir, "commondir"), "", dir)
	if errors.Is(err, fs.ErrNotExist) {
		return dir, dir, nil
	}
	return dir, common, err
}

// WorkingTree returns the root of the working tree that a folder stands in, and the folder's path below it ("." for the
// root itself): what Snapshot takes, and what is to be rendered in it. A folder outside git is its own root.
func WorkingTree(folder string) (root, path string, err error) {
	abs, err := filepath.Abs(folder)
	if err == nil {
		// Links in the path are resolved first: the folder's place is where it really stands.
		abs, err = filepath.EvalSymlinks(abs)
	}
	if err != nil {
		return "", "", fmt.Errorf("find the working tree of %s: %w", folder, err)
	}
	for dir := abs; ; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			path, err = filepath.Rel(dir, abs)
			return dir, filepath.ToSlash(path), err
		}
		if dir == filepath.Dir(dir) {
			return abs, ".", nil
		}
	}
}

func isGitDir(dir string) bool {
	if st, err := os.Stat(filepath.Join(dir, head)); err != nil || !st.Mode().IsRegular() {
		return false
	}
	for _, name := range []string{"objects", "commondir"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			return true
		}
	}
	return false
}

// linked reads a file that holds a path after a prefix, relative to base.
func linked(file, prefix, base string) (string, error) {
	b, err := os.ReadFile(file) //nolint:gosec // the operator names the repository
	if err != nil {
		return "", fmt.Errorf("open the repository: %w", err)
	}
	path, ok := strings.CutPrefix(strings.TrimSpace(string(b)), prefix)
	if !ok || path == "" {
		return "", fmt.Errorf("open the repository: %s names no folder", file)
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(base, path)
	}
	return path, nil
}
