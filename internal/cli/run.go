package cli

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/tidelock/tidelock/internal/web"
	"github.com/tidelock/tidelock/internal/xds"
)

// daemonFlags are those of run.
type daemonFlags struct {
	instanceFlags
	proxies       proxyFlags
	webAddress    string
	webhookSecret string // file
	localMocks    bool
}

func newRun() *cobra.Command {
	var f daemonFlags
	cmd := &cobra.Command{
		Use:   "run --repo REPOSITORY",
		Short: "Follow a repository: the daemon",
		Long: text(`
			Follows one ref of a repository, applies what it declares, corrects drift, and serves Envoy proxies over xDS.
			It runs until it is interrupted; what it applied stays.

			A commit that is wrong changes nothing: the last good one stays live, and the log, the Sync and the events say
			what is wrong and where.

			A local repository is watched; a remote is asked every --interval. With --webhook-secret-file the forge may tell
			of a push at once: POST /webhook on the web address, as GitHub, Gitea, GitLab and Bitbucket do.`),
		Example: text(`
			tidelock run --repo ~/shop --path overlays/production --local-mocks
			tidelock run --name shop --repo https://git.example.com/shop.git --ref main --git-token-file token
			TIDELOCK_REPO=ssh://git@git.example.com/shop.git tidelock run --ssh-key-file id_ed25519`),
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return interrupted(cmd.Context(), f.run(cmd))
		},
	}
	f.add(cmd)
	f.proxies.add(cmd)
	fl := cmd.Flags()
	fl.StringVar(&f.webAddress, "web-address", defaultWebAddress, "address that serves health, metrics and push events over HTTP")
	fl.StringVar(&f.webhookSecret, "webhook-secret-file", "", "file with the secret that push events are signed with")
	fl.BoolVar(&f.localMocks, "local-mocks", false, "answer APIMocks in this process instead of in pods")
	return cmd
}

// run opens the ports, makes the parts and runs them until ctx ends or one of them fails.
func (f *daemonFlags) run(cmd *cobra.Command) error {
	ctx := cmd.Context()
	serving, err := f.proxies.config()
	if err != nil {
		return err
	}
	if serving.Listener, err = xds.Listen(ctx, f.proxies.address); err != nil {
		return err
	}
	var lc net.ListenConfig
	listener, err := lc.Listen(ctx, "tcp", f.webAddress)
	if err != nil {
		return errors.Join(fmt.Errorf("listen for HTTP: %w", err), serving.Listener.Close())
	}
	in, err := f.make(ctx, cmd, &serving, f.localMocks)
	if err != nil {
		return errors.Join(err, serving.Listener.Close(), listener.Close())
	}
	webhook, err := f.webhook(in)
	if err != nil {
		return errors.Join(err, serving.Listener.Close(), listener.Close())
	}
	in.log.InfoContext(ctx, "started", slog.String("version", version()), slog.String("instance", f.namespace+"/"+f.name),
		slog.String("repository", in.source.Repository()), slog.String("xds", serving.Listener.Addr().String()),
		slog.String("web", listener.Addr().String()))
	g, ctx := errgroup.WithContext(ctx)
	in.start(ctx, g)
	g.Go(func() error { return in.proxies.Run(ctx) })
	g.Go(func() error {
		return web.Run(ctx, web.Config{
			Listener: listener, Ready: in.loop.Ready, XDS: func() any { return show(in.proxies) }, Webhook: webhook,
			Metrics: web.MetricsHandler(in.metrics),
		})
	})
	g.Go(func() error { return in.lead(ctx, in.write) })
	return g.Wait()
}

// webhook returns the handler of push events; nil where no secret is given.
func (f *daemonFlags) webhook(in *instance) (http.Handler, error) {
	if f.webhookSecret == "" {
		return nil, nil //nolint:nilnil // no webhook is asked for
	}
	var secret string
	if err := readSecret(f.webhookSecret, &secret); err != nil {
		return nil, err
	}
	h, err := in.source.Webhook([]byte(secret))
	if err != nil {
		return nil, usageError{fmt.Errorf("--webhook-secret-file %s: %w", f.webhookSecret, err)}
	}
	return h, nil
}
