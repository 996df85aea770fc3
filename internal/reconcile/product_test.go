package reconcile

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/test/bufconn"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/tidelock/tidelock/api/v1alpha1"
	"github.com/tidelock/tidelock/deploy/crds"
	"github.com/tidelock/tidelock/internal/apply"
	"github.com/tidelock/tidelock/internal/mock"
	"github.com/tidelock/tidelock/internal/render"
	"github.com/tidelock/tidelock/internal/xds"
	"github.com/tidelock/tidelock/test/env"
)

// soon bounds what must come from a real API server that shares two cores with other tests; nothing measures time by it.
const soon = 30 * time.Second

// wire counts the requests of an instance, watches apart, and can make writes fail.
type wire struct {
	base http.RoundTripper

	mu       sync.Mutex
	requests []string
	fail     func(*http.Request) error
}

func (w *wire) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Query().Get("watch") != "" {
		return w.base.RoundTrip(req)
	}
	w.mu.Lock()
	w.requests = append(w.requests, req.Method+" "+req.URL.RequestURI())
	fail := w.fail
	w.mu.Unlock()
	if fail != nil {
		if err := fail(req); err != nil {
			return nil, err
		}
	}
	return w.base.RoundTrip(req)
}

func (w *wire) take() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := w.requests
	w.requests = nil
	return out
}

func (w *wire) failing(fail func(*http.Request) error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fail = fail
}

// product is the whole line on real parts but for the source: a loop, an API server, an xDS server.
type product struct {
	t      testing.TB
	ns     string
	path   string // of the folder that is followed
	repo   *repository
	mocks  *mock.Local
	client client.Client

	// Of the life that runs now.
	wire *wire
	loop *Loop
	lis  *bufconn.Listener
	stop func()
	// drive does with the loop what the test is about; nil has it run for ever.
	drive func(context.Context, *Loop) error
}

// waitsIn are the waits of a status as sentences.
func waitsIn(s v1alpha1.SyncStatus) []string { return lines(s.Waiting) }

// newProduct prepares an instance in a namespace of its own; start runs it.
func newProduct(tb testing.TB) *product {
	tb.Helper()
	plane := env.Cluster(tb)
	s := runtime.NewScheme()
	utilruntime.Must(scheme.AddToScheme(s))
	s.AddKnownTypes(v1alpha1.GroupVersion(), &v1alpha1.Sync{}, &v1alpha1.SyncList{}, &v1alpha1.TrafficSplit{}, &v1alpha1.ProxyRoute{})
	metav1.AddToGroupVersion(s, v1alpha1.GroupVersion())
	c, err := client.New(plane.Config(), client.Options{Scheme: s})
	if err != nil {
		tb.Fatal(err)
	}
	return &product{t: tb, ns: plane.Namespace(tb), path: ".", repo: newRepository(), client: c, stop: func() {}}
}

// start runs a new life of the daemon on what the last one left.
func (p *product) start() {
	p.t.Helper()
	p.stop()
	const buffer = 1 << 20
	w := &wire{}
	rc := env.Cluster(p.t).Config()
	rc.Wrap(func(rt http.RoundTripper) http.RoundTripper { w.base = rt; return w })
	log := slog.New(slog.NewTextHandler(testLog{p.t}, nil))
	cfg := apply.Config{REST: rc, Owner: p.ns, Namespace: p.ns, Repository: "https://git.example.test/shop", Path: p.path}
	if p.mocks != nil {
		cfg.Podless = []string{v1alpha1.KindAPIMock}
	}
	cluster, err := apply.New(cfg)
	if err != nil {
		p.t.Fatal(err)
	}
	world, err := xds.NewWatcher(rc, nil)
	if err != nil {
		p.t.Fatal(err)
	}
	p.wire, p.lis = w, bufconn.Listen(buffer)
	proxies := xds.NewServer(xds.Config{Listener: p.lis, LagAfter: soon})
	p.loop = New(Config{
		Repository: "https://git.example.test/shop", Ref: "main", Path: p.path,
		Source: p.repo, Cluster: cluster, Proxies: proxies, World: world, Mocks: p.mocks,
		Render: render.Options{Path: p.path, Cache: render.NewCache()},
		Wake:   []<-chan struct{}{p.repo.changed, cluster.Changed(), proxies.Changed(), world.Changed()},
		// The definitions are the same for all tests of the process.
		Definitions: crds.FS, Version: "v0.1.0", Logger: log,
	})
	run, loop := p.loop.Run, p.loop
	if p.drive != nil {
		run = func(ctx context.Context) error { return p.drive(ctx, loop) }
	}
	ctx, cancel := context.WithCancel(p.t.Context())
	var running sync.WaitGroup
	for name, run := range map[string]func(context.Context) error{
		"cluster": cluster.Run, "world": world.Run, "proxies": proxies.Run, "loop": run,
	} {
		running.Go(func() {
			if err := run(ctx); err != nil && !errors.Is(err, context.Canceled) {
				p.t.Errorf("%s ended: %v", name, err)
			}
		})
	}
	p.stop = sync.OnceFunc(func() { cancel(); running.Wait() })
	p.t.Cleanup(p.stop)
}

