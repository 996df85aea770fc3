// Package reconcile is the loop: the only place where the stages meet. A repository and a cluster go in, passes come out;
// once.go is one pass from its first line to its last.
package reconcile

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tidelock/tidelock/internal/apply"
	"github.com/tidelock/tidelock/internal/desired"
	"github.com/tidelock/tidelock/internal/mock"
	"github.com/tidelock/tidelock/internal/redact"
	"github.com/tidelock/tidelock/internal/render"
	"github.com/tidelock/tidelock/internal/schedule"
	"github.com/tidelock/tidelock/internal/xds"
)

// Source is where commits come from.
type Source interface {
	// Head returns the newest revision that can be had, and its tree.
	Head(ctx context.Context) (desired.Revision, fs.FS, error)
	// Commit returns an earlier one.
	Commit(ctx context.Context, hash string) (desired.Revision, fs.FS, error)
	// Keep makes sure that exactly these commits can be had later, also after a forced push.
	Keep(ctx context.Context, hashes ...string) error
}

// Config is what a Loop works with. All fields but Definitions, Mocks, Schedules, Hidden, Metrics and Progress are required.
type Config struct {
	// Repository, Ref and Path are what is followed, as they are shown.
	Repository, Ref, Path string

	Source  Source
	Render  render.Options
	Cluster *apply.Cluster
	Proxies *xds.Server
	World   *xds.Watcher
	// Definitions of our kinds that are installed and upgraded, as YAML files; nil leaves that to others. Version is that of
	// the program.
	Definitions fs.FS
	Version     string
	// OneShot is set where no proxy can connect: what an earlier daemon's proxies may still reach is not deleted.
	OneShot bool
	// Mocks answers the repository's APIMocks in this process; nil leaves them to pods.
	Mocks *mock.Local
	// Schedules fires what the accepted commit schedules; nil leaves that to a daemon.
	Schedules *schedule.Runner
	// Wake are channels that start a pass: whatever changed sends on one of them.
	Wake   []<-chan struct{}
	Logger *slog.Logger
	// Hidden is told the values of Secrets, for what is said beside the loop; nil for none.
	Hidden *redact.Shared
	// Metrics takes note of passes; nil for none.
	Metrics *Metrics
	// Progress is told what takes long, and "" when it is over; nil for none.
	Progress func(doing string)
}

// Loop takes an instance from pass to pass. It has one goroutine, and nothing else writes.
type Loop struct {
	Config
	log   *slog.Logger
	built *xds.Cache
	ready atomic.Bool
	// veil is what must not be shown. It belongs to the loop's goroutine, as all does.
	veil veil
	// watch times the pass that is under way.
	watch stopwatch
}

// New returns a Loop that has not done anything yet.
func New(cfg Config) *Loop {
	if cfg.Progress == nil {
		cfg.Progress = func(string) {}
	}
	return &Loop{Config: cfg, log: cfg.Logger, built: &xds.Cache{}}
}

// Ready returns nil once the first pass is through, whatever its outcome. It is safe for concurrent use.
func (l *Loop) Ready() error {
	if !l.ready.Load() {
		return errors.New("the first pass is not through")
	}
	return nil
}

// Run makes a pass whenever something changed, until ctx ends. Trouble of a pass is reported and tried again; the error is
// one that will not mend itself.
func (l *Loop) Run(ctx context.Context) error {
	return l.passes(ctx, func(standing) (bool, error) { return false, nil })
}

// Converge makes passes until the newest commit is in and nothing is waited for. Its error is why that will not happen, or
// what was outstanding when ctx ended.
func (l *Loop) Converge(ctx context.Context) error {
	outstanding := ""
	err := l.passes(ctx, func(now standing) (bool, error) {
		if ctx.Err() == nil || outstanding == "" {
			_, outstanding = now.words(l.now())
		}
		return now.settled(), now.verdict()
	})
	if err != nil && ctx.Err() != nil && outstanding != "" {
		return fmt.Errorf("%s (%w)", outstanding, err)
	}
	return err
}

// passes makes one pass after the other until done says so.
func (l *Loop) passes(ctx context.Context, done func(standing) (bool, error)) error {
	wake := make(chan struct{}, 1)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var news sync.WaitGroup
	for _, c := range l.Wake {
		news.Go(func() { forward(ctx, c, wake) })
	}
	defer news.Wait()
	defer cancel()
	l.Metrics.leads(true)
	defer l.Metrics.leads(false)
	now, err := l.restore(ctx)
	for err == nil {
		l.watch.start()
		was := l.remember(ctx, now)
		now = l.once(ctx, was)
		l.Metrics.note(was, now, len(l.Cluster.Inventory().Entries), l.watch, l.now())
		l.ready.Store(true)
		var end bool
		if end, err = done(now); end || err != nil {
			return err
		}
		err = rest(ctx, wake, now, l.now())
	}
	return err
}

// forward turns one channel's news into a wake-up; many pieces of news make one.
func forward(ctx context.Context, from <-chan struct{}, wake chan<- struct{}) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-from:
		}
		select {
		case wake <- struct{}{}:
		default:
		}
	}
}

func (*Loop) now() time.Time { return time.Now() }
