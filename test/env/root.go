package env

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// Root returns the root folder of the repository: the nearest one above the working directory, which is the
// package's folder in a test, that holds the product's go.mod.
func Root(tb testing.TB) string {
	tb.Helper()
	root, err := findRoot()
	if err != nil {
		tb.Fatal(err)
	}
	return root
}

func findRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find the working directory: %w", err)
	}
	for {
		_, err := os.Stat(filepath.Join(dir, "go.mod"))
		if err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if !errors.Is(err, fs.ErrNotExist) || parent == dir {
			return "", fmt.Errorf("find go.mod above the working directory: %w", err)
		}
		dir = parent
	}
}

// tool returns the path of a binary that a make target of the same name puts below .cache.
func tool(binary, target string) (string, error) {
	root, err := findRoot()
	if err != nil {
		return "", err
	}
	path := filepath.Join(root, ".cache", "bin", binary)
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("%w: run make %s", err, target)
	}
	return path, nil
}
