package source

import (
	"context"
	"io/fs"
	"log/slog"
	"time"

	"github.com/fsnotify/fsnotify"
)

const (
	// quiet is how long nothing may happen in a folder before it is read, and restless how long that is waited for.
	quiet    = 100 * time.Millisecond
	restless = 2 * time.Second
)

// Run looks for news until ctx ends: at a remote once an interval, at a local repository or folder when the file system
// tells of a change, and at both when Notify is called. It returns nil when ctx ends.
func (s *Source) Run(ctx context.Context) error {
	s.count(1)
	defer s.count(-1)
	w := s.watch(ctx)
	defer w.close()
	s.see(ctx, s.stale)
	poll := time.NewTicker(s.cfg.Interval)
	defer poll.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-poll.C:
			w.sync(ctx)
		case <-s.poke:
		case ev, ok := <-w.events():
			if !ok {
				w = nil
				continue
			}
			if !w.concerns(ev) {
				continue
			}
			w.settle(ctx)
			w.sync(ctx)
		case err, ok := <-w.errors():
			if !ok {
				w = nil
				continue
			}
			// The kernel's queue ran over, or a watch broke: what happened is unknown, so look.
			s.log().WarnContext(ctx, "watching files", slog.Any("err", err))
			w.sync(ctx)
		}
		s.see(ctx, func() bool { return true })
	}
}

func (s *Source) count(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.runs += n
}

// see looks where it is due, and tells the caller where there is news.
func (s *Source) see(ctx context.Context, due func() bool) {
	news, err := s.look(ctx, due)
	if err == nil && news {
		signal(s.changed)
	}
}

// watch begins to watch a local repository. It returns nil for a remote, and where the system gives no watches: then
// there is the interval.
func (s *Source) watch(ctx context.Context) *watcher {
	if s.loc.url != nil {
		return nil
	}
	fsw, err := fsnotify.NewWatcher()
	if err != nil {
		s.log().WarnContext(ctx, "no watch on files, looking once an interval", slog.Any("err", err))
		return nil
	}
	w := &watcher{fsw: fsw, root: s.loc.path, log: s.log(), watched: map[string]fs.FileInfo{}}
	w.sync(ctx)
	return w
}
