package source_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/tidelock/tidelock/internal/source"
)

// trees returns one content as a commit of a remote, of a local repository, and as a snapshot.
func trees(t *testing.T, f *fixture) map[string]fs.FS {
	t.Helper()
	remote := serveHTTP(t, f)
	out := map[string]fs.FS{}
	var err error
	for name, repository := range map[string]string{"remote": remote.repo(), "local": f.origin} {
		if _, out[name], err = open(t, source.Config{Repository: repository}).Head(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if _, out["snapshot"], err = source.Snapshot(t.Context(), f.dev); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestTreesAreFileSystems(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.write("a.yaml", configMap("a", "1"))
	f.write("a/x.yaml", "x")
	f.write("a-b/y.yaml", "y") // git orders a-b, a.yaml, a/; names order a, a-b, a.yaml
	f.write("deep/er/and/deeper.txt", "")
	f.write("lfs.bin", "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n")
	f.push("run.sh", "#!/bin/sh\n")
	for name, tree := range trees(t, f) {
		if err := fstest.TestFS(tree, "a.yaml", "a/x.yaml", "a-b/y.yaml", "deep/er/and/deeper.txt", "run.sh", "lfs.bin"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestLinksModesAndHashesAreShown(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	secret := filepath.Join(t.TempDir(), "secret.txt")
	writeFile(t, secret, "TOP-SECRET-1")
	f.write("common/shared.yaml", configMap("shared", "1"))
	f.write("copy.yaml", configMap("shared", "1"))
	f.write("bin/run.sh", "#!/bin/sh\n")
	links := map[string]string{
		"apps/good/shared.yaml": "../../common/shared.yaml",
		"apps/abs/shared.yaml":  secret,
		"apps/up/shared.yaml":   "../../../secret.txt",
		"apps/dir":              "../common",
		"apps/loop":             "loop",
	}
	for name, to := range links {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(f.dev, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(to, filepath.Join(f.dev, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(filepath.Join(f.dev, "bin/run.sh"), 0o755); err != nil {
		t.Fatal(err)
	}
	f.commit("links")
	f.git("push", "-q", "origin", "main")

	for name, tree := range trees(t, f) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for link, to := range links {
				info, err := fs.Lstat(tree, link)
				if err != nil || info.Mode().Type() != fs.ModeSymlink || info.Size() != int64(len(to)) {
					t.Errorf("lstat %s: %v, %v", link, info, err)
				}
				if got, err := fs.ReadLink(tree, link); got != to || err != nil {
					t.Errorf("link %s leads to %q, %v; want %q", link, got, err, to)
				}
				_, openErr := tree.Open(link)
				_, statErr := fs.Stat(tree, link)
				b, readErr := fs.ReadFile(tree, link)
				for _, err := range []error{openErr, statErr, readErr} {
					if !errors.Is(err, source.ErrLink) {
						t.Errorf("%s: error is %v, want that it is a link", link, err)
					}
				}
				if len(b) != 0 {
					t.Errorf("%s was followed: %q", link, b)
				}
			}
			_, err := fs.ReadFile(tree, "apps/dir/shared.yaml")
			wantErr(t, err, source.ErrLink, "apps/dir is a symbolic link")
			_, err = fs.ReadLink(tree, "copy.yaml")
			wantErr(t, err, fs.ErrInvalid)
			_, err = fs.Lstat(tree, "copy.yaml/x")
			wantErr(t, err, fs.ErrNotExist)

			hash := func(name string) any {
				info, err := fs.Lstat(tree, name)
				if err != nil {
					t.Fatal(err)
				}
				return info.Sys()
			}
			if a, b := hash("copy.yaml"), hash("common/shared.yaml"); a != b || a == "" {
				t.Errorf("equal files have the hashes %q and %q", a, b)
			}
			if a, b := hash("copy.yaml"), hash("bin/run.sh"); a == b {
				t.Errorf("different files have one hash %q", a)
			}
			if info, err := fs.Stat(tree, "bin/run.sh"); err != nil || info.Mode() != 0o755 {
				t.Errorf("an executable is %v, %v", info, err)
			}
			if info, err := fs.Stat(tree, "copy.yaml"); err != nil || info.Mode() != 0o644 {
				t.Errorf("a file is %v, %v", info, err)
			}
		})
	}
}

func TestALargeFileIsStreamed(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	noise := make([]byte, 3<<20)
	for i, r := 0, rand.New(rand.NewPCG(1, 2)); i < len(noise); i++ {
		noise[i] = byte(r.Uint32())
	}
	f.push("big.bin", string(noise))
	f.write("big.bin", string(noise)+"and a delta")
	f.write("small.txt", "small")
	f.commit("two")
	f.git("push", "-q", "origin", "main")
	f.run(f.origin, "repack", "-q", "-a", "-d", "-f")
	want := sha256.Sum256(append(bytes.Clone(noise), "and a delta"...))
	for name, tree := range trees(t, f) {
		var readers sync.WaitGroup
		for range 3 {
			readers.Go(func() {
				r, err := tree.Open("big.bin")
				if err != nil {
					t.Error(err)
					return
				}
				sum := sha256.New()
				_, err = io.Copy(sum, r)
				if err := errors.Join(err, r.Close()); err != nil || [32]byte(sum.Sum(nil)) != want {
					t.Errorf("%s: content differs, %v", name, err)
				}
				if b, err := fs.ReadFile(tree, "small.txt"); string(b) != "small" {
					t.Errorf("%s: %q, %v", name, b, err)
				}
			})
		}
		readers.Wait()
	}
}

func TestASubmoduleIsAnEmptyFolder(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.write("a.yaml", configMap("a", "1"))
	first := f.commit("one")
	f.git("update-index", "--add", "--cacheinfo", "160000,"+first+",vendor/other")
	f.git("commit", "-q", "-m", "submodule")
	f.git("push", "-q", "origin", "main")
	remote := serveHTTP(t, f)
	for _, repository := range []string{remote.repo(), f.origin} {
		s := open(t, source.Config{Repository: repository})
		_, tree, err := s.Head(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		wantFiles(t, tree, map[string]string{"a.yaml": configMap("a", "1")})
		info, err := fs.Stat(tree, "vendor/other")
		if err != nil || !info.IsDir() || info.Sys() != first {
			t.Errorf("submodule is %v, %v", info, err)
		}
		if err := s.Keep(t.Context(), f.git("rev-parse", "HEAD")); err != nil {
			t.Errorf("keep: %v", err)
		}
	}
}

func TestACommitWithoutFilesIsAnEmptyTree(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	head := f.commit("nothing")
	f.git("push", "-q", "origin", "main")
	remote := serveHTTP(t, f)
	for _, repository := range []string{remote.repo(), f.origin} {
		s := open(t, source.Config{Repository: repository})
		wantHead(t, s, head, map[string]string{})
		if err := s.Keep(t.Context(), head); err != nil {
			t.Errorf("keep: %v", err)
		}
	}
}

func TestATreeWithHostileNamesIsRefused(t *testing.T) {
	t.Parallel()
	for name, names := range map[string][]string{
		"a parent":   {"..", "a.yaml"},
		"itself":     {"."},
		"a slash":    {"../../etc/passwd"},
		"twice":      {"a.yaml", "a.yaml"},
		"no content": {"a\xff.yaml"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			f.push("a.yaml", configMap("a", "1"))
			blob := f.git("rev-parse", "HEAD:a.yaml")
			var raw bytes.Buffer
			for _, n := range names {
				fmt.Fprintf(&raw, "100644 %s\x00", n)
				for i := 0; i < len(blob); i += 2 {
					var b byte
					if _, err := fmt.Sscanf(blob[i:i+2], "%02x", &b); err != nil {
						t.Fatal(err)
					}
					raw.WriteByte(b)
				}
			}
			writeFile(t, filepath.Join(f.dev, "raw"), raw.String())
			tree := f.git("hash-object", "-t", "tree", "-w", "--literally", "raw")
			head := f.git("commit-tree", "-m", "hostile", tree)
			f.git("push", "-q", "-f", "origin", head+":refs/heads/main")
			_, got, err := open(t, source.Config{Repository: f.origin}).Head(t.Context())
			if name == "no content" { // a name in another encoding is odd, not hostile
				wantFiles(t, got, map[string]string{names[0]: configMap("a", "1")})
				return
			}
			wantErr(t, err, source.ErrUnreachable, f.origin)
		})
	}
}

func TestReadersGoOnWhileTheRepositoryMoves(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	want := map[string]string{}
	for i := range 200 {
		name := fmt.Sprintf("%02d/%03d.yaml", i%20, i)
		want[name] = configMap("x", fmt.Sprint(i))
		f.write(name, want[name])
	}
	f.commit("many")
	f.git("push", "-q", "origin", "main")
	remote := serveHTTP(t, f)
	for _, repository := range []string{remote.repo(), f.origin} {
		s := open(t, source.Config{Repository: repository, Interval: always})
		_, tree, err := s.Head(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var readers sync.WaitGroup
		stop := make(chan struct{})
		for range 2 {
			readers.Go(func() {
				for {
					if diff := cmp.Diff(want, readAll(t, tree)); diff != "" {
						t.Errorf("tree changed: %s", diff)
					}
					select {
					case <-stop:
						return
					default:
					}
				}
			})
		}
		for i := range 5 {
			head := f.push("new.yaml", repository+fmt.Sprint(i))
			wantHead(t, s, head, nil)
			if i == 2 { // loose objects become a pack, and packs another one
				f.run(f.origin, "gc", "-q")
			}
		}
		close(stop)
		readers.Wait()
		f.git("reset", "-q", "--hard", "HEAD~5")
		f.git("push", "-q", "-f", "origin", "main")
	}
}
