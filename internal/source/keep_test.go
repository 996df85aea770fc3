package source_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/tidelock/tidelock/internal/source"
)

func TestWhatIsKeptOutlivesForcePushGarbageCollectionAndRestart(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"remote", "local"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			first := f.push("a.yaml", configMap("a", "1"))
			f.write("sub/b.yaml", configMap("b", "1"))
			second := f.push("a.yaml", configMap("a", "2"))
			want := map[string]string{"a.yaml": configMap("a", "2"), "sub/b.yaml": configMap("b", "1")}
			cfg := source.Config{Repository: f.origin, Ref: "main", Interval: always, DataDir: t.TempDir()}
			remote := serveHTTP(t, f)
			if kind == "remote" {
				cfg.Repository = remote.repo()
			}
			before := readFolder(t, f.origin)
			s := open(t, cfg)
			wantHead(t, s, second, nil)
			for range 2 { // the second time has nothing to do
				if err := s.Keep(t.Context(), second); err != nil {
					t.Fatal(err)
				}
			}
			if after := readFolder(t, f.origin); len(after) != len(before) {
				t.Errorf("the repository was written to: %d files before, %d after", len(before), len(after))
			}
			f.git("push", "-q", "-f", "origin", first+":refs/heads/main")
			f.run(f.origin, "reflog", "expire", "--expire=now", "--all")
			f.run(f.origin, "gc", "-q", "--prune=now")
			wantHead(t, s, first, nil)

			again := open(t, cfg)
			rev, tree, err := again.Commit(t.Context(), second)
			if err != nil {
				t.Fatal(err)
			}
			if rev.Commit != second || rev.Subject != "write a.yaml" || rev.Ref != "main" {
				t.Errorf("revision is %+v", rev)
			}
			wantFiles(t, tree, want)
			if err := again.Keep(t.Context(), first); err != nil {
				t.Fatal(err)
			}
			if err := again.Keep(t.Context(), second, first); err != nil && kind == "remote" {
				t.Fatalf("the store forgot a commit too early: %v", err)
			}
			_, _, err = open(t, cfg).Commit(t.Context(), "0123456789012345678901234567890123456789")
			wantErr(t, err, source.ErrUnknownCommit, "0123456789")
		})
	}
}

func readFolder(tb testing.TB, dir string) map[string]string {
	tb.Helper()
	return readAll(tb, os.DirFS(dir))
}

func TestAnUnreachableRemoteIsKnownFromTheStoreAfterARestart(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	first := f.push("a.yaml", configMap("a", "1"))
	remote := serveHTTP(t, f)
	cfg := source.Config{Repository: remote.repo(), Ref: "main", DataDir: t.TempDir()}
	wantHead(t, open(t, cfg), first, nil)
	remote.set(func() { remote.down = true })
	rev, tree, err := open(t, cfg).Head(t.Context())
	wantErr(t, err, source.ErrUnreachable)
	if rev.Commit != first {
		t.Fatalf("with the error came %q", rev.Commit)
	}
	wantFiles(t, tree, map[string]string{"a.yaml": configMap("a", "1")})
}

