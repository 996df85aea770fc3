package source_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tidelock/tidelock/internal/desired"
	"github.com/tidelock/tidelock/internal/source"
)

// fixture is a bare repository, and a clone of it in which a developer works.
type fixture struct {
	tb     testing.TB
	origin string
	dev    string
}

// newFixture makes a repository without a commit.
func newFixture(tb testing.TB) *fixture {
	tb.Helper()
	dir := tb.TempDir()
	f := &fixture{tb: tb, origin: filepath.Join(dir, "origin.git"), dev: filepath.Join(dir, "dev")}
	f.run(dir, "init", "-q", "--bare", "-b", "main", f.origin)
	f.run(dir, "init", "-q", "-b", "main", f.dev)
	f.git("remote", "add", "origin", f.origin)
	return f
}

func (f *fixture) run(dir string, args ...string) string {
	f.tb.Helper()
	cmd := exec.CommandContext(context.WithoutCancel(f.tb.Context()), "git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null",
		"GIT_AUTHOR_NAME=Dev", "GIT_AUTHOR_EMAIL=dev@example.test", "GIT_AUTHOR_DATE=2026-01-01T00:00:00Z",
		"GIT_COMMITTER_NAME=Dev", "GIT_COMMITTER_EMAIL=dev@example.test", "GIT_COMMITTER_DATE=2026-01-01T00:00:00Z")
	out, err := cmd.CombinedOutput()
	if err != nil {
		f.tb.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// git runs a command in the developer's clone.
func (f *fixture) git(args ...string) string {
	f.tb.Helper()
	return f.run(f.dev, args...)
}

// write writes a file of the clone.
func (f *fixture) write(name, content string) {
	f.tb.Helper()
	writeFile(f.tb, filepath.Join(f.dev, name), content)
}

func writeFile(tb testing.TB, name, content string) {
	tb.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		tb.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
		tb.Fatal(err)
	}
}

// commit commits everything and returns the hash.
func (f *fixture) commit(message string) string {
	f.tb.Helper()
	f.git("add", "-A")
	f.git("commit", "-q", "--allow-empty", "-m", message)
	return f.git("rev-parse", "HEAD")
}

// push commits one file and pushes it.
func (f *fixture) push(name, content string) string {
	f.tb.Helper()
	f.write(name, content)
	h := f.commit("write " + name)
	f.git("push", "-q", "origin", "HEAD")
	return h
}

func configMap(name, v string) string {
	return fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: %s\n  namespace: default\ndata:\n  v: %q\n", name, v)
}

// open opens a source with a data folder of its own, unless cfg names one.
func open(tb testing.TB, cfg source.Config) *source.Source {
	tb.Helper()
	if cfg.DataDir == "" {
		cfg.DataDir = tb.TempDir()
	}
	s, err := source.Open(tb.Context(), cfg)
	if err != nil {
		tb.Fatalf("open: %v", err)
	}
	return s
}

// wantHead fails unless Head returns the commit with exactly these files.
func wantHead(tb testing.TB, s *source.Source, commit string, files map[string]string) desired.Revision {
	tb.Helper()
	rev, tree, err := s.Head(tb.Context())
	if err != nil {
		tb.Fatalf("head: %v", err)
	}
	if rev.Commit != commit {
		tb.Errorf("commit is %s, want %s", rev.Commit, commit)
	}
	wantFiles(tb, tree, files)
	return rev
}

func wantFiles(tb testing.TB, tree fs.FS, want map[string]string) {
	tb.Helper()
	if want == nil {
		return
	}
	if diff := cmp.Diff(want, readAll(tb, tree)); diff != "" {
		tb.Errorf("files (-want +got):\n%s", diff)
	}
}

// readAll returns every file by path; links as "-> target".
func readAll(tb testing.TB, tree fs.FS) map[string]string {
	tb.Helper()
	got := map[string]string{}
	err := fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir():
			return nil
		case d.Type()&fs.ModeSymlink != 0:
			to, err := fs.ReadLink(tree, name)
			got[name] = "-> " + to
			return err
		}
		b, err := fs.ReadFile(tree, name)
		got[name] = string(b)
		return err
	})
	if err != nil {
		tb.Fatalf("walk: %v", err)
	}
	return got
}

// running starts Run, and ends it with the test.
func running(t *testing.T, s *source.Source) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("run: %v", err)
		}
	})
}

// eventually waits on Changed until ok says yes.
func eventually(t *testing.T, s *source.Source, what string, ok func() bool) {
	t.Helper()
	const within = 30 * time.Second // far more than anything here should take
	limit := time.NewTimer(within)
	defer limit.Stop()
	for !ok() {
		select {
		case <-s.Changed():
		case <-limit.C:
			rev, _, err := s.Head(t.Context())
			t.Fatalf("not within %s: %s; head is %s, %v", within, what, rev, err)
		}
	}
}

// atCommit tells whether Head is at a commit, without an error.
func atCommit(t *testing.T, s *source.Source, commit string) func() bool {
	t.Helper()
	return func() bool {
		rev, _, err := s.Head(t.Context())
		return err == nil && rev.Commit == commit
	}
}

func wantErr(tb testing.TB, err, kind error, parts ...string) {
	tb.Helper()
	if !errors.Is(err, kind) {
		tb.Fatalf("error is %v, want %v", err, kind)
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			tb.Errorf("error %q does not name %q", err, part)
		}
	}
}