// push makes files the newest commit, in which NAMESPACE is the test's own, and waits until the loop has acted on it.
func (p *product) push(files map[string]string) string {
	p.t.Helper()
	commit := p.offer(files)
	p.until("the commit to be accepted", func(s v1alpha1.SyncStatus) bool {
		return s.Commit == commit && !strings.Contains(strings.Join(waitsIn(s), "\n"), "its first pass")
	})
	return commit
}

// offer makes files the newest commit.
func (p *product) offer(files map[string]string) string {
	own := make(map[string]string, len(files))
	for name, text := range files {
		own[name] = p.own(text)
	}
	return p.repo.push(own).Commit
}

func (p *product) own(text string) string { return strings.ReplaceAll(text, "NAMESPACE", p.ns) }

// sync returns the instance's Sync; an empty one where there is none, or the kind is not installed yet.
func (p *product) sync() v1alpha1.Sync {
	p.t.Helper()
	var s v1alpha1.Sync
	err := p.client.Get(p.t.Context(), client.ObjectKey{Namespace: p.ns, Name: p.ns}, &s)
	if err != nil && !apierrors.IsNotFound(err) && !meta.IsNoMatchError(err) {
		p.t.Fatal(err)
	}
	ready := conditionOf(s.Status.Conditions, v1alpha1.ConditionReady).Status == metav1.ConditionTrue
	if ready && (len(s.Status.Waiting) > 0 || s.Status.Rejected != nil || s.Status.Counts.Failed > 0) {
		p.t.Errorf("Ready while something is outstanding: %+v", s.Status)
	}
	return s
}

// until waits until the Sync is as wanted, and returns it.
func (p *product) until(what string, ok func(v1alpha1.SyncStatus) bool) v1alpha1.SyncStatus {
	p.t.Helper()
	var s v1alpha1.Sync
	p.eventually(what, func() (bool, any) {
		s = p.sync()
		return ok(s.Status), s.Status
	})
	return s.Status
}

// ready waits until the Sync says that a commit is in, as kubectl wait does.
func (p *product) ready(commit string) v1alpha1.SyncStatus {
	p.t.Helper()
	return p.until("the commit to be live", func(s v1alpha1.SyncStatus) bool {
		return s.Commit == commit && s.ObservedGeneration > 0 && conditionOf(s.Conditions, v1alpha1.ConditionReady).Status == metav1.ConditionTrue
	})
}

// eventually asks until the answer is yes. What it asks is another process, which has no channel to wait on.
func (p *product) eventually(what string, ok func() (bool, any)) {
	p.t.Helper()
	deadline := time.NewTimer(soon)
	defer deadline.Stop()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		yes, got := ok()
		if yes {
			return
		}
		select {
		case <-tick.C:
		case <-deadline.C:
			p.t.Fatalf("waited in vain for %s: %+v", what, got)
		}
	}
}

// passes has the loop make passes without news: each is under way when the loop has taken its cause, and through when it
// has taken the next.
func (p *product) passes(n int) {
	p.t.Helper()
	for range n {
		p.repo.touch()
		p.eventually("the news to be taken", func() (bool, any) { return len(p.repo.changed) == 0, nil })
	}
}

func conditionOf(list []metav1.Condition, kind string) metav1.Condition {
	for _, c := range list {
		if c.Type == kind {
			return c
		}
	}
	return metav1.Condition{}
}

// service makes a Service with a port 8080, and its ready endpoints; it replaces those that are there.
func (p *product) service(name string, addresses ...string) {
	p.t.Helper()
	const port = 8080
	named := metav1.ObjectMeta{Namespace: p.ns, Name: name}
	svc := &corev1.Service{ObjectMeta: named, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "http", Port: port}}}}
	if err := p.client.Create(p.t.Context(), svc); client.IgnoreAlreadyExists(err) != nil {
		p.t.Fatal(err)
	}
	slice := &discoveryv1.EndpointSlice{ObjectMeta: named, AddressType: discoveryv1.AddressTypeIPv4}
	slice.Labels = map[string]string{discoveryv1.LabelServiceName: name}
	slice.Ports = []discoveryv1.EndpointPort{{Name: new("http"), Port: new(int32(port))}}
	for _, a := range addresses {
		slice.Endpoints = append(slice.Endpoints, discoveryv1.Endpoint{Addresses: []string{a}})
	}
	err := p.client.Create(p.t.Context(), slice)
	if apierrors.IsAlreadyExists(err) {
		err = p.client.Update(p.t.Context(), slice) // in one step, as a controller does
	}
	if err != nil {
		p.t.Fatal(err)
	}
}

// testLog sends the daemon's log to the test's.
type testLog struct{ t testing.TB }

func (l testLog) Write(b []byte) (int, error) {
	l.t.Log(strings.TrimSpace(string(b)))
	return len(b), nil
}
