//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/tidelock/tidelock/api/v1alpha1"
	"github.com/tidelock/tidelock/test/env"
)

// An At fires once at its instant. Neither a killed daemon nor a Job that is deleted by hand makes it fire again.
func TestAnAtFiresOnce(t *testing.T) {
	t.Parallel()
	r := env.NewRepo(t)
	d := newDaemon(t, r)
	d.start(t)
	instant := now().Add(8 * time.Second).UTC().Truncate(time.Second)
	r.Push(t, files{"at.yaml": fmt.Sprintf("apiVersion: tidelock.dev/v1alpha1\nkind: At\nmetadata: {name: once, namespace: %s}\n"+
		"spec: {schedule: %q, command: echo done}\n", d.namespace, instant.Format(time.RFC3339))})
	key := client.ObjectKey{Namespace: d.namespace, Name: "once"}
	phase := func(want string) func(context.Context) error {
		return func(ctx context.Context) error {
			var at v1alpha1.At
			if err := d.client.Get(ctx, key, &at); err != nil {
				return err
			}
			if at.Status.Phase != want {
				return fmt.Errorf("the status is %+v, want %s", at.Status, want)
			}
			return nil
		}
	}
	d.Eventually(t, "the At to run", phase(v1alpha1.AtRunning))
	d.Eventually(t, "the run to be on record", func(ctx context.Context) error {
		var at v1alpha1.At
		if err := d.client.Get(ctx, key, &at); err != nil || at.Status.LastRun == nil {
			return fmt.Errorf("the status is %+v, or %w", at.Status, err)
		}
		return nil
	})
	var job batchv1.Job
	d.Eventually(t, "its Job to be let go", func(ctx context.Context) error {
		if err := d.client.Get(ctx, key, &job); err != nil || job.Spec.Suspend != nil && *job.Spec.Suspend {
			return fmt.Errorf("Job suspended, or %w", err)
		}
		return nil
	})
	if job.CreationTimestamp.Time.Before(instant) || metav1.GetControllerOf(&job) == nil {
		t.Errorf("the Job is of %s for %s, owned by %v", job.CreationTimestamp, instant, job.OwnerReferences)
	}

	d.Kill(t)
	if err := d.client.Delete(t.Context(), &job, client.PropagationPolicy(metav1.DeletePropagationBackground)); err != nil {
		t.Fatal(err)
	}
	d.Eventually(t, "the Job to be gone", func(ctx context.Context) error {
		if err := d.client.Get(ctx, key, &batchv1.Job{}); client.IgnoreNotFound(err) != nil || err == nil {
			return fmt.Errorf("it is there, or %w", err)
		}
		return nil
	})
	d.start(t)
	d.Eventually(t, "the At to be done", phase(v1alpha1.AtDone))
	if err := d.client.Get(t.Context(), key, &batchv1.Job{}); client.IgnoreNotFound(err) != nil || err == nil {
		t.Errorf("the Job is there again, or %v", err)
	}
}
