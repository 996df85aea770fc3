package apply

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/tidelock/tidelock/api/v1alpha1"
)

// Spec returns what users have set on the instance's Sync, as the watch has shown it, and the generation of it.
func (c *Cluster) Spec() (spec v1alpha1.SyncSpec, generation int64) {
	c.told.mu.Lock()
	defer c.told.mu.Unlock()
	return c.told.sync.spec, c.told.sync.gen
}

// watchSync follows the instance's own Sync. Changed fires when its spec changes or it goes, not when its status does.
func (c *Cluster) watchSync(ctx context.Context) {
	gvk := v1alpha1.GroupVersion().WithKind(v1alpha1.KindSync)
	logger := klog.FromContext(ctx)
	for ctx.Err() == nil {
		runCtx, stop := context.WithCancelCause(ctx)
		lw := listWatch(c.client, gvk, labels.Everything(), fields.OneTermEqualSelector("metadata.name", c.cfg.Owner).String(),
			c.cfg.Namespace, func(err error) {
				if isMissing(err) { // our kinds are not installed yet
					stop(err)
				}
			})
		cache.NewReflectorWithOptions(lw, nil, &syncSink{told: c.told, changed: c.view.changed},
			cache.ReflectorOptions{Logger: &logger, Name: gvk.Kind, TypeDescription: gvk.Kind}).RunWithContext(runCtx)
		wait := time.Second
		if isMissing(context.Cause(runCtx)) {
			wait = lookupEvery
		}
		stop(nil)
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
		case <-c.installed:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// syncSink is where a reflector puts the Sync.
type syncSink struct {
	told    *told
	changed chan struct{}
}

func (s *syncSink) put(obj any) error {
	u, ok := obj.(*unstructured.Unstructured)
	if !ok {
		return nil
	}
	var v v1alpha1.Sync
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &v); err != nil {
		return err
	}
	s.told.mu.Lock()
	defer s.told.mu.Unlock()
	before := s.told.sync
	s.told.sync = syncSeen{known: true, uid: v.UID, spec: v.Spec, gen: v.Generation, status: plainStatus(u)}
	if before.spec != v.Spec || before.gen != 0 && before.gen != v.Generation {
		signal(s.changed)
	}
	return nil
}

// Add takes in the Sync.
func (s *syncSink) Add(obj any) error { return s.put(obj) }

// Update takes in the changed Sync.
func (s *syncSink) Update(obj any) error { return s.put(obj) }

// Delete notes that the Sync is gone: the next report makes it again.
func (s *syncSink) Delete(any) error {
	s.told.mu.Lock()
	defer s.told.mu.Unlock()
	s.told.sync = syncSeen{}
	s.told.status = nil
	signal(s.changed)
	return nil
}

// Resync does nothing.
func (s *syncSink) Resync() error { return nil }

// Replace takes in a list of no Sync or one.
func (s *syncSink) Replace(list []any, _ string) error {
	for _, obj := range list {
		if err := s.put(obj); err != nil {
			return err
		}
	}
	return nil
}
