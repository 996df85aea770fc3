// Package events writes Kubernetes Events, which `kubectl describe` shows of an object: what happened to which object goes
// in, and one Event for each different thing is there, counted where it happened more than once.
package events

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/tidelock/tidelock/api/v1alpha1"
)

// Event is one thing that happened to an object.
type Event struct {
	// Regarding is the object, with its UID: kubectl describe shows the events of that UID alone.
	Regarding corev1.ObjectReference
	// Action is what was being done, Reason what came of it, each in one word.
	Action, Reason string
	// Note says it in words; it must hold no secret. It is cut at what the API server takes.
	Note string
	// Warning is set where somebody should look.
	Warning bool
}

// Write writes an Event of an instance. The same thing to the same object has the same name: where it is there already, after
// a crash or since it happened again, its series counts it.
func Write(ctx context.Context, c client.Client, instance string, at time.Time, e Event) error {
	out := e.object(instance, at)
	err := c.Create(ctx, out, client.FieldOwner(v1alpha1.ManagedBy))
	if apierrors.IsAlreadyExists(err) {
		err = again(ctx, c, out, at)
	}
	if err != nil {
		return fmt.Errorf("write event %s on %s %s: %w", e.Reason, e.Regarding.Kind, e.Regarding.Name, err)
	}
	return nil
}

func (e Event) object(instance string, at time.Time) *eventsv1.Event {
	const most, digits = 1000, 16
	note, kind := e.Note, corev1.EventTypeNormal
	if len(note) > most {
		note = strings.ToValidUTF8(note[:most], "") + "…"
	}
	if e.Warning {
		kind = corev1.EventTypeWarning
	}
	namespace := e.Regarding.Namespace
	if namespace == "" {
		namespace = metav1.NamespaceDefault // where the API server wants those of objects without one
	}
	sum := sha256.Sum256([]byte(strings.Join([]string{string(e.Regarding.UID), e.Regarding.Kind, e.Regarding.Name, e.Reason, note}, "\x00")))
	return &eventsv1.Event{
		ObjectMeta:          metav1.ObjectMeta{Namespace: namespace, Name: instance + "." + hex.EncodeToString(sum[:])[:digits]},
		EventTime:           metav1.NewMicroTime(at),
		ReportingController: v1alpha1.Group + "/" + v1alpha1.ManagedBy,
		ReportingInstance:   instance,
		Action:              e.Action,
		Reason:              e.Reason,
		Type:                kind,
		Note:                note,
		Regarding:           e.Regarding,
	}
}

// again counts an Event that is there.
func again(ctx context.Context, c client.Client, e *eventsv1.Event, at time.Time) error {
	if err := c.Get(ctx, client.ObjectKeyFromObject(e), e); err != nil {
		return err
	}
	series := eventsv1.EventSeries{Count: 2, LastObservedTime: metav1.NewMicroTime(at)}
	if e.Series != nil {
		series.Count = e.Series.Count + 1
	}
	patch, err := json.Marshal(map[string]any{"series": series})
	if err != nil {
		return err
	}
	return c.Patch(ctx, e, client.RawPatch(types.MergePatchType, patch), client.FieldOwner(v1alpha1.ManagedBy))
}
