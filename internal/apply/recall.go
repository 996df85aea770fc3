package apply

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/tidelock/tidelock/api/v1alpha1"
)

// Recall returns what an earlier life of the daemon reported on the instance's Sync; the zero value where there is none.
func (c *Cluster) Recall(ctx context.Context) (v1alpha1.SyncStatus, error) {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(v1alpha1.GroupVersion().WithKind(v1alpha1.KindSync))
	err := c.client.Get(ctx, client.ObjectKey{Namespace: c.cfg.Namespace, Name: c.cfg.Owner}, u)
	if apierrors.IsNotFound(err) || meta.IsNoMatchError(err) {
		return v1alpha1.SyncStatus{}, nil
	}
	if err != nil {
		return v1alpha1.SyncStatus{}, fmt.Errorf("read %s: %w", c.syncID(), err)
	}
	var s v1alpha1.Sync
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &s); err != nil {
		return v1alpha1.SyncStatus{}, fmt.Errorf("read %s: %w", c.syncID(), err)
	}
	return s.Status, (&syncSink{told: c.told, changed: c.view.changed}).put(u)
}
