package apply

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/tidelock/tidelock/api/v1alpha1"
	"github.com/tidelock/tidelock/internal/desired"
)

// lookupEvery is how often a kind that the cluster does not have, or does not let us list, is looked for again.
const lookupEvery = 10 * time.Second

// Run watches what carries our owner label, kind by kind as View asks for them, until ctx is done. It outlives an API
// server that goes away: the view stays as it was last seen, and is made true again when the server is back.
func (c *Cluster) Run(ctx context.Context) error {
	ctx = klog.NewContext(ctx, logr.FromSlogHandler(c.log.Handler()))
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() { c.watchSync(ctx) })
	for {
		for _, w := range c.view.idle() {
			kindCtx, stop := context.WithCancel(ctx)
			if c.view.claim(w, stop) {
				wg.Go(func() { c.keep(kindCtx, w) })
			} else {
				stop()
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-c.view.wake:
		}
	}
}

// idle returns the kinds that nobody watches.
func (b *book) idle() []*watched {
	b.mu.Lock()
	defer b.mu.Unlock()
	var out []*watched
	for _, w := range b.kinds {
		if w.stop == nil {
			out = append(out, w)
		}
	}
	return out
}

// claim notes how the watch of a kind is stopped; false where it is no longer wanted.
func (b *book) claim(w *watched, stop context.CancelFunc) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.kinds[w.gvk] != w {
		return false
	}
	w.stop = stop
	return true
}

