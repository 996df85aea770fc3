package xds

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"

	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	typeddiscoveryv1 "k8s.io/client-go/kubernetes/typed/discovery/v1"
	"k8s.io/client-go/rest"

	"github.com/tidelock/tidelock/internal/desired"
)

// Watcher keeps a World of the cluster: it watches the Services and EndpointSlices of the namespaces that routes name, and
// each Secret that they name by its own name. While nothing changes it makes no request.
type Watcher struct {
	log       *slog.Logger
	core      rest.Interface
	discovery rest.Interface
	changed   chan struct{}
	wake      chan struct{}

	// mu guards what is handed between the caller, the watches and Run.
	mu      sync.Mutex
	want    wanted
	touched touched
	world   World
}

// wanted is what the caller asked for.
type wanted struct {
	services []ServicePort
	secrets  []desired.Key
}

// touched is what the watches saw change since Run last looked.
type touched struct {
	all  bool
	keys map[desired.Key]bool
}

// NewWatcher returns a Watcher of the API server that config leads to; Run makes it watch.
func NewWatcher(config *rest.Config, log *slog.Logger) (*Watcher, error) {
	config = rest.CopyConfig(config)
	// Each watch is one request: a limit would only delay the first World.
	config.QPS = -1
	config.ContentType = "application/vnd.kubernetes.protobuf"
	core, err := typedcorev1.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("client for Services and Secrets: %w", err)
	}
	discovery, err := typeddiscoveryv1.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("client for EndpointSlices: %w", err)
	}
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Watcher{
		log: log, core: core.RESTClient(), discovery: discovery.RESTClient(),
		changed: make(chan struct{}, 1), wake: make(chan struct{}, 1),
		touched: touched{keys: map[desired.Key]bool{}},
		world:   World{Synced: true},
	}, nil
}

// Run watches until ctx ends.
func (w *Watcher) Run(ctx context.Context) error {
	v := newView(w)
	defer v.stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-w.wake:
			w.refresh(ctx, v)
		}
	}
}

// refresh brings the World up to date with what was asked for and seen.
func (w *Watcher) refresh(ctx context.Context, v *view) {
	w.mu.Lock()
	want, seen, world := w.want, w.touched, w.world
	w.touched = touched{keys: map[desired.Key]bool{}}
	w.mu.Unlock()

	if v.follow(ctx, want) {
		seen.all = true
	}
	next := v.world(world, want, seen)
	if next.same(world) {
		return
	}
	w.mu.Lock()
	// A newer wish came meanwhile: it is looked at next, and until then this World is not all of it.
	next.Synced = next.Synced && w.want.same(want)
	next.Generation = w.world.Generation + 1
	w.world = next
	w.mu.Unlock()
	signal(w.changed)
}

// Changed receives a value after the World changed. It holds at most one.
func (w *Watcher) Changed() <-chan struct{} { return w.changed }

// World returns what is known now.
func (w *Watcher) World() World {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.world
}

// Want says which Services and Secrets the World must have; both lists are sorted. What is not wanted any more is let go.
func (w *Watcher) Want(services []ServicePort, secrets []desired.Key) {
	w.mu.Lock()
	defer w.mu.Unlock()
	want := wanted{services: services, secrets: secrets}
	if w.want.same(want) {
		return
	}
	w.want = wanted{services: slices.Clone(services), secrets: slices.Clone(secrets)}
	w.world.Synced = false
	w.world.Generation++
	signal(w.wake)
}

func (a wanted) same(b wanted) bool {
	return slices.Equal(a.services, b.services) && slices.Equal(a.secrets, b.secrets)
}

// touch notes that an object changed; an empty name stands for all.
func (w *Watcher) touch(k desired.Key) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.touched.keys[k] = true
	w.touched.all = w.touched.all || k.Name == ""
	signal(w.wake)
}

func signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
