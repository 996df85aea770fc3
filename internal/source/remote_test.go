package source_test

import (
	"context"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/tidelock/tidelock/internal/source"
)

const always = time.Nanosecond // an interval after which every Head asks

func TestAPollWithoutNewsIsOneRequestAndHeadInBetweenNone(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	first := f.push("a.yaml", configMap("a", "1"))
	remote := serveHTTP(t, f)

	eager := open(t, source.Config{Repository: remote.repo(), Interval: always})
	wantHead(t, eager, first, map[string]string{"a.yaml": configMap("a", "1")})
	remote.asked()
	for range 3 {
		wantHead(t, eager, first, nil)
		got, _ := remote.asked()
		if want := []string{"GET /origin.git/info/refs"}; !slices.Equal(got, want) {
			t.Errorf("a poll without news asked %q, want %q", got, want)
		}
	}

	lazy := open(t, source.Config{Repository: remote.repo(), Interval: time.Hour})
	wantHead(t, lazy, first, nil)
	remote.asked()
	wantHead(t, lazy, first, nil)
	if got, _ := remote.asked(); len(got) != 0 {
		t.Errorf("a head that is not due asked %q, want nothing", got)
	}
}

func TestAFetchBringsOnlyWhatIsNew(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for i := range 500 {
		f.write(fmt.Sprintf("apps/%02d/%03d.yaml", i%50, i), configMap(fmt.Sprint(i), "0"))
	}
	f.push("a.yaml", configMap("a", "1"))
	remote := serveHTTP(t, f)
	s := open(t, source.Config{Repository: remote.repo(), Interval: always})
	if _, _, err := s.Head(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, all := remote.asked()

	second := f.push("a.yaml", configMap("a", "2"))
	wantHead(t, s, second, nil)
	got, n := remote.asked()
	if want := []string{"GET /origin.git/info/refs", "POST /origin.git/git-upload-pack"}; !slices.Equal(got, want) {
		t.Errorf("asked %q, want %q", got, want)
	}
	if n > 3000 || n*10 > all {
		t.Errorf("one changed file brought %d bytes, the first fetch %d", n, all)
	}
}

func TestABranchForcedBackIsFollowed(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.write("a.yaml", configMap("a", "1"))
	first := f.commit("one")
	f.write("b.yaml", configMap("b", "1"))
	f.commit("two")
	f.write("c.yaml", configMap("c", "1"))
	third := f.push("a.yaml", configMap("a", "2"))
	remote := serveHTTP(t, f)

	s := open(t, source.Config{Repository: remote.repo(), Ref: "main", Interval: always})
	wantHead(t, s, third, map[string]string{
		"a.yaml": configMap("a", "2"), "b.yaml": configMap("b", "1"), "c.yaml": configMap("c", "1"),
	})
	f.git("push", "-q", "-f", "origin", first+":refs/heads/main")
	remote.asked()
	wantHead(t, s, first, map[string]string{"a.yaml": configMap("a", "1")})
	if got, _ := remote.asked(); len(got) != 2 {
		t.Errorf("the branch forced back asked %q, want the refs and one pack", got)
	}
	wantHead(t, s, first, nil)
	if got, _ := remote.asked(); len(got) != 1 {
		t.Errorf("the next poll asked %q, want one request", got)
	}
	f.git("push", "-q", "-f", "origin", third+":refs/heads/main")
	wantHead(t, s, third, nil)
}

func TestTagsAreTheirCommit(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	first := f.push("a.yaml", configMap("a", "1"))
	f.git("tag", "light")
	f.git("tag", "-a", "annot", "-m", "annot")
	f.git("tag", "-a", "nested", "-m", "nested", "annot")
	f.git("push", "-q", "origin", "--tags")
	remote := serveHTTP(t, f)

	for _, repository := range []string{remote.repo(), f.origin} {
		for _, tag := range []string{"light", "annot", "nested", "refs/tags/nested", "tags/annot"} {
			s := open(t, source.Config{Repository: repository, Ref: tag})
			rev := wantHead(t, s, first, map[string]string{"a.yaml": configMap("a", "1")})
			if rev.Ref != tag {
				t.Errorf("ref is %q, want %q", rev.Ref, tag)
			}
		}
	}
	far := open(t, source.Config{Repository: remote.repo(), Ref: "annot", Interval: always})
	near := open(t, source.Config{Repository: f.origin, Ref: "annot"})
	wantHead(t, far, first, nil)
	wantHead(t, near, first, nil)
	f.write("a.yaml", configMap("a", "2"))
	moved := f.commit("two")
	f.git("tag", "-f", "-a", "annot", "-m", "moved")
	f.git("push", "-q", "-f", "origin", "main", "refs/tags/annot")
	wantHead(t, far, moved, map[string]string{"a.yaml": configMap("a", "2")})
	wantHead(t, near, moved, map[string]string{"a.yaml": configMap("a", "2")})
}

func TestRefsAreFoundAsGitCloneFindsThem(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	first := f.push("a.yaml", configMap("a", "1"))
	f.git("tag", "both")
	f.git("checkout", "-q", "-b", "both")
	f.write("a.yaml", configMap("a", "2"))
	second := f.commit("two")
	f.git("push", "-q", "origin", "refs/heads/both", "refs/tags/both")
	f.git("checkout", "-q", "-b", "env/eu1")
	third := f.push("a.yaml", configMap("a", "3"))
	remote := serveHTTP(t, f)

	for ref, want := range map[string]struct {
		commit, reason string
	}{
		"":                   {first, "HEAD is main"},
		"both":               {second, "a branch before a tag, so that a tag takes no branch over"},
		"refs/tags/both":     {first, "a full name is unambiguous"},
		"tags/both":          {first, "a name below refs"},
		"env/eu1":            {third, "a slash is part of the name"},
		"heads/env/eu1":      {third, "a name below refs"},
		second:               {second, "a commit that no branch has as its newest is in the history"},
		first:                {first, "a commit that a branch has"},
		"refs/heads/main":    {first, "a full name"},
		"refs/heads/both":    {second, "a full name"},
		"HEAD":               {first, "what a clone would check out"},
		"refs/heads/env/eu1": {third, "a full name with a slash"},
	} {
		for _, repository := range []string{remote.repo(), f.origin, "file://" + f.origin} {
			s := open(t, source.Config{Repository: repository, Ref: ref})
			rev, _, err := s.Head(t.Context())
			if err != nil || rev.Commit != want.commit {
				t.Errorf("%q in %s is %s (%v), want %s: %s", ref, repository, rev.Commit, err, want.commit, want.reason)
			}
		}
	}
	s := open(t, source.Config{Repository: remote.repo()})
	if rev := wantHead(t, s, first, nil); rev.Ref != "main" || rev.Subject != "write a.yaml" || rev.Author != "Dev" ||
		!rev.Time.Equal(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)) || rev.Repository != remote.repo() {
		t.Errorf("revision is %+v", rev)
	}
}

