package source_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tidelock/tidelock/internal/source"
)

// value returns what the ConfigMap in a folder mounted by the kubelet says, as a reader that follows links sees it.
func value(tree fs.FS) string {
	if tree == nil {
		return ""
	}
	to, err := fs.ReadLink(tree, "..data")
	if err != nil {
		return err.Error()
	}
	b, err := fs.ReadFile(tree, to+"/cm.yaml")
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// mount puts a ConfigMap into a folder as the kubelet does: a new folder, a link to it that takes the old one's place,
// and then the old folder goes.
func mount(t *testing.T, dir, version, content string) {
	t.Helper()
	old, _ := os.Readlink(filepath.Join(dir, "..data"))
	writeFile(t, filepath.Join(dir, "..v"+version, "cm.yaml"), content)
	tmp := filepath.Join(dir, "..data_tmp")
	if err := os.Symlink("..v"+version, tmp); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(tmp, filepath.Join(dir, "..data")); err != nil {
		t.Fatal(err)
	}
	if old == "" {
		if err := os.Symlink("..data/cm.yaml", filepath.Join(dir, "cm.yaml")); err != nil {
			t.Fatal(err)
		}
		return
	}
	if err := os.RemoveAll(filepath.Join(dir, old)); err != nil {
		t.Fatal(err)
	}
}

func TestASwapOfAMountedFolderIsOneChange(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	mount(t, dir, "1", configMap("swapped", "1"))
	s := open(t, source.Config{Repository: dir, Interval: time.Hour})
	running(t, s)
	seen := map[string]bool{}
	at := func(want string) func() bool {
		return func() bool {
			rev, tree, err := s.Head(t.Context())
			if err != nil {
				t.Fatalf("an error reached the caller: %v", err)
			}
			if rev.Commit != "" {
				seen[rev.Commit] = true
			}
			return value(tree) == want
		}
	}
	eventually(t, s, "version 1", at(configMap("swapped", "1")))
	for v := 2; v <= 5; v++ {
		mount(t, dir, fmt.Sprint(v), configMap("swapped", fmt.Sprint(v)))
		eventually(t, s, "the next version", at(configMap("swapped", fmt.Sprint(v))))
	}
	if len(seen) != 5 {
		t.Errorf("5 versions were %d revisions", len(seen))
	}
	last, _, _ := s.Head(t.Context())
	mount(t, dir, "6", configMap("swapped", "5"))
	again, _, err := source.Snapshot(t.Context(), dir)
	if err != nil || again.Commit != last.Commit {
		t.Errorf("equal content under another name is %s, was %s, %v", again, last, err)
	}
}

func TestSwapsInQuickSuccessionEndAtTheLast(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	mount(t, dir, "0", "0")
	s := open(t, source.Config{Repository: dir, Interval: time.Hour})
	running(t, s)
	for v := 1; v <= 200; v++ {
		mount(t, dir, fmt.Sprint(v), fmt.Sprint(v))
	}
	eventually(t, s, "the last version", func() bool {
		_, tree, err := s.Head(t.Context())
		if err != nil {
			t.Fatalf("an error reached the caller: %v", err)
		}
		return value(tree) == "200"
	})
}

func TestAFolderIsReadWhenItsWriterIsDone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "a.yaml"), "0\nend\n")
	s := open(t, source.Config{Repository: dir, Interval: time.Hour})
	running(t, s)
	const quiet = 100 * time.Millisecond // for how long nothing may happen before the folder is read
	var longest time.Duration            // between two writes: on a busy machine a writer may stand still for longer than that
	whole := func(want string) func() bool {
		return func() bool {
			_, tree, err := s.Head(t.Context())
			if err != nil || tree == nil {
				t.Fatalf("head: %v", err)
			}
			b, err := fs.ReadFile(tree, "a.yaml")
			if half := !strings.HasSuffix(string(b), "end\n"); err != nil || half && longest < quiet {
				t.Fatalf("a half-written file was read: %q, %v", b, err)
			}
			return string(b) == want
		}
	}
	eventually(t, s, "the first content", whole("0\nend\n"))
	pause := time.NewTicker(20 * time.Millisecond)
	defer pause.Stop()
	for i := range 3 {
		f, err := os.Create(filepath.Join(dir, "a.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		last := time.Now()
		for range 5 {
			fmt.Fprintf(f, "%d\n", i+1)
			<-pause.C // a slow writer
			longest, last = max(longest, time.Since(last)), time.Now()
		}
		fmt.Fprint(f, "end\n")
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		eventually(t, s, "the next content", whole(strings.Repeat(fmt.Sprintf("%d\n", i+1), 5)+"end\n"))
	}
}

func TestNewFoldersAndSwappedRootsAreWatched(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	writeFile(t, filepath.Join(base, "v1/app/a.yaml"), "1")
	writeFile(t, filepath.Join(base, "v2/app/a.yaml"), "2")
	if err := os.Symlink("v1", filepath.Join(base, "current")); err != nil {
		t.Fatal(err)
	}
	s := open(t, source.Config{Repository: filepath.Join(base, "current", "app"), Interval: time.Hour})
	running(t, s)
	has := func(name, want string) func() bool {
		return func() bool {
			_, tree, _ := s.Head(t.Context())
			if tree == nil {
				return false
			}
			b, err := fs.ReadFile(tree, name)
			return err == nil && string(b) == want
		}
	}
	eventually(t, s, "v1", has("a.yaml", "1"))
	writeFile(t, filepath.Join(base, "v1/app/x/y/z/deep.yaml"), "deep")
	eventually(t, s, "a file in new folders", has("x/y/z/deep.yaml", "deep"))
	writeFile(t, filepath.Join(base, "v1/app/x/y/z/deep.yaml"), "deeper")
	eventually(t, s, "a change there", has("x/y/z/deep.yaml", "deeper"))
	if err := os.Symlink("v2", filepath.Join(base, "next")); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(base, "next"), filepath.Join(base, "current")); err != nil {
		t.Fatal(err)
	}
	eventually(t, s, "the other root", has("a.yaml", "2"))
	writeFile(t, filepath.Join(base, "v2/app/a.yaml"), "3")
	eventually(t, s, "a change in the other root", has("a.yaml", "3"))
	for from, to := range map[string]string{"v2/app": "v2/old", "v1/app": "v2/app"} {
		if from == "v2/app" {
			if err := os.Rename(filepath.Join(base, from), filepath.Join(base, to)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := os.Rename(filepath.Join(base, "v1/app"), filepath.Join(base, "v2/app")); err != nil {
		t.Fatal(err)
	}
	eventually(t, s, "a folder in the root's place", has("a.yaml", "1"))
	writeFile(t, filepath.Join(base, "v2/app/a.yaml"), "4")
	eventually(t, s, "a change in it", has("a.yaml", "4"))
}

func TestASnapshotHoldsStill(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	big := strings.Repeat("0123456789abcdef", 5<<16) // more than is held in memory
	writeFile(t, filepath.Join(dir, "a.yaml"), "1")
	writeFile(t, filepath.Join(dir, "gone.yaml"), "1")
	writeFile(t, filepath.Join(dir, "big.bin"), big)
	writeFile(t, filepath.Join(dir, ".git/HEAD"), "no repository")
	writeFile(t, filepath.Join(dir, "sub/.git"), "gitdir: elsewhere")
	writeFile(t, filepath.Join(dir, ".tidelockignore"), "x")
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o644); err != nil {
		t.Fatal(err)
	}
	rev, tree, err := source.Snapshot(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"a.yaml": "1", "gone.yaml": "1", "big.bin": big, ".tidelockignore": "x"}
	wantFiles(t, tree, want)
	if !strings.HasPrefix(rev.Commit, "sha256:") || rev.Repository != dir {
		t.Errorf("revision is %+v", rev)
	}
	writeFile(t, filepath.Join(dir, "a.yaml"), "2")
	if err := os.Remove(filepath.Join(dir, "gone.yaml")); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{"a.yaml": "1", "gone.yaml": "1"} {
		if b, err := fs.ReadFile(tree, name); string(b) != content {
			t.Errorf("%s is %q, %v", name, b, err)
		}
	}
	writeFile(t, filepath.Join(dir, "big.bin"), strings.Replace(big, "0", "1", 1))
	if _, err := fs.ReadFile(tree, "big.bin"); err == nil || !strings.Contains(err.Error(), "has changed") {
		t.Errorf("a large file that changed: %v", err)
	}
	next, _, err := source.Snapshot(t.Context(), dir)
	if err != nil || next.Commit == rev.Commit {
		t.Errorf("another content is %s, was %s, %v", next, rev, err)
	}
	_, _, err = source.Snapshot(t.Context(), filepath.Join(dir, "none"))
	wantErr(t, err, source.ErrUnreachable, "none")
	_, _, err = open(t, source.Config{Repository: t.TempDir(), Ref: "main"}).Head(t.Context())
	wantErr(t, err, source.ErrUnknownRef, "no git repository")
}

func TestAFolderThatIsKeptOutlivesItsNextChange(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	want := map[string]string{"a.yaml": "1", "sub/b.sh": "b", "sub.txt": "order", "link": "-> sub/b.sh"}
	for name, content := range want {
		if name != "link" {
			writeFile(t, filepath.Join(dir, name), content)
		}
	}
	if err := os.Chmod(filepath.Join(dir, "sub/b.sh"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("sub/b.sh", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	cfg := source.Config{Repository: dir, DataDir: t.TempDir()}
	s := open(t, cfg)
	rev, _, err := s.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Keep(t.Context(), rev.Commit); err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(dir, "a.yaml"), "2")
	if now, _, err := s.Head(t.Context()); err != nil || now.Commit == rev.Commit {
		t.Fatalf("head is %s, %v", now, err)
	}
	got, tree, err := open(t, cfg).Commit(t.Context(), rev.Commit)
	if err != nil || got.Commit != rev.Commit {
		t.Fatalf("commit is %+v, %v", got, err)
	}
	wantFiles(t, tree, want)
	if info, err := fs.Stat(tree, "sub/b.sh"); err != nil || info.Mode() != 0o755 {
		t.Errorf("an executable is %v, %v", info, err)
	}
	f := &fixture{tb: t}
	f.run(glob(t, cfg.DataDir, "*.git")[0], "fsck", "--full")
	_, _, err = s.Commit(t.Context(), "sha256:"+strings.Repeat("0", 64))
	wantErr(t, err, source.ErrUnknownCommit, dir)
}

func TestASnapshotOfAWorkingTreeIsWhatACommitWouldHold(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.write("tracked/kept.log", "tracked before it was ignored")
	f.commit("first")
	f.write(".gitignore", "*.log\n/build/\n!always.log\n[!a-z]*.tmp\n")
	f.write("sub/.gitignore", "local.yaml\r\n")
	writeFile(t, filepath.Join(f.dev, ".git/info/exclude"), "mine.yaml\n")
	for _, name := range []string{"a.log", "tracked/new.log", "build/a.yaml", "sub/local.yaml", "mine.yaml", "1.tmp"} {
		f.write(name, "in no commit")
	}
	for _, name := range []string{"always.log", "sub/build/a.yaml", "local.yaml", "a.tmp", "new.yaml"} {
		f.write(name, "may be committed")
	}
	f.run(f.dev, "init", "-q", "-b", "main", "other")
	f.write("other/a.yaml", "of another repository")
	_, tree, err := source.Snapshot(t.Context(), f.dev)
	if err != nil {
		t.Fatal(err)
	}
	got := readAll(t, tree)
	f.git("-c", "advice.addEmbeddedRepo=false", "-c", "core.safecrlf=false", "add", "-A", ":!other")
	for name := range strings.Lines(f.git("ls-files")) {
		name = strings.TrimSpace(name)
		if _, ok := got[name]; !ok {
			t.Errorf("%s is not in the snapshot, and git commits it", name)
		}
		delete(got, name)
	}
	if len(got) > 0 {
		t.Errorf("git does not commit %v", got)
	}
	if info, err := fs.Stat(tree, "other"); err != nil || !info.IsDir() {
		t.Errorf("of another repository the folder remains: %v", err)
	}
}
