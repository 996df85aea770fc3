package env

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Repo is a bare repository that a daemon follows, and the checkout of somebody who pushes to it.
type Repo struct {
	Bare, Work string
}

// NewRepo makes a repository without a commit.
func NewRepo(tb testing.TB) *Repo {
	tb.Helper()
	dir := tb.TempDir()
	r := &Repo{Bare: filepath.Join(dir, "origin.git"), Work: filepath.Join(dir, "work")}
	if err := os.Mkdir(r.Work, 0o755); err != nil {
		tb.Fatal(err)
	}
	r.Git(tb, "init", "-q", "--bare", "-b", "main", r.Bare)
	r.Git(tb, "--git-dir", r.Bare, "config", "receive.denyDeleteCurrent", "ignore")
	r.Git(tb, "init", "-q", "-b", "main")
	r.Git(tb, "remote", "add", "origin", r.Bare)
	return r
}

// Push writes files, contents by path where an empty one removes the file, pushes them in a new commit and returns that.
func (r *Repo) Push(tb testing.TB, files map[string]string) string {
	tb.Helper()
	names := slices.Sorted(maps.Keys(files))
	for _, name := range names {
		path := filepath.Join(r.Work, name)
		if files[name] == "" {
			r.Git(tb, "rm", "-q", name)
			continue
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			tb.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(files[name]), 0o600); err != nil {
			tb.Fatal(err)
		}
	}
	r.Git(tb, "add", "-A")
	r.Git(tb, "commit", "-q", "--allow-empty", "-m", "change "+strings.Join(names, " "))
	r.Git(tb, "push", "-q", "origin", "HEAD:main")
	return r.Git(tb, "rev-parse", "HEAD")
}

// Git runs git in the checkout, free of anybody's configuration, and returns what it prints.
func (r *Repo) Git(tb testing.TB, args ...string) string {
	tb.Helper()
	cmd := exec.CommandContext(tb.Context(), "git", args...)
	cmd.Dir = r.Work
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=t", "GIT_AUTHOR_EMAIL=t@example.test", "GIT_COMMITTER_NAME=t", "GIT_COMMITTER_EMAIL=t@example.test")
	out, err := cmd.CombinedOutput()
	if err != nil {
		tb.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}
