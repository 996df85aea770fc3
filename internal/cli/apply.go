package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/tidelock/tidelock/internal/apply"
)

func newApply() *cobra.Command {
	var f instanceFlags
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "apply --repo REPOSITORY",
		Short: "Apply a repository once",
		Long: text(`
			Does once what the daemon does for each commit: renders, checks with the server's dry run, applies, prunes. It
			takes the instance's Lease, so it cannot run beside a daemon of the same name. No proxy is served.`),
		Example: text(`
			tidelock apply --name shop --repo . --path overlays/staging
			tidelock apply --name shop --repo https://git.example.com/shop.git --ref v1.4.0`),
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, cancel := context.WithTimeout(cmd.Context(), timeout)
			defer cancel()
			in, err := f.make(ctx, cmd, nil, false)
			if err != nil {
				return err
			}
			return inTime(timeout, beside(ctx, in.start, func(ctx context.Context) error {
				return in.lead(ctx, in.loop.Converge)
			}))
		},
	}
	f.add(cmd)
	cmd.Flags().DurationVar(&timeout, "timeout", 5*time.Minute, "how long the commit may take to be in")
	return cmd
}

// beside does something while parts run beside it, and ends them afterwards. Where a part fails, do is ended.
func beside(ctx context.Context, start func(context.Context, *errgroup.Group), do func(context.Context) error) error {
	g, ctx := errgroup.WithContext(ctx)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	start(ctx, g)
	err := do(ctx)
	cancel()
	return errors.Join(err, interrupted(ctx, g.Wait()))
}

// inTime says in words that a command's time is over.
func inTime(timeout time.Duration, err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("not done after %s: %w", timeout, err)
	}
	return err
}

func newDestroy() *cobra.Command {
	var f clusterFlags
	var logs logFlags
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "destroy --name INSTANCE",
		Short: "Delete all that an instance owns, and its records",
		Long: text(`
			Deletes what the inventory of the instance lists and nothing else, then the inventory and the Sync. Namespaces,
			CustomResourceDefinitions and PersistentVolumeClaims stay unless they are annotated tidelock.dev/prune: enabled.
			The definitions of our own kinds stay too: other instances may use them.

			It takes the instance's Lease: stop the daemon first.`),
		Example: text(`
			tidelock destroy --name shop`),
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := f.applyConfig()
			if err != nil {
				return err
			}
			if cfg.Logger, err = logs.logger(cmd.ErrOrStderr(), nil); err != nil {
				return err
			}
			// Whichever repository it followed: this is its end.
			cfg.Takeover = true
			ctx, cancel := context.WithTimeout(cmd.Context(), timeout)
			defer cancel()
			res, err := destroy(ctx, cfg)
			printDestroyed(cmd.OutOrStdout(), res)
			return inTime(timeout, err)
		},
	}
	f.add(cmd)
	logs.add(cmd)
	cmd.Flags().DurationVar(&timeout, "timeout", 5*time.Minute, "how long it may take")
	return cmd
}

func destroy(ctx context.Context, cfg apply.Config) (apply.Result, error) {
	c, err := apply.New(cfg)
	if err != nil {
		return apply.Result{}, err
	}
	if err := known(ctx, c, cfg); err != nil {
		return apply.Result{}, err
	}
	var res apply.Result
	run := func(ctx context.Context, g *errgroup.Group) { g.Go(func() error { return c.Run(ctx) }) }
	err = beside(ctx, run, func(ctx context.Context) error {
		err := c.Lead(ctx, apply.Identity(), func(holder string) {
			cfg.Logger.WarnContext(ctx, "the instance's daemon is running: stop it first", slog.String("holder", holder))
		}, func(ctx context.Context) (err error) {
			if err = c.Open(ctx); err == nil {
				res, err = c.Destroy(ctx)
			}
			return err
		})
		if err != nil {
			return err
		}
		return c.DropLease(ctx)
	})
	for _, f := range res.Failed {
		err = errors.Join(err, fmt.Errorf("%s: %w", f.ID, f.Err))
	}
	return res, err
}

// known refuses a name that no instance has, before anything is written in its name.
func known(ctx context.Context, c *apply.Cluster, cfg apply.Config) error {
	if err := c.Open(ctx); err != nil {
		return err
	}
	status, err := c.Recall(ctx)
	if err == nil && status.Repository == "" && len(c.Inventory().Entries) == 0 {
		err = fmt.Errorf("there is no instance %q in namespace %s (kubectl get syncs -A lists them)", cfg.Owner, cfg.Namespace)
	}
	return err
}

func printDestroyed(w io.Writer, res apply.Result) {
	for _, id := range res.Pruned {
		_, _ = fmt.Fprintln(w, "deleted", id)
	}
	for _, id := range res.Released {
		_, _ = fmt.Fprintln(w, "kept", id)
	}
}
