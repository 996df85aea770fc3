package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/tidelock/tidelock/internal/apply"
)

// errDone ends the parts of a one-shot command once its work is done.
var errDone = errors.New("done")

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
			g, ctx := errgroup.WithContext(ctx)
			in.start(ctx, g)
			g.Go(func() error {
				return errors.Join(errDone, in.lead(ctx, in.loop.Converge))
			})
			return finished(g.Wait(), timeout)
		},
	}
	f.add(cmd)
	cmd.Flags().DurationVar(&timeout, "timeout", 5*time.Minute, "how long the commit may take to be in")
	return cmd
}

// finished takes errDone out of what a one-shot's group returned.
func finished(err error, timeout time.Duration) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("not done after %s", timeout)
	}
	var all interface{ Unwrap() []error }
	if !errors.As(err, &all) {
		return err
	}
	var rest []error
	for _, e := range all.Unwrap() {
		if !errors.Is(e, errDone) {
			rest = append(rest, e)
		}
	}
	return errors.Join(rest...)
}

func newDestroy() *cobra.Command {
	var f clusterFlags
	var logs logFlags
	cmd := &cobra.Command{
		Use:   "destroy --name INSTANCE",
		Short: "Delete all that an instance owns, and its records",
		Long: text(`
			Deletes what the inventory of the instance lists and nothing else, then the inventory and the Sync. Namespaces,
			CustomResourceDefinitions and PersistentVolumeClaims stay unless they are annotated tidelock.dev/prune: enabled.
			The definitions of our own kinds stay too: other instances may use them.`),
		Example: text(`
			tidelock destroy --name shop`),
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := f.applyConfig()
			if err != nil {
				return err
			}
			if cfg.Logger, err = logs.logger(cmd.ErrOrStderr()); err != nil {
				return err
			}
			return destroy(cmd, cfg)
		},
	}
	f.add(cmd)
	logs.add(cmd)
	return cmd
}

func destroy(cmd *cobra.Command, cfg apply.Config) error {
	c, err := apply.New(cfg)
	if err != nil {
		return err
	}
	var res apply.Result
	g, ctx := errgroup.WithContext(cmd.Context())
	g.Go(func() error { return c.Run(ctx) })
	g.Go(func() error {
		return errors.Join(errDone, c.Lead(ctx, identity(), func(holder string) {
			cfg.Logger.WarnContext(ctx, "another process has the instance's Lease; waiting", slog.String("holder", holder))
		}, func(ctx context.Context) error {
			err := c.Open(ctx)
			if err == nil {
				res, err = c.Destroy(ctx)
			}
			return err
		}))
	})
	err = finished(g.Wait(), 0)
	out := cmd.OutOrStdout()
	for _, id := range res.Pruned {
		_, _ = fmt.Fprintln(out, "deleted", id)
	}
	for _, id := range res.Released {
		_, _ = fmt.Fprintln(out, "kept", id)
	}
	for _, f := range res.Failed {
		err = errors.Join(err, fmt.Errorf("%s: %w", f.ID, f.Err))
	}
	return err
}
