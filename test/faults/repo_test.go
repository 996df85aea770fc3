//go:build e2e

package faults

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// repo is a bare repository that a daemon follows, and the checkout of somebody who pushes to it.
type repo struct {
	bare, work string
}

func newRepo(t *testing.T) *repo {
	t.Helper()
	dir := t.TempDir()
	r := &repo{bare: filepath.Join(dir, "origin.git"), work: filepath.Join(dir, "work")}
	if err := os.Mkdir(r.work, 0o755); err != nil {
		t.Fatal(err)
	}
	r.git(t, "init", "-q", "--bare", "-b", "main", r.bare)
	r.git(t, "init", "-q", "-b", "main")
	r.git(t, "remote", "add", "origin", r.bare)
	brakes := "apiVersion: tidelock.dev/v1alpha1\nkind: Config\nprune: {maxDeletes: 100, maxPercent: 100}\n"
	if err := os.WriteFile(filepath.Join(r.work, "tidelock.yaml"), []byte(brakes), 0o600); err != nil {
		t.Fatal(err)
	}
	return r
}

// push makes text the whole content of the repository, always in a new commit, and returns that.
func (r *repo) push(t *testing.T, text string) string {
	t.Helper()
	if err := os.WriteFile(filepath.Join(r.work, "all.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	r.git(t, "add", "-A")
	r.git(t, "commit", "-q", "--allow-empty", "-m", "a change")
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
