//go:build e2e

package e2e

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/tidelock/tidelock/api/v1alpha1"
	"github.com/tidelock/tidelock/test/env"
)

// Runs of a cron expression meet the one before by the At's policy, and make room by its limits. What a node would say
// of a run is said by the test.
func TestRunsOfACronExpressionMeetAndMakeRoom(t *testing.T) {
	t.Parallel()
	r := env.NewRepo(t)
	d := newDaemon(t, r)
	d.env = []string{"TZ=America/New_York"} // nothing depends on it
	at := func(name, more string) string {
		return fmt.Sprintf("apiVersion: tidelock.dev/v1alpha1\nkind: At\nmetadata: {name: %s, namespace: %s}\n"+
			"spec: {schedule: '* * * * *', command: echo, %s}\n---\n", name, d.namespace, more)
	}
	d.start(t)
	for until := time.Until(now().Truncate(time.Minute).Add(time.Minute)); until < 10*time.Second; until += time.Minute {
		<-time.After(until) // the commit must be in before the first minute
	}
	r.Push(t, files{"at.yaml": at("forbid", "concurrencyPolicy: Forbid") + at("replace", "concurrencyPolicy: Replace") +
		at("allow", "successfulJobsHistoryLimit: 0")})
	first := map[string]batchv1.Job{}
	for _, name := range []string{"forbid", "replace", "allow"} {
		first[name] = d.runsOf(t, name, 1)[0]
	}
	end := first["allow"]
	d.succeed(t, &end)
	d.Eventually(t, "the finished run to make room", func(ctx context.Context) error {
		return d.absent(ctx, &end)
	})
	status := func(name string, want func(v1alpha1.AtStatus) bool) {
		t.Helper()
		d.Eventually(t, "the status of "+name, func(ctx context.Context) error {
			var got v1alpha1.At
			if err := d.client.Get(ctx, client.ObjectKey{Namespace: d.namespace, Name: name}, &got); err != nil || !want(got.Status) {
				return fmt.Errorf("it is %+v, or %w", got.Status, err)
			}
			return nil
		})
	}
	status("allow", func(s v1alpha1.AtStatus) bool { return s.LastRun != nil && s.LastRun.Outcome == "Succeeded" })
	<-time.After(time.Until(now().Truncate(time.Minute).Add(time.Minute)))
	status("forbid", func(s v1alpha1.AtStatus) bool { return s.LastMissed != nil && s.LastMissed.Count == 1 && s.Active == 1 })
	old := first["replace"]
	d.Eventually(t, "the run before to be replaced", func(ctx context.Context) error { return d.absent(ctx, &old) })
	if runs := d.runsOf(t, "replace", 1); runs[0].UID == old.UID {
		t.Error("the run before is there")
	}
	if runs := d.runsOf(t, "forbid", 1); len(runs) != 1 || runs[0].UID != first["forbid"].UID {
		t.Errorf("%d runs of forbid", len(runs))
	}
}

// succeed says of a run's pod what a node would; the controller of Jobs does the rest.
func (d *daemon) succeed(t *testing.T, job *batchv1.Job) {
	t.Helper()
	var pods corev1.PodList
	d.Eventually(t, "the pod of "+job.Name, func(ctx context.Context) error {
		err := d.client.List(ctx, &pods, client.InNamespace(job.Namespace), client.MatchingLabels{batchv1.JobNameLabel: job.Name})
		if err == nil && len(pods.Items) != 1 {
			err = fmt.Errorf("there are %d", len(pods.Items))
		}
		return err
	})
	ended := []byte(`{"status":{"phase":"Succeeded"}}`)
	if err := d.client.Status().Patch(t.Context(), &pods.Items[0], client.RawPatch(types.MergePatchType, ended)); err != nil {
		t.Fatal(err)
	}
}

// runsOf waits for so many runs of an At that were let go, and returns them, the oldest first.
func (d *daemon) runsOf(t *testing.T, at string, n int) []batchv1.Job {
	t.Helper()
	var list batchv1.JobList
	d.Eventually(t, fmt.Sprintf("%d runs of %s", n, at), func(ctx context.Context) error {
		err := d.client.List(ctx, &list, client.InNamespace(d.namespace), client.MatchingLabels{v1alpha1.LabelName: at})
		if err != nil {
			return err
		}
		list.Items = slices.DeleteFunc(list.Items, func(j batchv1.Job) bool {
			return j.Spec.Suspend != nil && *j.Spec.Suspend || j.DeletionTimestamp != nil
		})
		if len(list.Items) < n {
			return fmt.Errorf("there are %d", len(list.Items))
		}
		return nil
	})
	slices.SortFunc(list.Items, func(a, b batchv1.Job) int { return cmp.Compare(a.Name, b.Name) })
	return list.Items
}

// absent is content once a Job is gone, or another one of its name is there.
func (d *daemon) absent(ctx context.Context, job *batchv1.Job) error {
	var there batchv1.Job
	err := d.client.Get(ctx, client.ObjectKeyFromObject(job), &there)
	if err == nil && there.UID == job.UID && there.DeletionTimestamp == nil {
		return fmt.Errorf("Job %s is there", job.Name)
	}
	return client.IgnoreNotFound(err)
}
