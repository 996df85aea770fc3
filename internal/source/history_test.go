package source_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tidelock/tidelock/internal/source"
)

// git itself says where histories part: the same commits, also across merges.
func TestAMergeBaseIsThatOfGit(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.write("a.yaml", "0")
	commits := []string{f.commit("0")}
	random := rand.New(rand.NewPCG(4, 2))
	tree := f.git("rev-parse", "HEAD^{tree}")
	for i := range 40 {
		args := []string{"commit-tree", tree, "-m", fmt.Sprint(i)}
		args = append(args, "-p", commits[max(0, len(commits)-1-random.IntN(6))])
		if other := commits[max(0, len(commits)-1-random.IntN(6))]; other != args[len(args)-1] {
			args = append(args, "-p", other)
		}
		commits = append(commits, f.git(args...))
	}
	h := history(t, f.dev)
	for range 150 {
		a, b := commits[random.IntN(len(commits))], commits[random.IntN(len(commits))]
		want := f.git("merge-base", "--all", a, b)
		got, err := h.MergeBase(t.Context(), a, b)
		if err != nil || !strings.Contains(want, got) {
			t.Errorf("merge base of %s and %s: %s (%v), git says %s", a, b, got, err, want)
		}
	}
	alone := f.git("commit-tree", tree, "-m", "alone")
	if got, err := h.MergeBase(t.Context(), commits[0], alone); err == nil {
		t.Errorf("histories that have nothing in common part at %s", got)
	}
}

func TestCommitsAreNamedAsForGit(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.write("a.yaml", "1")
	first := f.commit("one")
	f.git("tag", "-a", "v1", "-m", "one")
	f.git("push", "-q", "origin", "HEAD:refs/heads/main", "v1")
	f.git("fetch", "-q", "origin")
	f.git("checkout", "-q", "-b", "feature/x")
	f.write("a.yaml", "2")
	second := f.commit("two")
	f.git("branch", "-f", "twice", second)
	f.git("tag", "twice", first)
	f.git("merge", "-q", "--no-ff", "-m", "merge", "--allow-unrelated-histories", "-s", "ours", f.git("commit-tree", "HEAD^{tree}", "-m", "x"))
	merge := f.git("rev-parse", "HEAD")
	h := history(t, f.dev)
	tests := map[string]string{
		"HEAD": merge, "@": merge, "@~1": second, "HEAD^": second, "HEAD^1~1": first, "HEAD~2": first, "HEAD^0": merge,
		"HEAD^2": f.git("rev-parse", "HEAD^2"), "feature/x": merge, "refs/heads/feature/x": merge,
		"v1": first, "origin/main": first, "origin/main~0": first, second: second, second[:7]: second, second[:8]: second,
		"twice": second, // a branch before a tag
	}
	for name, want := range tests {
		if got, err := h.Resolve(name); err != nil || got != want {
			t.Errorf("%s is %s (%v), want %s", name, got, err, want)
		}
	}
	for _, name := range []string{
		"", "nope", "HEAD~9", "HEAD^9", "HEAD@{1}", "abc", "deadbeef", "..", "HEAD~99999999999999999999", "HEAD^{tree}", "-x", "main:a.yaml",
		strings.Repeat("0", 40), strings.Repeat("x", 1000), "../../etc/passwd", "main.lock",
	} {
		if got, err := h.Resolve(name); err == nil {
			t.Errorf("%q is %s", name, got)
		}
	}
}

func TestTheDefaultIsTheBranchOfTheRemote(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.write("a.yaml", "1")
	f.commit("one")
	h := history(t, f.dev)
	want := func(name string) {
		t.Helper()
		if got, err := history(t, f.dev).Default(); err != nil || got != name {
			t.Errorf("the default is %q (%v), want %q", got, err, name)
		}
	}
	f.git("branch", "-M", "trunk")
	if name, err := h.Default(); err == nil {
		t.Errorf("a repository without main has the default %q", name)
	}
	f.git("branch", "main")
	want("main")
	f.git("push", "-q", "origin", "trunk:refs/heads/main", "trunk:refs/heads/trunk")
	f.git("fetch", "-q", "origin")
	want("origin/main")
	f.git("remote", "set-head", "origin", "trunk")
	want("origin/trunk")
}

// What a CI job gets by default is one commit: the error says what to set.
func TestAShallowCloneSaysWhatToFetch(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for i := range 3 {
		f.write("a.yaml", fmt.Sprint(i))
		f.commit(fmt.Sprint(i))
	}
	f.git("push", "-q", "origin", "HEAD:refs/heads/main")
	base := f.git("rev-parse", "HEAD~2")
	f.git("checkout", "-q", "-b", "feature", base)
	f.write("b.yaml", "b")
	tip := f.commit("b")
	f.git("push", "-q", "origin", "HEAD:refs/heads/feature")
	dir := filepath.Join(t.TempDir(), "clone")
	f.run(f.dev, "clone", "-q", "--depth=1", "--branch=feature", "file://"+f.origin, dir)
	h := history(t, dir)
	if _, err := h.Resolve("origin/main"); !errors.Is(err, source.ErrShallow) || !strings.Contains(err.Error(), "fetch-depth: 0") {
		t.Errorf("a branch that was not fetched: %v", err)
	}
	f.run(dir, "fetch", "-q", "--depth=1", "origin", "main:refs/remotes/origin/main")
	h = history(t, dir)
	if got, err := h.Resolve("HEAD"); err != nil || got != tip {
		t.Errorf("HEAD is %s (%v), want %s", got, err, tip)
	}
	main, err := h.Resolve("origin/main")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := h.MergeBase(t.Context(), tip, tip); err != nil || got != tip {
		t.Errorf("a commit and itself part at %s (%v)", got, err)
	}
	if got, err := h.MergeBase(t.Context(), main, tip); !errors.Is(err, source.ErrShallow) {
		t.Errorf("the histories part at %s (%v) in a clone that does not reach so far", got, err)
	}
	f.run(dir, "fetch", "-q", "--unshallow", "origin")
	if got, err := history(t, dir).MergeBase(t.Context(), main, tip); err != nil || got != base {
		t.Errorf("the histories part at %s (%v), want %s", got, err, base)
	}
}

func TestAFolderWithoutHistorySaysSo(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.yaml"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := source.OpenHistory(dir); err == nil || !strings.Contains(err.Error(), "no git repository") {
		t.Errorf("got %v", err)
	}
}

func history(t *testing.T, dir string) *source.History {
	t.Helper()
	h, err := source.OpenHistory(dir)
	if err != nil {
		t.Fatal(err)
	}
	return h
}
