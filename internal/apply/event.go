package apply

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/tidelock/tidelock/api/v1alpha1"
)

// Reasons of the events on a Sync.
const (
	ReasonAccepted = "Accepted"
	ReasonRejected = "Rejected"
	ReasonPruned   = "Pruned"

	ReasonStalled       = "Stalled"
	ReasonContested     = "Contested"
	ReasonProxyRejected = "ProxyRejected"
)

// Event writes an event on the instance's Sync, which `kubectl describe` shows. What was taken or done is normal, all else a
// warning. The message must hold no secret; it is cut at what the API server takes.
func (c *Cluster) Event(ctx context.Context, reason, message string) error {
	const most = 1000
	if len(message) > most {
		message = message[:most] + "…"
	}
	kind := corev1.EventTypeWarning
	if reason == ReasonAccepted || reason == ReasonPruned {
		kind = corev1.EventTypeNormal
	}
	e := &eventsv1.Event{
		ObjectMeta:          metav1.ObjectMeta{Namespace: c.cfg.Namespace, GenerateName: c.cfg.Owner + "-"},
		EventTime:           metav1.NewMicroTime(c.now()),
		ReportingController: v1alpha1.Group + "/" + v1alpha1.ManagedBy,
		ReportingInstance:   c.cfg.Owner,
		Action:              "Reconcile",
		Reason:              reason,
		Type:                kind,
		Note:                message,
		Regarding: corev1.ObjectReference{
			APIVersion: v1alpha1.GroupVersion().String(), Kind: v1alpha1.KindSync,
			Namespace: c.cfg.Namespace, Name: c.cfg.Owner, UID: c.told.syncUID(),
		},
	}
	if err := c.client.Create(ctx, e, manager); err != nil {
		return fmt.Errorf("write event %s on %s: %w", reason, c.syncID(), err)
	}
	return nil
}
