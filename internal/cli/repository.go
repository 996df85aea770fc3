package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/spf13/cobra"

	"github.com/tidelock/tidelock/internal/desired"
	"github.com/tidelock/tidelock/internal/reconcile"
	"github.com/tidelock/tidelock/internal/render"
	"github.com/tidelock/tidelock/internal/source"
)

// repositoryFlags are what the commands share that a person types at a repository: [PATH], and --ref for a commit.
type repositoryFlags struct {
	ref       string
	mockImage string
	at        string
}

func (f *repositoryFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.ref, "ref", "", "read this branch, tag or commit instead of the working tree")
	cmd.Flags().StringVar(&f.mockImage, "mock-image", "", "image that runs mocks, where the repository names none")
	cmd.Flags().StringVar(&f.at, "at", "", "instant (RFC 3339) at which splits are looked at that change over time (default now)")
}

// render reads the repository that path lies in and renders it; what it returns is in force at --at.
func (f *repositoryFlags) render(ctx context.Context, args []string) (desired.State, error) {
	at, err := f.instant()
	if err != nil {
		return desired.State{}, err
	}
	path := "."
	if len(args) == 1 {
		path = args[0]
	}
	root, sub, err := source.WorkingTree(path)
	if err != nil {
		return desired.State{}, err
	}
	rev, tree, err := f.open(ctx, root)
	if err != nil {
		return desired.State{}, err
	}
	state, err := render.Render(ctx, rev, tree, render.Options{Path: sub, MockImage: f.mockImage})
	if err == nil {
		err = reconcile.Check(state)
	}
	if problems, ok := errors.AsType[desired.Problems](err); ok {
		err = fmt.Errorf("refused, %s:\n%w", count(len(problems), "error"), err)
	}
	return state.At(at), err
}

// instant returns the instant that --at names, or now.
func (f *repositoryFlags) instant() (time.Time, error) {
	if f.at == "" {
		return time.Now(), nil
	}
	at, err := desired.ParseSchedule(f.at, "")
	if err == nil && at.Repeats() {
		err = fmt.Errorf("%q is no instant: want one as 2026-12-24T18:00:00+01:00", f.at)
	}
	if err != nil {
		return time.Time{}, usageError{fmt.Errorf("--at: %w", err)}
	}
	return at.Once, nil
}

// count says "1 error" or "2 errors".
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

func (f *repositoryFlags) open(ctx context.Context, root string) (desired.Revision, fs.FS, error) {
	if f.ref == "" {
		return source.Snapshot(ctx, root)
	}
	src, err := source.Open(ctx, source.Config{Repository: root, Ref: f.ref})
	if err != nil {
		return desired.Revision{}, nil, err
	}
	return src.Head(ctx)
}
