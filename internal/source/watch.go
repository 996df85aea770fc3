package source

import (
	"context"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"
)

// watcher watches folders only, never files, so that what is replaced stays in sight. A nil watcher sees nothing.
type watcher struct {
	fsw  *fsnotify.Watcher
	root string
	log  *slog.Logger

	// git is set while root holds a repository: gitDir holds HEAD, common the refs.
	git            bool
	gitDir, common string
	watched        map[string]fs.FileInfo
	full           bool // the system gives no more watches, which was said
}

func (w *watcher) events() <-chan fsnotify.Event {
	if w == nil {
		return nil
	}
	return w.fsw.Events
}

func (w *watcher) errors() <-chan error {
	if w == nil {
		return nil
	}
	return w.fsw.Errors
}

func (w *watcher) close() {
	if w != nil {
		_ = w.fsw.Close()
	}
}

// sync makes the watches those of what is there now. A folder is watched before it is listed: what is made in it
// meanwhile is either listed or an event.
func (w *watcher) sync(ctx context.Context) {
	if w == nil {
		return
	}
	want := map[string]fs.FileInfo{}
	// Where the path itself or a link in it is swapped, the folder above tells; where it is missing, the nearest one that is
	// there.
	w.add(ctx, want, nearest(filepath.Dir(w.root)))
	for p := w.root; p != filepath.Dir(p); p = filepath.Dir(p) {
		if st, err := os.Lstat(p); err == nil && st.Mode()&fs.ModeSymlink != 0 {
			w.add(ctx, want, filepath.Dir(p))
		}
	}
	gitDir, common, err := gitDir(w.root)
	w.git, w.gitDir, w.common = err == nil && gitDir != "", gitDir, common
	switch {
	case err != nil:
		w.add(ctx, want, w.root)
	case w.git:
		w.add(ctx, want, w.root) // .git may be swapped
		w.add(ctx, want, gitDir)
		w.add(ctx, want, common)
		w.tree(ctx, want, filepath.Join(gitDir, "refs"))
		w.tree(ctx, want, filepath.Join(common, "refs"))
	default:
		w.tree(ctx, want, w.root)
	}
	for dir := range w.watched {
		if want[dir] == nil {
			_ = w.fsw.Remove(dir) // it may be gone, and its watch with it
		}
	}
	w.watched = want
}

// nearest returns dir, or the nearest folder above it that is there.
func nearest(dir string) string {
	for {
		if st, err := os.Stat(dir); err == nil && st.IsDir() || dir == filepath.Dir(dir) {
			return dir
		}
		dir = filepath.Dir(dir)
	}
}

func (w *watcher) add(ctx context.Context, want map[string]fs.FileInfo, dir string) {
	if want[dir] != nil {
		return
	}
	st, err := os.Stat(dir)
	if err != nil {
		return // it is gone, and whoever lists the folder above sees that
	}
	if was := w.watched[dir]; was != nil && !os.SameFile(was, st) {
		_ = w.fsw.Remove(dir) // behind the name is another folder now
	}
	if err = w.fsw.Add(dir); err == nil {
		want[dir] = st
		return
	}
	if _, gone := os.Stat(dir); gone == nil && !w.full {
		w.full = true
		w.log.WarnContext(ctx, "a folder cannot be watched, looking once an interval (raise fs.inotify.max_user_watches)",
			slog.String("folder", dir), slog.Any("err", err))
	}
}

// tree adds dir and all folders below. Links are not followed, except dir itself.
func (w *watcher) tree(ctx context.Context, want map[string]fs.FileInfo, dir string) {
	if st, err := os.Stat(dir); err != nil || !st.IsDir() {
		return
	}
	w.add(ctx, want, dir)
	files, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, f := range files {
		if f.IsDir() && f.Name() != ".git" && ctx.Err() == nil {
			w.tree(ctx, want, filepath.Join(dir, f.Name()))
		}
	}
}

// concerns tells whether an event may change what Head returns.
func (w *watcher) concerns(ev fsnotify.Event) bool {
	if ev.Op == fsnotify.Chmod && w.git {
		return false
	}
	dir, name := filepath.Split(ev.Name)
	dir = filepath.Clean(dir)
	switch {
	case strings.HasPrefix(w.root, ev.Name): // the folder itself, or one above
		return true
	case !w.git:
		return strings.HasPrefix(ev.Name, w.root+string(filepath.Separator)) && name != ".git" || name == ".git"
	case strings.HasSuffix(name, ".lock"):
		return false
	case dir == w.root && dir != w.gitDir:
		return name == ".git"
	case dir == w.gitDir || dir == w.common:
		return name == head || name == "packed-refs" || name == "refs" || name == "commondir" || name == "config"
	}
	return w.below(dir, w.gitDir) || w.below(dir, w.common)
}

func (w *watcher) below(dir, git string) bool {
	refs := filepath.Join(git, "refs")
	return dir == refs || strings.HasPrefix(dir, refs+string(filepath.Separator))
}

// settle takes in the events that belong together. In a repository refs change in one step, so there is nothing to wait
// for; in a folder someone may be writing still.
func (w *watcher) settle(ctx context.Context) {
	if w.git {
		w.drain()
		return
	}
	still := time.NewTimer(quiet)
	defer still.Stop()
	enough := time.NewTimer(restless)
	defer enough.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-enough.C:
			return
		case <-still.C:
			return
		case _, ok := <-w.fsw.Events:
			if !ok {
				return
			}
			still.Reset(quiet)
		}
	}
}

func (w *watcher) drain() {
	for {
		select {
		case <-w.fsw.Events:
		default:
			return
		}
	}
}
