package source

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/tidelock/tidelock/internal/desired"
)

// Source follows one ref of one repository. Its methods may be called by many goroutines.
type Source struct {
	cfg Config
	loc location

	// busy is held by whoever uses origin.
	busy   chan struct{}
	origin origin

	changed chan struct{} // to the caller: Head has something new
	poke    chan struct{} // to Run: look now

	mu     sync.Mutex
	state  *state
	err    error
	polled time.Time // of the last look; zero before the first
	runs   int       // how many Runs look for us
	asking int       // how many ask for a commit by name
	yield  func()    // ends the look that is under way; nil where none is
	kept   []string  // by the last Keep; nil before the first
}

// Open checks cfg. The repository is not asked yet: where it is out of reach, Head says so.
func Open(_ context.Context, cfg Config) (*Source, error) {
	loc, locErr := locate(cfg.Repository, &cfg.Auth)
	roots, caErr := rootsOf(cfg.CAFile)
	if err := errors.Join(locErr, caErr, cfg.complete()); err != nil {
		return nil, fmt.Errorf("source: %w", err)
	}
	s := &Source{
		cfg: cfg, loc: loc,
		busy:    make(chan struct{}, 1),
		changed: make(chan struct{}, 1),
		poke:    make(chan struct{}, 1),
	}
	if loc.url == nil {
		s.origin = &localOrigin{loc: loc, ref: cfg.Ref, name: cfg.Name, dir: cfg.DataDir, log: cfg.Logger}
		return s, nil
	}
	s.origin = &remoteOrigin{
		loc: loc, ref: cfg.Ref, name: cfg.Name, dir: cfg.DataDir, log: cfg.Logger,
		auth: cfg.Auth, hide: cfg.Auth.redactor(), time: cfg.Timeout, progress: cfg.Progress,
		client:   newHTTP(cfg.Timeout, roots),
		searched: map[string]string{},
	}
	return s, nil
}

// Repository returns the repository as it may be shown: absolute, without credentials.
func (s *Source) Repository() string { return s.loc.shown }

// Head returns the newest known revision and its tree. While Run runs, it is what Run saw last and costs nothing; without
// Run, and the first time, Head looks itself: at a remote once an interval, at a local repository each time.
//
// With an error (ErrUnknownRef, ErrEmptyRepository, ErrUnreachable) come the revision and tree that were known before, if
// there are any; the tree is nil else.
func (s *Source) Head(ctx context.Context) (desired.Revision, fs.FS, error) {
	if s.due() {
		_, err := s.look(ctx, s.due)
		for errors.Is(err, errGaveWay) {
			_, err = s.look(ctx, s.due)
		}
		if err != nil {
			return desired.Revision{}, nil, err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state == nil {
		return desired.Revision{}, nil, s.err
	}
	return s.state.rev, s.state.tree, s.err
}

// due tells whether Head has to look itself.
func (s *Source) due() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.polled.IsZero() || s.runs == 0 && s.old()
}

// stale tells whether what is known may be old where nobody has watched.
func (s *Source) stale() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.old()
}

// old is stale with s.mu held.
func (s *Source) old() bool {
	return s.polled.IsZero() || s.loc.url == nil || time.Since(s.polled) >= s.cfg.Interval
}

// errGaveWay says that a look was ended for somebody who goes first, and is to be made again.
var errGaveWay = errors.New("gave way")

// look asks the origin, unless due says no once it is our turn, and tells whether Head has something new. It gives way to
// whoever asks for a commit by name: that is errGaveWay. Any other error is that of ctx.
func (s *Source) look(ctx context.Context, due func() bool) (news bool, err error) {
	done, err := s.turn(ctx)
	if err != nil {
		return false, err
	}
	defer done()
	if !due() {
		return false, nil
	}
	looking, stop := context.WithCancel(ctx)
	defer stop()
	if s.givesWay(stop) {
		s.Notify()
		return false, errGaveWay
	}
	st, err := s.origin.newest(looking)
	s.givesWay(nil)
	switch {
	case err != nil && ctx.Err() != nil:
		return false, fmt.Errorf("look at %s: %w", s.loc.shown, ctx.Err())
	case err != nil && looking.Err() != nil:
		s.Notify()
		return false, errGaveWay
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	news = s.polled.IsZero() || text(err) != text(s.err) || revision(st) != revision(s.state)
	s.state, s.err, s.polled = st, err, time.Now()
	return news, nil
}

// turn waits until the origin is ours.
func (s *Source) turn(ctx context.Context) (done func(), err error) {
	select {
	case s.busy <- struct{}{}:
		return func() { <-s.busy }, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("look at %s: %w", s.loc.shown, ctx.Err())
	}
}

// givesWay tells whether a look must let somebody go first, and notes how else it is ended; nil that it has ended.
func (s *Source) givesWay(stop func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.yield = stop; s.asking > 0 {
		s.yield = nil
	}
	return s.asking > 0
}

// first is turn for what is asked for by name: a look that is under way gives way, and is made again afterwards. A remote
// that is slow must not keep anybody from a commit that is here.
func (s *Source) first(ctx context.Context) (done func(), err error) {
	s.mu.Lock()
	s.asking++
	if s.yield != nil {
		s.yield()
	}
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.asking--
	}()
	return s.turn(ctx)
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func revision(st *state) desired.Revision {
	if st == nil {
		return desired.Revision{}
	}
	return st.rev
}

// Commit returns an earlier revision and its tree: one that Keep kept, or that the repository still has. Anything else is
// ErrUnknownCommit; ErrUnreachable says that a remote could not be asked.
func (s *Source) Commit(ctx context.Context, id string) (desired.Revision, fs.FS, error) {
	st, err := s.find(ctx, id)
	if err != nil {
		return desired.Revision{}, nil, err
	}
	return st.rev, st.tree, nil
}

func (s *Source) find(ctx context.Context, id string) (*state, error) {
	s.mu.Lock()
	st := s.state
	s.mu.Unlock()
	if st != nil && st.rev.Commit == id {
		return st, nil
	}
	done, err := s.first(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	return s.origin.commit(ctx, id)
}

// Keep keeps exactly these commits for the instance, and lets go of what it kept before. They stay readable through
// Commit across restarts, force-pushes and git gc. They lie under refs/tidelock/<instance>/ in an object store of ours
// below Config.DataDir, where a local repository's objects are copied to: that repository is never written to.
func (s *Source) Keep(ctx context.Context, ids ...string) error {
	states := make([]*state, len(ids))
	s.mu.Lock()
	same := s.kept != nil && slices.Equal(s.kept, ids)
	s.mu.Unlock()
	if same {
		return nil
	}
	for i, id := range ids {
		st, err := s.find(ctx, id)
		if err != nil {
			return fmt.Errorf("keep %s: %w", id, err)
		}
		states[i] = st
	}
	done, err := s.first(ctx)
	if err != nil {
		return err
	}
	defer done()
	if err := s.origin.keep(ctx, states); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kept = append([]string{}, ids...)
	return nil
}

// Changed is signalled when Head has something new, also where that is an error, or the end of one.
func (s *Source) Changed() <-chan struct{} { return s.changed }

// Notify makes Run look now: someone said that there is news.
func (s *Source) Notify() { signal(s.poke) }

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// log returns attributes that every line of ours carries.
func (s *Source) log() *slog.Logger {
	return s.cfg.Logger.With(slog.String("repository", s.loc.shown))
}
