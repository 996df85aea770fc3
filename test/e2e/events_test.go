//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/tidelock/tidelock/test/env"
)

// Who describes an object sees what became of it: that an edit was undone and whose it was, that it belongs to somebody
// else, that it stays although it left the repository. Nothing that goes on is told twice, and the Sync tells of all.
func TestObjectsAreToldWhatHappenedToThem(t *testing.T) {
	t.Parallel()
	r := env.NewRepo(t)
	d := newDaemon(t, r)
	foreign := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Namespace: d.namespace, Name: "theirs", Labels: map[string]string{"app.kubernetes.io/managed-by": "Helm"},
	}}
	if err := d.client.Create(t.Context(), foreign, client.FieldOwner("helm")); err != nil {
		t.Fatal(err)
	}
	kept := strings.Replace(configMap(d.namespace, "kept", "1"), "metadata: {", "metadata: {annotations: {tidelock.dev/prune: disabled}, ", 1)
	commit := r.Push(t, files{"a.yaml": configMap(d.namespace, "a", "1"), "kept.yaml": kept})
	d.start(t)
	d.settled(t, commit)

	a := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: d.namespace, Name: "a"}}
	if err := d.client.Get(t.Context(), client.ObjectKeyFromObject(a), a); err != nil {
		t.Fatal(err)
	}
	a.Data["v"] = "hacked"
	if err := d.client.Update(t.Context(), a, client.FieldOwner("kubectl-edit")); err != nil {
		t.Fatal(err)
	}
	d.told(t, "a", "DriftCorrected", "put back: changed in the cluster by kubectl-edit")
	d.settled(t, r.Push(t, files{"kept.yaml": ""}))
	d.told(t, "kept", "Released", "tidelock.dev/prune is disabled")
	r.Push(t, files{"theirs.yaml": configMap(d.namespace, "theirs", "1")})
	d.told(t, "theirs", "ApplyFailed", "Helm")
	for _, reason := range []string{"Accepted", "Applied", "DriftCorrected", "Released", "ApplyFailed"} {
		d.told(t, d.name, reason, "")
	}
}

// told waits for an event on an object of the daemon's namespace, and wants it once.
func (d *daemon) told(t *testing.T, name, reason, text string) {
	t.Helper()
	d.Eventually(t, fmt.Sprintf("the event %s on %s", reason, name), func(ctx context.Context) error {
		var list eventsv1.EventList
		if err := d.client.List(ctx, &list, client.InNamespace(d.namespace)); err != nil {
			return err
		}
		about := slices.DeleteFunc(list.Items, func(e eventsv1.Event) bool { return e.Regarding.Name != name || e.Regarding.UID == "" })
		texts := map[string]int{}
		for i := range about {
			texts[about[i].Reason+": "+about[i].Note]++
			if texts[about[i].Reason+": "+about[i].Note] > 1 {
				t.Fatalf("two events say %s", about[i].Note)
			}
		}
		if !slices.ContainsFunc(about, func(e eventsv1.Event) bool { return e.Reason == reason && strings.Contains(e.Note, text) }) {
			return fmt.Errorf("there are %v", texts)
		}
		return nil
	})
}
