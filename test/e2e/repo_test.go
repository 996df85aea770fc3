//go:build e2e

package e2e

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// repo is a bare repository that a daemon follows, and the checkout of somebody who pushes to it.
type repo struct {
	bare string
	work string
}

// files are contents by path; an empty content removes the file.
type files map[string]string

func newRepo(t *testing.T, first files) *repo {
	t.Helper()
	dir := t.TempDir()
	r := &repo{bare: filepath.Join(dir, "origin.git"), work: filepath.Join(dir, "work")}
	if err := os.Mkdir(r.work, 0o755); err != nil {
		t.Fatal(err)
	}
	r.git(t, "init", "-q", "--bare", "-b", "main", r.bare)
	r.git(t, "--git-dir", r.bare, "config", "receive.denyDeleteCurrent", "ignore")
	r.git(t, "init", "-q", "-b", "main")
	r.git(t, "remote", "add", "origin", r.bare)
	if first != nil {
		r.push(t, first)
	}
	return r
}

// push commits changes, pushes them, and returns the commit.
func (r *repo) push(t *testing.T, changes files) string {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(changes)) {
		path := filepath.Join(r.work, name)
		if changes[name] == "" {
			r.git(t, "rm", "-q", name)
			continue
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(changes[name]), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r.git(t, "add", "-A")
	r.git(t, "commit", "-q", "--allow-empty", "-m", "change "+strings.Join(slices.Sorted(maps.Keys(changes)), " "))
	r.git(t, "push", "-q", "origin", "HEAD:main")
	return r.git(t, "rev-parse", "HEAD")
}

// git runs git in the checkout, free of anybody's configuration.
func (r *repo) git(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", args...)
	cmd.Dir = r.work
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=t", "GIT_AUTHOR_EMAIL=t@example.test", "GIT_COMMITTER_NAME=t", "GIT_COMMITTER_EMAIL=t@example.test")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}
