package apply

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// Config says which cluster an instance keeps, and as who.
type Config struct {
	// REST reaches the API server. It is used without a rate limit of the client: the server has its own.
	REST *rest.Config
	// Owner is the instance's name: a DNS label of at most 50 characters.
	Owner string
	// Namespace of the daemon, where the inventory, the Sync and the Lease live.
	Namespace string
	// Namespaced is set where the instance may look at no namespace but its own.
	Namespaced bool
	// Repository and Path that the instance follows, as recorded in the inventory; without credentials.
	Repository, Path string
	// Takeover lets the instance write although its name was used with another repository or path before.
	Takeover bool
	// Podless are kinds of ours (APIMock) whose pods nobody asks, since this process answers for them: nothing waits for the
	// roll-out of the workloads that are generated from them.
	Podless []string
	// Parallel is how many requests a stage makes at once; 16 where it is 0.
	Parallel int
	// VerifyEvery is how often everything is listed afresh; an hour where it is 0.
	VerifyEvery time.Duration
	// Logger gets what the watches run into; nothing is logged where it is nil.
	Logger *slog.Logger
	// Progress is told what takes long, often, and "" when it is over; nil for none. It is called by several goroutines.
	Progress func(doing string)
	// Now is the clock by which corrections are counted; time.Now where it is nil.
	Now func() time.Time
}

func (c Config) podless(kind string) bool { return kind != "" && slices.Contains(c.Podless, kind) }

// ErrOtherRepository is returned by Open where the instance's name was used with another repository or path.
var ErrOtherRepository = errors.New("the instance's name belongs to another repository")

// Cluster is one instance's hold on a cluster. Run keeps its view; all other methods are for one goroutine, the loop's.
type Cluster struct {
	cfg       Config
	log       *slog.Logger
	client    client.WithWatch
	mapper    meta.RESTMapper
	discovery *discovery.DiscoveryClient
	view      *book
	ledger    *ledger
	fights    *fights
	told      *told
	now       func() time.Time

	installed chan struct{} // Install is done: the watch of the Sync need not wait
}

// New returns a Cluster. It makes no request.
func New(cfg Config) (*Cluster, error) {
	const maxOwner, parallel = 50, 16
	if problems := validation.IsDNS1123Label(cfg.Owner); len(problems) > 0 || len(cfg.Owner) > maxOwner {
		return nil, fmt.Errorf("owner %q: want a DNS label of at most %d characters", cfg.Owner, maxOwner)
	}
	cfg.Parallel = cmp.Or(cfg.Parallel, parallel)
	cfg.VerifyEvery = cmp.Or(cfg.VerifyEvery, time.Hour)
	rc := rest.CopyConfig(cfg.REST)
	rc.QPS, rc.Burst = -1, -1
	rc.WarningHandlerWithContext = warned{}
	rc.Wrap(func(next http.RoundTripper) http.RoundTripper { return timely{next: next, limit: answerTime} })
	httpClient, err := rest.HTTPClientFor(rc)
	if err != nil {
		return nil, fmt.Errorf("make the client of %s: %w", rc.Host, err)
	}
	c := &Cluster{cfg: cfg, log: cfg.Logger, now: cfg.Now, installed: make(chan struct{}, 1)}
	if c.log == nil {
		c.log = slog.New(slog.DiscardHandler)
	}
	if c.cfg.Progress == nil {
		c.cfg.Progress = func(string) {}
	}
	if c.now == nil {
		c.now = time.Now
	}
	if err := c.connect(rc, httpClient); err != nil {
		return nil, fmt.Errorf("make the client of %s: %w", rc.Host, err)
	}
	c.view = newBook()
	c.ledger = newLedger(cfg)
	c.fights = &fights{now: c.now}
	c.told = &told{}
	return c, nil
}

func (c *Cluster) connect(rc *rest.Config, httpClient *http.Client) error {
	var err error
	if c.discovery, err = discovery.NewDiscoveryClientForConfigAndClient(rc, httpClient); err != nil {
		return err
	}
	if c.mapper, err = apiutil.NewDynamicRESTMapper(rc, httpClient); err != nil {
		return err
	}
	c.client, err = client.NewWithWatch(rc, client.Options{HTTPClient: httpClient, Mapper: c.mapper})
	return err
}

// Changed has room for one value, and holds it once something that we watch has changed, other than by our own write.
func (c *Cluster) Changed() <-chan struct{} { return c.view.changed }