// keep watches one kind. Every so often it starts from a fresh list, which proves that the view is right.
func (c *Cluster) keep(ctx context.Context, w *watched) {
	for ctx.Err() == nil {
		mapping, err := c.mapper.RESTMapping(w.gvk.GroupKind(), w.gvk.Version)
		if err == nil {
			err = c.follow(ctx, w, mapping)
		}
		if ctx.Err() != nil {
			return
		}
		wait := time.Second
		switch {
		case err == nil:
			continue
		case isMissing(err):
			c.view.missing(w)
			wait = lookupEvery
		default:
			c.view.trouble(w, err)
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
		case <-w.kick:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// isMissing says that the API server does not have the kind, or cannot watch it.
func isMissing(err error) bool {
	return meta.IsNoMatchError(err) || apierrors.IsNotFound(err) || apierrors.IsMethodNotSupported(err)
}

// follow lists and watches until the list is to be made afresh (nil), or the kind is missing.
func (c *Cluster) follow(ctx context.Context, w *watched, mapping *meta.RESTMapping) error {
	namespaced := mapping.Scope.Name() == meta.RESTScopeNameNamespace
	spread := time.Duration(rand.Int64N(int64(c.cfg.VerifyEvery)/4 + 1)) //nolint:gosec // spreads load, guards nothing
	timed, done := context.WithTimeout(ctx, c.cfg.VerifyEvery-spread)
	defer done()
	// The reflector may still be in a request when it has returned; what it finds then comes too late to matter.
	run, stop := context.WithCancelCause(timed)
	defer stop(nil)
	fail := func(err error) {
		if isMissing(err) {
			stop(err)
		} else if run.Err() == nil {
			c.view.trouble(w, err)
		}
	}
	selector := labels.SelectorFromSet(labels.Set{v1alpha1.LabelOwner: c.cfg.Owner})
	where := ""
	if c.cfg.Namespaced && namespaced {
		where = c.cfg.Namespace
	}
	lw := listWatch(c.client, w.gvk, selector, "", where, fail)
	logger := klog.FromContext(ctx)
	cache.NewReflectorWithOptions(lw, nil, &sink{book: c.view, kind: w, namespaced: namespaced},
		cache.ReflectorOptions{Logger: &logger, Name: w.gvk.String(), TypeDescription: w.gvk.String()}).RunWithContext(run)
	if missing := context.Cause(run); isMissing(missing) {
		return missing
	}
	return nil
}

// listWatch lists and watches one kind through the client, and tells fail of every error.
func listWatch(cl client.WithWatch, gvk schema.GroupVersionKind, selector labels.Selector, field, namespace string,
	fail func(error),
) cache.ListerWatcher {
	options := func(o metav1.ListOptions) *client.ListOptions {
		o.LabelSelector, o.FieldSelector = selector.String(), field
		return &client.ListOptions{Raw: &o, Namespace: namespace}
	}
	list := func() *unstructured.UnstructuredList {
		l := &unstructured.UnstructuredList{}
		l.SetGroupVersionKind(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
		return l
	}
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			l := list()
			err := cl.List(ctx, l, options(o))
			if err != nil {
				fail(err)
			}
			return l, err
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			w, err := cl.Watch(ctx, list(), options(o))
			if err != nil {
				fail(err)
			}
			return w, err
		},
	}
}

func (b *book) trouble(w *watched, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	w.err = err
}

// missing notes that the cluster does not have the kind: nothing of it is there.
func (b *book) missing(w *watched) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(w.objects) > 0 {
		b.generation++
		signal(b.changed)
	}
	w.known, w.err, w.objects = false, nil, map[desired.ID]Live{}
	b.current = nil
	w.arrived()
}

func (w *watched) arrived() {
	select {
	case <-w.ready:
	default:
		close(w.ready)
	}
}

// sink is where a reflector puts what it sees of one kind. Objects are reduced at once; nothing else is kept in memory.
type sink struct {
	book       *book
	kind       *watched
	namespaced bool
}

// seen is a reduced object that a reflector can hold in the meantime.
type seen struct {
	metav1.ObjectMeta
	live Live
}

// Transformer reduces an object before a reflector keeps it.
func (s *sink) Transformer() cache.TransformFunc {
	return func(obj any) (any, error) {
		live, err := reduce(obj)
		if err != nil {
			return nil, err
		}
		m := metav1.ObjectMeta{Namespace: live.Namespace, Name: live.Name, ResourceVersion: live.ResourceVersion}
		return &seen{ObjectMeta: m, live: live}, nil
	}
}

func reduce(obj any) (Live, error) {
	switch obj := obj.(type) {
	case *unstructured.Unstructured:
		return observe(obj), nil
	case *seen:
		return obj.live, nil
	}
	return Live{}, fmt.Errorf("a watch gave a %T", obj)
}

func (s *sink) put(obj any, deleted bool) error {
	live, err := reduce(obj)
	if err == nil {
		s.book.see(event{gvk: s.kind.gvk, live: live, deleted: deleted})
	}
	return err
}

// Add takes in a new object.
func (s *sink) Add(obj any) error { return s.put(obj, false) }

// Update takes in a changed object.
func (s *sink) Update(obj any) error { return s.put(obj, false) }

// Delete takes in that an object is gone, or carries our label no longer.
func (s *sink) Delete(obj any) error { return s.put(obj, true) }

// Resync does nothing: what is seen is taken in at once.
func (s *sink) Resync() error { return nil }

// Replace takes in a whole list.
func (s *sink) Replace(list []any, resourceVersion string) error {
	listed := make(map[desired.ID]bool, len(list))
	for _, obj := range list {
		live, err := reduce(obj)
		if err != nil {
			return err
		}
		listed[live.ID] = true
		s.book.see(event{gvk: s.kind.gvk, live: live})
	}
	s.book.listed(s.kind, s.namespaced, listed, resourceVersion)
	return nil
}

// listed ends a list: what it did not name is gone, unless we made it since.
func (b *book) listed(w *watched, namespaced bool, listed map[desired.ID]bool, resourceVersion string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for id, live := range w.objects {
		if !listed[id] && !older(resourceVersion, live.ResourceVersion) {
			live.ResourceVersion = resourceVersion
			b.route(event{gvk: w.gvk, live: live, deleted: true})
		}
	}
	w.known, w.listed, w.namespaced, w.err = true, true, namespaced, nil
	b.current = nil
	w.arrived()
}
