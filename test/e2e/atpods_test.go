//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/tidelock/tidelock/api/v1alpha1"
	"github.com/tidelock/tidelock/test/env"
)

// An At runs once, in a real pod: one obvious command shows what it printed, and its status how it ended.
func TestAnAtRunsInAPod(t *testing.T) {
	t.Parallel()
	node := env.Node(t)
	r := env.NewRepo(t)
	d := daemonOn(t, node.ControlPlane, node.Namespace(t), r.Bare)
	d.start(t)
	at := func(name, command string, instant time.Time) string {
		return fmt.Sprintf("apiVersion: tidelock.dev/v1alpha1\nkind: At\nmetadata: {name: %s, namespace: %s}\n"+
			"spec: {schedule: %q, command: %q, backoffLimit: 0}\n", name, d.namespace, instant.Format(time.RFC3339), command)
	}
	instant := now().Add(4 * time.Second).UTC().Truncate(time.Second)
	r.Push(t, files{
		"good.yaml": at("good", `echo "the tide is in"`, instant),
		"bad.yaml":  at("bad", `sh -c "echo no tide; exit 3"`, instant),
	})

	tests := map[string]struct {
		phase, outcome, log string
		code                int32
	}{
		"good": {phase: v1alpha1.AtDone, outcome: "Succeeded", log: "the tide is in\n"},
		"bad":  {phase: v1alpha1.AtFailed, outcome: "Failed", log: "no tide\n", code: 3},
	}
	for name, want := range tests {
		var last v1alpha1.AtStatus
		d.Eventually(t, "the end of "+name, func(ctx context.Context) error {
			var at v1alpha1.At
			err := d.client.Get(ctx, client.ObjectKey{Namespace: d.namespace, Name: name}, &at)
			if last = at.Status; err == nil && (last.Phase != want.phase || last.LastRun == nil || last.LastRun.ExitCode == nil) {
				err = fmt.Errorf("the status is %+v, want phase %s and an exit code", last, want.phase)
			}
			return err
		})
		if run := last.LastRun; run.Outcome != want.outcome || *run.ExitCode != want.code || run.Job != name ||
			run.Instant != instant.Format(time.RFC3339) {
			t.Errorf("%s: the last run is %+v with exit code %d, want %+v at %s", name, run, *run.ExitCode, want, instant)
		}
		if log := kubectl(t, node, "logs", "job/"+name, "--namespace", d.namespace); log != want.log {
			t.Errorf("%s: the log is %q, want %q", name, log, want.log)
		}
	}

	// Once: neither the end of a run nor a new start of the daemon runs an instant again.
	d.Stop(t)
	d.start(t)
	d.settled(t, r.Push(t, files{"more.yaml": configMap(d.namespace, "more", "1")}))
	var jobs batchv1.JobList
	if err := d.client.List(t.Context(), &jobs, client.InNamespace(d.namespace)); err != nil {
		t.Fatal(err)
	}
	if len(jobs.Items) != len(tests) {
		t.Errorf("there are %d Jobs, want %d", len(jobs.Items), len(tests))
	}
	for _, job := range jobs.Items {
		if ran := job.Status.Succeeded + job.Status.Failed + job.Status.Active; ran != 1 {
			t.Errorf("Job %s has run %d pods, want one", job.Name, ran)
		}
	}
}

// kubectl runs the kubectl that is in the local cluster's program, and returns what it prints.
func kubectl(t *testing.T, node *env.NodeCluster, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), path(env.Root(t), ".cache", "bin", "localcluster"),
		append([]string{"kubectl", "--kubeconfig", node.Kubeconfig}, args...)...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, &stderr)
	}
	return string(out)
}
