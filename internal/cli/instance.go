package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/tidelock/tidelock/api/v1alpha1"
	"github.com/tidelock/tidelock/deploy/crds"
	"github.com/tidelock/tidelock/internal/apply"
	"github.com/tidelock/tidelock/internal/mock"
	"github.com/tidelock/tidelock/internal/reconcile"
	"github.com/tidelock/tidelock/internal/redact"
	"github.com/tidelock/tidelock/internal/render"
	"github.com/tidelock/tidelock/internal/schedule"
	"github.com/tidelock/tidelock/internal/source"
	"github.com/tidelock/tidelock/internal/web"
	"github.com/tidelock/tidelock/internal/xds"
)

// instanceFlags are what run and apply share: what is followed, and which cluster is kept at it.
type instanceFlags struct {
	clusterFlags
	logFlags
	source      source.Config
	secretFiles struct{ token, password, passphrase string }
	path        string
	mockImage   string
	takeover    bool
	installCRDs bool
	namespaced  bool
}

func (f *instanceFlags) add(cmd *cobra.Command) {
	f.clusterFlags.add(cmd)
	f.logFlags.add(cmd)
	fl := cmd.Flags()
	fl.StringVar(&f.source.Repository, "repo", "", "folder, bare repository, or file://, http(s)://, ssh:// URL (required)")
	fl.StringVar(&f.source.Ref, "ref", "", "branch, tag, full ref or commit (default: the repository's HEAD)")
	fl.StringVar(&f.path, "path", ".", "folder of the repository that is rendered")
	fl.DurationVar(&f.source.Interval, "interval", 30*time.Second, "how often a remote is asked for news")
	fl.StringVar(&f.source.DataDir, "data-dir", "", "where clones are kept (default: tidelock in the user's cache folder)")
	fl.StringVar(&f.source.Auth.Username, "git-username", "", "user name for the repository")
	fl.StringVar(&f.secretFiles.token, "git-token-file", "", "file with a token for the repository")
	fl.StringVar(&f.secretFiles.password, "git-password-file", "", "file with the password for the repository")
	fl.StringVar(&f.source.Auth.SSHKeyFile, "ssh-key-file", "", "private key for the repository")
	fl.StringVar(&f.secretFiles.passphrase, "ssh-passphrase-file", "", "file with the passphrase of the private key")
	fl.StringVar(&f.source.CAFile, "git-ca-file", "", "certificates that the repository's may chain to, besides the system's")
	fl.StringVar(&f.source.Auth.KnownHostsFile, "known-hosts", "", "known_hosts file (default: ~/.ssh/known_hosts)")
	fl.StringVar(&f.mockImage, "mock-image", "", "image that runs mocks, where the repository names none")
	fl.BoolVar(&f.takeover, "takeover", false, "take over an instance of this name that followed another repository or path")
	fl.BoolVar(&f.installCRDs, "install-crds", true, "install and upgrade the definitions of our kinds")
	fl.BoolVar(&f.namespaced, "namespaced", false, "touch nothing outside the instance's own namespace, and install no definitions: "+
		"for an account with no rights beyond it")
}

// readSecrets reads the files that hold credentials; values on the command line would show in the process list.
func (f *instanceFlags) readSecrets() error {
	if f.source.Repository == "" {
		return usageError{errors.New("--repo is required: a folder, a bare repository or a URL")}
	}
	return errors.Join(
		readSecret(f.secretFiles.token, &f.source.Auth.Token),
		readSecret(f.secretFiles.password, &f.source.Auth.Password),
		readSecret(f.secretFiles.passphrase, &f.source.Auth.SSHKeyPassphrase),
	)
}

// readSecret reads a file that holds a secret on one line; no name leaves the value as it is.
func readSecret(file string, into *string) error {
	if file == "" {
		return nil
	}
	b, err := os.ReadFile(file) //nolint:gosec // the user names the file
	if err != nil {
		return fmt.Errorf("read the credential: %w", err)
	}
	*into = strings.TrimRight(string(b), "\r\n")
	return nil
}

// instance is the parts that a loop works with, made and not yet running.
type instance struct {
	log     *slog.Logger
	source  *source.Source
	cluster *apply.Cluster
	proxies *xds.Server
	world   *xds.Watcher
	mocks   *mock.Local // nil where pods answer
	metrics *prometheus.Registry
	loop    *reconcile.Loop
	meter   *meter
	runs    *schedule.Runner // nil in a single run, which fires nothing
}

