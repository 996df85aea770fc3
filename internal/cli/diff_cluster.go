package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/tidelock/tidelock/deploy/crds"
	"github.com/tidelock/tidelock/internal/apply"
	"github.com/tidelock/tidelock/internal/desired"
	"github.com/tidelock/tidelock/internal/diff"
	"github.com/tidelock/tidelock/internal/reconcile"
	"github.com/tidelock/tidelock/internal/render"
	"github.com/tidelock/tidelock/internal/source"
	"github.com/tidelock/tidelock/internal/xds"
)

// cluster is the one thing that --against takes.
const cluster = "cluster"

// againstTime bounds a comparison with a cluster.
const againstTime = 2 * time.Minute

// againstFlags say with which instance a head is compared, where it is not a commit.
type againstFlags struct {
	clusterFlags
	against    string
	namespaced bool
}

func (f *againstFlags) add(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringVar(&f.against, "against", "", `"cluster" compares with what the instance --name holds there, by a server-side dry run`)
	f.clusterFlags.add(cmd)
	fl.BoolVar(&f.namespaced, "namespaced", false, "the instance runs with --namespaced: look at its own namespace alone")
}

func (f *diffFlags) check() error {
	switch {
	case f.against != "" && f.against != cluster:
		return usageError{fmt.Errorf("--against %s: want %s", f.against, cluster)}
	case f.against != "" && (f.base != "" || f.exact):
		return usageError{errors.New("--against takes the cluster as the base: leave --base and --exact out")}
	}
	return nil
}

// preview compares the head with what the cluster holds of the instance.
func (f *diffFlags) preview(ctx context.Context, path string) (diff.Diff, error) {
	root, sub, err := source.WorkingTree(path)
	if err != nil {
		return diff.Diff{}, err
	}
	at, err := f.pinned(ctx, root)
	if err != nil {
		return diff.Diff{}, err
	}
	cfg, err := f.applyConfig()
	if err != nil {
		return diff.Diff{}, err
	}
	// A clone has another name than the repository that the instance follows; and nothing is written.
	cfg.Path, cfg.Namespaced, cfg.Takeover = sub, f.namespaced, true
	held, err := apply.New(cfg)
	if err != nil {
		return diff.Diff{}, err
	}
	quiet := slog.New(slog.DiscardHandler)
	world, err := xds.NewWatcher(cfg.REST, quiet)
	if err != nil {
		return diff.Diff{}, err
	}
	line := reconcile.Config{
		Repository: root, Ref: f.head, Path: sub, Source: at, Cluster: held, World: world,
		Proxies: xds.NewServer(xds.Config{Logger: quiet}), Version: version(), Logger: quiet,
		Render: render.Options{Path: sub, MockImage: f.mockImage, Cache: render.NewCache()},
	}
	if f.namespaced {
		line.Render.Namespace = f.namespace
	} else {
		line.Definitions = crds.FS
	}
	ctx, cancel := context.WithTimeout(ctx, againstTime)
	defer cancel()
	run := func(ctx context.Context, g *errgroup.Group) {
		g.Go(func() error { return held.Run(ctx) })
		g.Go(func() error { return world.Run(ctx) })
	}
	var d diff.Diff
	err = beside(ctx, run, func(ctx context.Context) (err error) {
		d, err = reconcile.New(line).Preview(ctx, "instance "+f.name, at.head.Name)
		return err
	})
	return d, inTime(againstTime, err)
}

// pinned reads the head and what it stands on. A folder outside git has no commits, and none is needed.
func (f *diffFlags) pinned(ctx context.Context, root string) (pinned, error) {
	history, err := source.OpenHistory(root)
	if err != nil {
		if f.head != "" {
			return pinned{}, err
		}
		rev, tree, err := source.Snapshot(ctx, root)
		return pinned{head: reconcile.Version{Name: workingTree, Revision: rev, Tree: tree}}, err
	}
	head, _, err := f.headOf(ctx, history, root)
	return pinned{history: history, head: head}, err
}

// pinned is a repository whose newest commit is the head that is looked at.
type pinned struct {
	history *source.History // nil outside git
	head    reconcile.Version
}

// Head returns what is looked at.
func (p pinned) Head(context.Context) (desired.Revision, fs.FS, error) {
	return p.head.Revision, p.head.Tree, nil
}

// Commit returns a commit of the clone.
func (p pinned) Commit(_ context.Context, hash string) (desired.Revision, fs.FS, error) {
	if p.history == nil {
		return desired.Revision{}, nil, fmt.Errorf("look for commit %s: %w", hash, source.ErrUnknownCommit)
	}
	return p.history.Commit(hash, "")
}

// Keep does nothing: who only looks needs no commit later.
func (pinned) Keep(context.Context, ...string) error { return nil }
