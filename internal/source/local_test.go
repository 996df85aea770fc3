package source_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/tidelock/tidelock/internal/source"
)

func TestAPushIntoABareRepositoryIsSeenAtOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	first := f.push("a.yaml", configMap("a", "0"))
	s := open(t, source.Config{Repository: f.origin, Ref: "main", Interval: time.Hour})
	running(t, s)
	eventually(t, s, "first commit", atCommit(t, s, first))
	for i := range 5 {
		f.write("a.yaml", configMap("a", fmt.Sprint(i+1)))
		head := f.commit("next")
		f.git("push", "-q", "origin", "HEAD:refs/heads/stage")
		start := time.Now()
		f.run(f.origin, "update-ref", "refs/heads/main", head)
		eventually(t, s, "push", atCommit(t, s, head))
		took := time.Since(start)
		t.Logf("seen after %s, git included", took)
		if took > time.Second {
			t.Errorf("a push was seen after %s", took)
		}
	}
}

func TestNewBranchesPackedRefsAndHeadAreWatched(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	first := f.push("a.yaml", configMap("a", "0"))
	deep := open(t, source.Config{Repository: f.origin, Ref: "env/prod/eu1", Interval: time.Hour})
	running(t, deep)
	whole := open(t, source.Config{Repository: f.origin, Interval: time.Hour})
	running(t, whole)
	eventually(t, whole, "first commit", atCommit(t, whole, first))

	f.git("push", "-q", "origin", "HEAD:refs/heads/env/prod/eu1") // two new folders below refs
	eventually(t, deep, "a branch in new folders", atCommit(t, deep, first))
	f.git("checkout", "-q", "-b", "env/prod/eu1")
	second := f.push("a.yaml", configMap("a", "1"))
	eventually(t, deep, "a push to it", atCommit(t, deep, second))
	f.run(f.origin, "pack-refs", "--all", "--prune")
	third := f.push("a.yaml", configMap("a", "2"))
	eventually(t, deep, "a push after pack-refs", atCommit(t, deep, third))
	f.run(f.origin, "symbolic-ref", "HEAD", "refs/heads/env/prod/eu1")
	eventually(t, whole, "another HEAD", atCommit(t, whole, third))
	if rev, _, _ := whole.Head(t.Context()); rev.Ref != "env/prod/eu1" {
		t.Errorf("ref is %q", rev.Ref)
	}
	f.run(f.origin, "update-ref", "-d", "refs/heads/env/prod/eu1")
	eventually(t, deep, "the branch is gone", func() bool {
		_, _, err := deep.Head(t.Context())
		return err != nil
	})
	_, _, err := deep.Head(t.Context())
	wantErr(t, err, source.ErrUnknownRef, "env/prod/eu1")
	f.git("push", "-q", "origin", "HEAD:refs/heads/env/prod/eu1")
	eventually(t, deep, "the branch is back", atCommit(t, deep, third))
}

func TestAWorkingTreeIsFollowedByItsCommitsAlone(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.write("a.yaml", configMap("a", "1"))
	f.write("b.yaml", configMap("b", "1"))
	first := f.commit("one")
	s := open(t, source.Config{Repository: f.dev, Interval: time.Hour})
	running(t, s)
	eventually(t, s, "first commit", atCommit(t, s, first))
	wantHead(t, s, first, map[string]string{"a.yaml": configMap("a", "1"), "b.yaml": configMap("b", "1")})

	f.write("stray.yaml", configMap("stray", "1")) // in no commit
	f.write("a.yaml", configMap("a", "edited"))
	wantHead(t, s, first, map[string]string{"a.yaml": configMap("a", "1"), "b.yaml": configMap("b", "1")})
	f.git("rm", "-q", "b.yaml")
	f.write("sub/a.yaml", configMap("a", "2"))
	f.git("rm", "-q", "-f", "a.yaml")
	f.git("add", "sub")
	f.git("commit", "-q", "-m", "two")
	second := f.git("rev-parse", "HEAD")
	eventually(t, s, "second commit", atCommit(t, s, second))
	wantHead(t, s, second, map[string]string{"sub/a.yaml": configMap("a", "2")})

	f.git("checkout", "-q", "--detach", first)
	eventually(t, s, "a detached HEAD", atCommit(t, s, first))

	worktree := filepath.Join(t.TempDir(), "wt")
	f.git("worktree", "add", "-q", "-b", "side", worktree, second)
	w := open(t, source.Config{Repository: worktree, Interval: time.Hour})
	running(t, w)
	eventually(t, w, "a linked worktree", atCommit(t, w, second))
	f.run(worktree, "commit", "-q", "--allow-empty", "-m", "three")
	eventually(t, w, "a commit in it", atCommit(t, w, f.run(worktree, "rev-parse", "HEAD")))
}

func TestARepositoryThatAppearsIsFound(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	first := f.push("a.yaml", configMap("a", "1"))
	later := filepath.Join(t.TempDir(), "not", "yet.git")
	s := open(t, source.Config{Repository: later, Interval: time.Hour})
	running(t, s)
	eventually(t, s, "an error", func() bool {
		_, _, err := s.Head(t.Context())
		return err != nil
	})
	if err := os.Mkdir(filepath.Dir(later), 0o755); err != nil {
		t.Fatal(err)
	}
	f.run(f.dev, "clone", "-q", "--bare", f.origin, later+".tmp")
	if err := os.Rename(later+".tmp", later); err != nil {
		t.Fatal(err)
	}
	eventually(t, s, "the repository", atCommit(t, s, first))
	second := f.push("a.yaml", configMap("a", "2"))
	f.run(f.dev, "push", "-q", later, "main")
	eventually(t, s, "a push to it", atCommit(t, s, second))
}

func TestObjectsOfAlternatesAreRead(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	first := f.push("a.yaml", configMap("a", "1"))
	shared := filepath.Join(t.TempDir(), "shared")
	f.run(f.dev, "clone", "-q", "--shared", f.origin, shared)
	s := open(t, source.Config{Repository: shared})
	wantHead(t, s, first, map[string]string{"a.yaml": configMap("a", "1")})
	if err := s.Keep(t.Context(), first); err != nil {
		t.Error(err)
	}
}

func TestAFormatThatWouldBeMisreadIsRefused(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.push("a.yaml", configMap("a", "1"))
	f.run(f.origin, "config", "core.repositoryformatversion", "1")
	f.run(f.origin, "config", "extensions.refstorage", "reftable")
	_, _, err := open(t, source.Config{Repository: f.origin}).Head(t.Context())
	wantErr(t, err, source.ErrUnreachable, "reftable", "git refs migrate")
}

func TestTheWorkingTreeIsFoundFromBelow(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.write("apps/shop/a.yaml", "a")
	outside := t.TempDir()
	if err := os.Symlink(filepath.Join(f.dev, "apps"), filepath.Join(outside, "link")); err != nil {
		t.Fatal(err)
	}
	for folder, want := range map[string][2]string{
		f.dev: {f.dev, "."}, filepath.Join(f.dev, "apps/shop"): {f.dev, "apps/shop"},
		filepath.Join(outside, "link"): {f.dev, "apps"}, outside: {outside, "."},
	} {
		root, path, err := source.WorkingTree(folder)
		if err != nil || root != want[0] || path != want[1] {
			t.Errorf("%s: root is %s, path %s, %v; want %v", folder, root, path, err, want)
		}
	}
	if _, _, err := source.WorkingTree(filepath.Join(outside, "none")); err == nil {
		t.Error("a folder that is not there has a working tree")
	}
}
