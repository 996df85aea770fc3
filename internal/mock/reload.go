package mock

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"time"

	"github.com/fsnotify/fsnotify"
)

// Files are read again once they have been quiet: editors write in several steps. Where they never are, now and then.
const (
	settle = 50 * time.Millisecond
	atMost = 500 * time.Millisecond
)

// reload reads the definition and, where it is valid and new, has it answered from now on. What was read from is watched
// in any case: the mend of a broken reference may be in another folder.
func (s *Server) reload(ctx context.Context) error {
	doc, folders, err := s.def.load(ctx)
	if err := s.watch.follow(folders); err != nil {
		// A node may be out of watches. The mock answers all the same, and its pods are replaced with each new document.
		s.log.WarnContext(ctx, "edits are not followed", slog.Any("error", err))
	}
	if err != nil || bytes.Equal(doc.JSON, s.loaded) {
		return err
	}
	if err := s.handler.Replace(doc, s.cfg.Server); err != nil {
		return err
	}
	s.loaded = doc.JSON
	s.page.Store(newPage(doc, s.handler.current.Load(), s.Addr().Port()))
	return nil
}

// changed is called when files were written.
func (s *Server) changed(ctx context.Context) {
	before := s.loaded
	switch err := s.reload(ctx); {
	case err != nil && ctx.Err() == nil:
		s.handler.observer.reloads.WithLabelValues("refused").Inc()
		s.log.ErrorContext(ctx, "definition refused, the former one stays", slog.Any("error", err))
	case !bytes.Equal(before, s.loaded):
		s.handler.observer.reloads.WithLabelValues("accepted").Inc()
		s.log.InfoContext(ctx, "definition reloaded", slog.String("definition", s.cfg.Definition))
	}
}

// watch tells when something in a set of folders was written. Folders are watched and not files, since editors and
// Kubernetes put a new file in the place of the old one.
type watch struct {
	fs *fsnotify.Watcher
}

func newWatch() (*watch, error) {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, fmt.Errorf("watch the definition: %w", err)
	}
	return &watch{fs: w}, nil
}

// follow adds folders.
func (w *watch) follow(folders []string) error {
	var errs []error
	for _, folder := range folders {
		if err := w.fs.Add(folder); err != nil && !errors.Is(err, fsnotify.ErrClosed) && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, fmt.Errorf("watch %s: %w", folder, err))
		}
	}
	return errors.Join(errs...)
}

func (w *watch) close() error { return w.fs.Close() }

// run calls changed after each burst of writes, until ctx ends.
func (w *watch) run(ctx context.Context, changed func(context.Context)) error {
	quiet := time.NewTimer(settle) // what was written between load and now counts too
	defer quiet.Stop()
	var since time.Time // the first write that was not told yet
	wait := func() {
		if since.IsZero() {
			since = time.Now()
		}
		quiet.Reset(min(settle, time.Until(since.Add(atMost))))
	}
	for {
		select {
		case <-ctx.Done():
			return w.close()
		case <-w.fs.Events:
			wait()
		case _, open := <-w.fs.Errors: // events were lost: look again
			if open {
				wait()
			}
		case <-quiet.C:
			since = time.Time{}
			changed(ctx)
		}
	}
}
