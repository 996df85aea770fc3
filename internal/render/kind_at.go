package render

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/tidelock/tidelock/api/v1alpha1"
	"github.com/tidelock/tidelock/internal/desired"
)

// The defaults of an At, and the name of the container that its template patches by.
const (
	defaultAtImage   = "busybox"
	atContainer      = "run"
	defaultSucceeded = 3
	defaultFailed    = 1
)

// lowerAt makes the schedule of an At: when it fires, and the Job that each run is.
func lowerAt(_ context.Context, c *commit, r resource[v1alpha1.AtSpec]) {
	before := len(c.problems)
	instants, err := desired.ParseSchedule(r.spec.Schedule, r.spec.TimeZone)
	if err != nil {
		c.refuse(r.problem(atField(r.spec), "%v", err))
	}
	// A Job's name is a label of its pods; a run of a cron expression adds its minute.
	longest := 63
	if instants.Repeats() {
		longest -= len("-YYYYMMDDhhmm")
	}
	if len(r.Name) > longest {
		c.refuse(r.problem(field("metadata", "name"), "want at most %d characters, as Jobs are named after it, got %d",
			longest, len(r.Name)))
	}
	c.refuseTakenName(r, instants)
	if len(r.spec.Command) == 0 || r.spec.Command[0] == "" {
		c.refuse(r.problem(field("spec", "command"), "is empty: want a program and its arguments"))
	}
	job, err := atJob(r)
	if err != nil {
		c.refuse(r.problem(field("spec", "template"), "%v", err))
	}
	if len(c.problems) > before {
		return
	}
	s := desired.Schedule{
		Key: r.key(), Origin: r.origin, Schedule: r.spec.Schedule, TimeZone: r.spec.TimeZone, Suspend: r.spec.Suspend,
		ConcurrencyPolicy:          batchv1.ConcurrencyPolicy(cmp.Or(r.spec.ConcurrencyPolicy, string(batchv1.AllowConcurrent))),
		StartingDeadlineSeconds:    r.spec.StartingDeadlineSeconds,
		SuccessfulJobsHistoryLimit: defaultSucceeded, FailedJobsHistoryLimit: defaultFailed, Job: job,
	}
	if n := r.spec.SuccessfulJobsHistoryLimit; n != nil {
		s.SuccessfulJobsHistoryLimit = *n
	}
	if n := r.spec.FailedJobsHistoryLimit; n != nil {
		s.FailedJobsHistoryLimit = *n
	}
	c.out.schedules = append(c.out.schedules, s)
}

// minuteOfRun is what the Job of a run of a cron expression has after the name of its At.
const minuteOfRun = "-200601021504"

// refuseTakenName refuses an At of which a run would find a Job of its name: a plain one, or the run of another At.
func (c *commit) refuseTakenName(r resource[v1alpha1.AtSpec], instants desired.Instants) {
	runIs := func(job string) bool {
		if !instants.Repeats() {
			return job == r.Name
		}
		_, err := time.Parse(minuteOfRun, strings.TrimPrefix(job, r.Name))
		return err == nil && strings.HasPrefix(job, r.Name)
	}
	refuse := func(id desired.ID, origin desired.Origin) {
		c.refuse(r.problem(field("metadata", "name"), "a run of it has the name of %s (%s): give one of them another name", id, origin))
	}
	for id, m := range c.objects {
		if id.Group == "batch" && id.Kind == "Job" && id.Namespace == r.Namespace && runIs(id.Name) {
			refuse(id, m.origin)
		}
	}
	if !instants.Repeats() {
		return // the other one is looked at from its own side
	}
	for id, v := range c.decoded {
		other, ok := v.(resource[v1alpha1.AtSpec])
		if !ok || id.Namespace != r.Namespace || !runIs(id.Name) {
			continue
		}
		if theirs, err := desired.ParseSchedule(other.spec.Schedule, other.spec.TimeZone); err == nil && !theirs.Repeats() {
			refuse(id, other.origin)
		}
	}
}

// atField returns the field that a wrong schedule is reported at: the zone, where a good one would mend it.
func atField(spec v1alpha1.AtSpec) fieldPath {
	if _, err := desired.ParseSchedule("@daily", spec.TimeZone); err != nil {
		return field("spec", "timeZone")
	}
	return field("spec", "schedule")
}

// atJob returns the template of an At's Jobs.
func atJob(r resource[v1alpha1.AtSpec]) (batchv1.JobTemplateSpec, error) {
	pod := corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app.kubernetes.io/name": r.Name}},
		Spec: corev1.PodSpec{
			// With OnFailure, Kubernetes deletes the pod when backoffLimit is reached, and its log with it.
			RestartPolicy:      corev1.RestartPolicyNever,
			ServiceAccountName: r.spec.ServiceAccountName,
			Containers: []corev1.Container{{
				// The default for a name without a tag is Always: each run would be late, and fail while the registry is away.
				Name: atContainer, Image: cmp.Or(r.spec.Image, defaultAtImage), ImagePullPolicy: corev1.PullIfNotPresent,
				Command: r.spec.Command, Env: r.spec.Env, Resources: r.spec.Resources,
			}},
		},
	}
	if r.spec.Template != nil {
		var err error
		if pod, err = patchJobPod(pod, r.spec.Template.Raw); err != nil {
			return batchv1.JobTemplateSpec{}, err
		}
	}
	return batchv1.JobTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: generatedLabels(r.source())},
		Spec: batchv1.JobSpec{
			BackoffLimit:            r.spec.BackoffLimit,
			ActiveDeadlineSeconds:   r.spec.ActiveDeadlineSeconds,
			TTLSecondsAfterFinished: r.spec.TTLSecondsAfterFinished,
			Template:                pod,
		},
	}, nil
}

// patchJobPod merges a patch over the pod template of a Job.
func patchJobPod(pod corev1.PodTemplateSpec, patch []byte) (corev1.PodTemplateSpec, error) {
	out, err := patchPod(pod, patch, atContainer)
	if err != nil {
		return pod, err
	}
	if p := out.Spec.RestartPolicy; p != corev1.RestartPolicyNever && p != corev1.RestartPolicyOnFailure {
		return pod, fmt.Errorf("spec.restartPolicy: want Never or OnFailure for a Job, got %s", p)
	}
	return out, nil
}