func TestABrokenStoreMendsItself(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]func(t *testing.T, store string){
		"a pack is cut off": func(t *testing.T, store string) {
			t.Helper()
			for _, pack := range glob(t, store, "objects/pack/*.pack") {
				if err := os.Truncate(pack, 40); err != nil {
					t.Fatal(err)
				}
			}
		},
		"the pack below the newest is gone": func(t *testing.T, store string) {
			t.Helper()
			if err := os.Remove(oldest(t, glob(t, store, "objects/pack/*.pack"))); err != nil {
				t.Fatal(err)
			}
		},
		"an index is empty": func(t *testing.T, store string) {
			t.Helper()
			for _, idx := range glob(t, store, "objects/pack/*.idx") {
				replace(t, idx, "")
			}
		},
		"packs are gone": func(t *testing.T, store string) {
			t.Helper()
			for _, f := range glob(t, store, "objects/pack/*") {
				if err := os.Remove(f); err != nil {
					t.Fatal(err)
				}
			}
		},
		"a fetch was cut off": func(t *testing.T, store string) {
			t.Helper()
			writeFile(t, filepath.Join(store, "objects/pack/tmp_pack_123"), "PACK")
			writeFile(t, filepath.Join(store, "objects/pack/pack-0123456789012345678901234567890123456789.idx"), "half")
		},
		"refs are empty": func(t *testing.T, store string) {
			t.Helper()
			replace(t, filepath.Join(store, "refs/tidelock-tip"), "")
		},
		"the folder is half made": func(t *testing.T, store string) {
			t.Helper()
			if err := os.Remove(filepath.Join(store, "HEAD")); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			f.write("c.yaml", configMap("c", "1"))
			f.push("a.yaml", configMap("a", "1"))
			remote := serveHTTP(t, f)
			cfg := source.Config{Repository: remote.repo(), DataDir: t.TempDir(), Interval: always}
			s := open(t, cfg)
			wantHead(t, s, f.git("rev-parse", "HEAD"), nil)
			wantHead(t, s, f.push("b.yaml", configMap("b", name)), nil)
			damage(t, glob(t, cfg.DataDir, "*.git")[0])
			head := f.push("a.yaml", configMap("a", name))
			wantHead(t, open(t, cfg), head, map[string]string{
				"a.yaml": configMap("a", name), "b.yaml": configMap("b", name), "c.yaml": configMap("c", "1"),
			})
			if left := glob(t, cfg.DataDir, "*.git/objects/pack/tmp_*"); len(left) != 0 {
				t.Errorf("left over: %q", left)
			}
		})
	}
}

func glob(t *testing.T, dir, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil || len(files) == 0 && pattern != "*.git/objects/pack/tmp_*" {
		t.Fatalf("%s: %d files, %v", pattern, len(files), err)
	}
	return files
}

func oldest(t *testing.T, files []string) string {
	t.Helper()
	var name string
	var first os.FileInfo
	for _, f := range files {
		info, err := os.Stat(f)
		if err != nil {
			t.Fatal(err)
		}
		if first == nil || info.ModTime().Before(first.ModTime()) {
			name, first = f, info
		}
	}
	return name
}

// replace writes a file that may be read-only.
func replace(t *testing.T, name, content string) {
	t.Helper()
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	writeFile(t, name, content)
}

func TestPacksDoNotPileUp(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.write("old.yaml", configMap("old", "1"))
	first := f.push("a.yaml", configMap("a", "first"))
	remote := serveHTTP(t, f)
	cfg := source.Config{Repository: remote.repo(), Interval: always, DataDir: t.TempDir()}
	s := open(t, cfg)
	wantHead(t, s, first, nil)
	if err := s.Keep(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	_, early, err := s.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	most := 0
	for i := range 70 {
		f.write(fmt.Sprintf("%d.yaml", i%7), configMap("x", fmt.Sprint(i)))
		head := f.push("a.yaml", configMap("a", fmt.Sprint(i)))
		wantHead(t, s, head, nil)
		most = max(most, len(glob(t, cfg.DataDir, "*.git/objects/pack/*.pack")))
	}
	if most > 33 {
		t.Errorf("there were up to %d packs", most)
	}
	want := map[string]string{"a.yaml": configMap("a", "first"), "old.yaml": configMap("old", "1")}
	wantFiles(t, early, want)
	_, kept, err := open(t, cfg).Commit(t.Context(), first)
	if err != nil {
		t.Fatal(err)
	}
	wantFiles(t, kept, want)
	f.run(glob(t, cfg.DataDir, "*.git")[0], "fsck", "--full", "--strict")
	f.git("push", "-q", "-f", "origin", first+":refs/heads/main")
	wantHead(t, s, first, want)
}

func TestTwoProcessesShareAStore(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.push("a.yaml", configMap("a", "0"))
	remote := serveHTTP(t, f)
	cfg := source.Config{Repository: remote.repo(), Interval: always, DataDir: t.TempDir()}
	for i := range 5 {
		head := f.push("a.yaml", configMap("a", fmt.Sprint(i)))
		var both sync.WaitGroup
		for range 2 {
			both.Go(func() {
				s := open(t, cfg)
				rev, tree, err := s.Head(t.Context())
				if err != nil || rev.Commit != head {
					t.Errorf("head is %s, %v", rev, err)
					return
				}
				if _, err := fs.ReadFile(tree, "a.yaml"); err != nil {
					t.Error(err)
				}
				if err := s.Keep(t.Context(), head); err != nil {
					t.Error(err)
				}
			})
		}
		both.Wait()
	}
}
