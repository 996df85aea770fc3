package mock

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/tidelock/tidelock/internal/openapi"
)

// Files are read again once they have been quiet: editors write in several steps. Where they never are, now and then.
const (
	settle = 50 * time.Millisecond
	atMost = 500 * time.Millisecond
	// glance is how often files are looked at without being told.
	glance = time.Second
)

// reload reads the definition and, where it is valid and new, has it answered from now on. What was read from is watched
// in any case: the mend of a broken reference may be in another folder.
func (s *Server) reload(ctx context.Context) error {
	doc, files, err := s.def.load(ctx)
	if err := s.watch.follow(files); err != nil {
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
	s.warn(ctx, doc.Warnings)
	s.page.Store(newPage(doc, s.handler.current.Load(), s.Addr().Port()))
	return nil
}

// warn tells what is odd about a description that is answered.
func (s *Server) warn(ctx context.Context, odd openapi.Errors) {
	const most = 20
	for _, w := range odd[:min(most, len(odd))] {
		s.log.WarnContext(ctx, "odd in the definition", slog.String("warning", w.Error()))
	}
	if more := len(odd) - most; more > 0 {
		s.log.WarnContext(ctx, "more is odd in the definition, as tidelock validate shows", slog.Int("warnings", more))
	}
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

// watch tells when one of a set of files was written. Their folders are watched and not they, since editors and Kubernetes
// put a new file in the place of the old one. Where a whole folder is replaced, and on network file systems, nothing is
// told: so the files are looked at now and then.
type watch struct {
	fs    *fsnotify.Watcher
	files map[string]fs.FileInfo // as they were found last; nil for one that was not there
}

func newWatch() (*watch, error) {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, fmt.Errorf("watch the definition: %w", err)
	}
	return &watch{fs: w}, nil
}

// follow watches other files from now on, too: those that a reference no longer leads to do no harm.
func (w *watch) follow(files []string) error {
	w.files = make(map[string]fs.FileInfo, len(files))
	folders := map[string]bool{}
	for _, file := range files {
		w.files[file], _ = os.Stat(file)
		folders[filepath.Dir(file)] = true
	}
	var errs []error
	for _, folder := range slices.Sorted(maps.Keys(folders)) {
		if err := w.fs.Add(folder); err != nil && !errors.Is(err, fsnotify.ErrClosed) && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, fmt.Errorf("watch %s: %w", folder, err))
		}
	}
	return errors.Join(errs...)
}

// changed reports whether a file is another one than it was, or was written.
func (w *watch) changed() bool {
	for file, was := range w.files {
		is, _ := os.Stat(file)
		if was == nil || is == nil {
			if was != nil || is != nil {
				return true
			}
			continue
		}
		if !os.SameFile(was, is) || was.Size() != is.Size() || !was.ModTime().Equal(is.ModTime()) {
			return true
		}
	}
	return false
}

func (w *watch) close() error { return w.fs.Close() }

// run calls changed after each burst of writes, until ctx ends.
func (w *watch) run(ctx context.Context, changed func(context.Context)) error {
	quiet := time.NewTimer(settle) // what was written between load and now counts too
	defer quiet.Stop()
	look := time.NewTicker(glance)
	defer look.Stop()
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
		case <-look.C:
			if since.IsZero() && w.changed() {
				wait()
			}
		case <-quiet.C:
			since = time.Time{}
			changed(ctx)
		}
	}
}
