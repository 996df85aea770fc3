package apply

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/tidelock/tidelock/api/v1alpha1"
	"github.com/tidelock/tidelock/internal/desired"
	"github.com/tidelock/tidelock/internal/events"
)

// Reasons of events: on the Sync, and those from Corrected on also on the objects concerned.
const (
	ReasonAccepted  = "Accepted"
	ReasonApplied   = "Applied"
	ReasonRejected  = "Rejected"
	ReasonPruneHeld = "PruneHeld"
	ReasonPruned    = "Pruned"

	ReasonCorrected     = "DriftCorrected"
	ReasonReleased      = "Released"
	ReasonFailed        = "ApplyFailed"
	ReasonContested     = "Contested"
	ReasonStalled       = "Stalled"
	ReasonProxyRejected = "ProxyRejected"
)

// Regarding is an object of the cluster that an event is about.
type Regarding struct {
	desired.ID
	Version string
	UID     types.UID
}

// Regarding returns what a change is about.
func (ch *Change) Regarding() Regarding {
	r := Regarding{ID: ch.ID, Version: ch.owned.Version, UID: ch.owned.UID}
	if ch.Object != nil {
		r.Version = ch.Object.Version
	}
	if ch.Live != nil {
		r.UID = ch.Live.UID
		if r.Version == "" {
			r.Version = ch.Live.version
		}
	}
	return r
}

// Sync returns the instance's own Sync.
func (c *Cluster) Sync() Regarding {
	return Regarding{ID: c.syncID(), Version: v1alpha1.GroupVersion().Version, UID: c.told.syncUID()}
}

// Event writes an event on an object, which `kubectl describe` shows. What was taken or done is normal, all else a warning.
// The note must hold no secret. An object that was written since it was planned is told of by the UID that it has now.
func (c *Cluster) Event(ctx context.Context, about Regarding, reason, note string) error {
	if entry := c.ledger.entries[about.ID]; entry.UID != "" {
		about.UID = entry.UID
	}
	normal := []string{ReasonAccepted, ReasonApplied, ReasonPruned, ReasonCorrected, ReasonReleased}
	return events.Write(ctx, c.client, c.cfg.Owner, c.now(), events.Event{
		Regarding: corev1.ObjectReference{
			APIVersion: about.GroupKind().WithVersion(about.Version).GroupVersion().String(), Kind: about.Kind,
			Namespace: about.Namespace, Name: about.Name, UID: about.UID,
		},
		Action: "Reconcile", Reason: reason, Note: note, Warning: !slices.Contains(normal, reason),
	})
}