func TestWhatCannotBeFollowedSaysWhy(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	remote := serveHTTP(t, f)
	for _, repository := range []string{remote.repo(), f.origin} {
		_, _, err := open(t, source.Config{Repository: repository}).Head(t.Context())
		wantErr(t, err, source.ErrEmptyRepository, repository)
	}
	first := f.push("a.yaml", configMap("a", "1"))
	for _, repository := range []string{remote.repo(), f.origin} {
		for _, ref := range []string{"gone", "refs/heads/gone", "0123456789012345678901234567890123456789"} {
			_, _, err := open(t, source.Config{Repository: repository, Ref: ref}).Head(t.Context())
			wantErr(t, err, source.ErrUnknownRef, repository, ref)
		}
	}
	_, _, err := open(t, source.Config{Repository: remote.URL + "/none.git"}).Head(t.Context())
	wantErr(t, err, source.ErrUnreachable, "/none.git", "check the URL")
	_, _, err = open(t, source.Config{Repository: t.TempDir() + "/none"}).Head(t.Context())
	wantErr(t, err, source.ErrUnreachable, "/none")

	s := open(t, source.Config{Repository: remote.repo(), Ref: "main", Interval: always})
	wantHead(t, s, first, nil)
	f.run(f.origin, "update-ref", "-d", "refs/heads/main")
	f.git("push", "-q", "origin", "HEAD:refs/heads/other")
	rev, tree, err := s.Head(t.Context())
	wantErr(t, err, source.ErrUnknownRef, "main", "other")
	if rev.Commit != first || tree == nil {
		t.Errorf("with the error came %s, want what was known", rev)
	}
	remote.set(func() { remote.down = true })
	rev, tree, err = s.Head(t.Context())
	wantErr(t, err, source.ErrUnreachable, remote.repo(), "503")
	if b, readErr := fs.ReadFile(tree, "a.yaml"); rev.Commit != first || readErr != nil || string(b) != configMap("a", "1") {
		t.Errorf("with the error came %s, %q, %v", rev, b, readErr)
	}
	remote.set(func() { remote.down = false })
	f.git("push", "-q", "origin", "HEAD:refs/heads/main")
	wantHead(t, s, first, nil)
}

func TestATransferThatBreaksOffLeavesTheLastStateAndIsMadeGood(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	first := f.push("a.yaml", configMap("a", "1"))
	remote := serveHTTP(t, f)
	s := open(t, source.Config{Repository: remote.repo(), Ref: "main", Interval: always})
	wantHead(t, s, first, nil)
	noise := make([]byte, 1<<18)
	for i, r := 0, rand.New(rand.NewPCG(1, 2)); i < len(noise); i++ {
		noise[i] = byte(r.Uint32())
	}
	second := f.push("b.bin", string(noise))
	remote.set(func() { remote.cut = 1 << 16 })
	for range 2 {
		rev, tree, err := s.Head(t.Context())
		wantErr(t, err, source.ErrUnreachable, remote.repo(), "main")
		if rev.Commit != first {
			t.Errorf("with the error came %s", rev)
		}
		wantFiles(t, tree, map[string]string{"a.yaml": configMap("a", "1")})
	}
	remote.set(func() { remote.cut = 0 })
	wantHead(t, s, second, map[string]string{"a.yaml": configMap("a", "1"), "b.bin": string(noise)})
}

func TestHeadEndsWithItsContext(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	first := f.push("a.yaml", configMap("a", "1"))
	remote := serveHTTP(t, f)
	hang := make(chan struct{})
	remote.set(func() { remote.hang = hang })
	s := open(t, source.Config{Repository: remote.repo(), Interval: always})
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	_, _, err := s.Head(ctx)
	wantErr(t, err, context.DeadlineExceeded, remote.repo())
	close(hang)
	wantHead(t, s, first, nil)
}