// make builds the parts; proxies says how they are served, nil for a single run that serves none, and local has this
// process answer mocks.
func (f *instanceFlags) make(ctx context.Context, cmd *cobra.Command, proxies *xds.Config, local bool) (*instance, error) {
	if err := f.readSecrets(); err != nil {
		return nil, err
	}
	var in instance
	var err error
	hidden := &redact.Shared{}
	in.meter = newMeter(cmd.ErrOrStderr())
	if in.log, err = f.logger(in.meter, hidden); err != nil {
		return nil, err
	}
	rendering := in.meter.part()
	f.source.Name, f.source.Logger, f.source.Progress = f.name, in.log, in.meter.part()
	if in.source, err = source.Open(ctx, f.source); err != nil {
		return nil, usageError{err}
	}
	cfg, err := f.applyConfig()
	if err != nil {
		return nil, err
	}
	in.metrics = web.NewRegistry(version())
	cfg.REST.Wrap(web.CountRequests(in.metrics))
	cfg.Repository, cfg.Path, cfg.Takeover, cfg.Logger = in.source.Repository(), f.path, f.takeover, in.log
	var definitions fs.FS
	cfg.Namespaced, cfg.Progress = f.namespaced, in.meter.part()
	if local {
		cfg.Podless = []string{v1alpha1.KindAPIMock}
	}
	if f.installCRDs && !f.namespaced {
		definitions = crds.FS
	}
	if in.cluster, err = apply.New(cfg); err != nil {
		return nil, err
	}
	if in.world, err = xds.NewWatcher(cfg.REST, in.log); err != nil {
		return nil, err
	}
	server := xds.Config{Logger: in.log}
	if proxies != nil {
		server = *proxies
		server.Logger = in.log
	}
	in.proxies = xds.NewServer(server)
	if local {
		in.mocks = mock.NewLocal(mock.LocalConfig{Logger: in.log})
	}
	wake := []<-chan struct{}{in.source.Changed(), in.cluster.Changed(), in.proxies.Changed(), in.world.Changed()}
	if proxies != nil {
		if in.runs, err = newRuns(cfg, hidden, in.log); err != nil {
			return nil, err
		}
		wake = append(wake, in.runs.Changed())
	}
	in.loop = reconcile.New(reconcile.Config{
		Repository: in.source.Repository(), Ref: f.source.Ref, Path: f.path,
		Source: in.source, Cluster: in.cluster, Proxies: in.proxies, World: in.world, Mocks: in.mocks,
		Render: f.rendering(), Wake: wake, Schedules: in.runs,
		Definitions: definitions, Version: version(), OneShot: proxies == nil, Hidden: hidden, Logger: in.log,
		Metrics: reconcile.NewMetrics(in.metrics, in.proxies, in.runs), Progress: rendering,
	})
	return &in, nil
}

// rendering says what of the repository is rendered. The namespace is known once the cluster's configuration is loaded.
func (f *instanceFlags) rendering() render.Options {
	opts := render.Options{Path: f.path, MockImage: f.mockImage, Cache: render.NewCache()}
	if f.namespaced {
		opts.Namespace = f.namespace
	}
	return opts
}

// start runs the parts that the loop looks at.
func (in *instance) start(ctx context.Context, g *errgroup.Group) {
	g.Go(func() error { return in.meter.Run(ctx) })
	g.Go(func() error { return in.source.Run(ctx) })
	g.Go(func() error { return in.cluster.Run(ctx) })
	g.Go(func() error { return in.world.Run(ctx) })
	if in.mocks != nil {
		g.Go(func() error { return in.mocks.Run(ctx) })
	}
}

// newRuns returns what fires schedules.
func newRuns(cfg apply.Config, hidden *redact.Shared, log *slog.Logger) (*schedule.Runner, error) {
	kube, err := schedule.NewKube(schedule.KubeConfig{
		REST: cfg.REST, Instance: cfg.Owner, Namespace: cfg.Namespace, Namespaced: cfg.Namespaced, Logger: log,
	})
	if err != nil {
		return nil, err
	}
	return schedule.New(schedule.Config{
		Instance: cfg.Owner, Jobs: kube, Sight: kube, Ledger: kube, Events: kube, Hidden: hidden, Logger: log,
	}), nil
}

// write is what one process alone may do: it takes the cluster from commit to commit, and fires schedules.
func (in *instance) write(ctx context.Context) error {
	defer in.runs.Forget() // the next to write may know a newer commit
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return in.loop.Run(ctx) })
	g.Go(func() error { return in.runs.Run(ctx) })
	return g.Wait()
}

// lead runs held while this process has the instance's Lease. Where the API server is out of reach for so long that the
// Lease is lost, held ends and what does not write goes on: proxies keep what they have. held starts afresh once the Lease
// is taken again.
func (in *instance) lead(ctx context.Context, held func(context.Context) error) error {
	waiting := func(holder string) {
		in.log.WarnContext(ctx, "another process has the instance's Lease; waiting", slog.String("holder", holder))
	}
	for {
		err := in.cluster.Lead(ctx, apply.Identity(), waiting, held)
		switch {
		case errors.Is(err, apply.ErrLeaseLost) && ctx.Err() == nil:
			in.log.WarnContext(ctx, "the Lease could not be renewed: nothing is written until it is taken again; proxies and mocks go on")
		case errors.Is(err, apply.ErrOtherRepository):
			return fmt.Errorf("%w with --takeover", err)
		default:
			return err
		}
	}
}
