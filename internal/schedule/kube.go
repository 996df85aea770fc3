package schedule

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/tidelock/tidelock/api/v1alpha1"
	"github.com/tidelock/tidelock/internal/desired"
	"github.com/tidelock/tidelock/internal/events"
)

// KubeConfig says which cluster a Kube is of, and in whose name it works.
type KubeConfig struct {
	REST *rest.Config
	// Instance is the name of the daemon's instance. The ledger is kept in Namespace.
	Instance, Namespace string
	// Namespaced is set where schedules are of that namespace alone: nothing outside is asked for.
	Namespaced bool
	Logger     *slog.Logger
}

// Kube is Jobs, Sight, Ledger and Events of a Kubernetes cluster.
type Kube struct {
	client    client.WithWatch
	instance  string
	namespace string
	// watched is the namespace whose Jobs are watched; empty for all.
	watched string
	log     *slog.Logger
}

const manager = client.FieldOwner(v1alpha1.ManagedBy)

// NewKube returns a Kube. It makes no request.
func NewKube(cfg KubeConfig) (*Kube, error) {
	config := rest.CopyConfig(cfg.REST)
	config.QPS, config.Burst = -1, -1 // a limit would only make runs late
	httpClient, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("make the client of schedules: %w", err)
	}
	mapper, err := apiutil.NewDynamicRESTMapper(config, httpClient)
	if err != nil {
		return nil, fmt.Errorf("make the client of schedules: %w", err)
	}
	c, err := client.NewWithWatch(config, client.Options{HTTPClient: httpClient, Mapper: mapper})
	if err != nil {
		return nil, fmt.Errorf("make the client of schedules: %w", err)
	}
	k := &Kube{client: c, instance: cfg.Instance, namespace: cfg.Namespace, log: cfg.Logger}
	if cfg.Namespaced {
		k.watched = cfg.Namespace
	}
	return k, nil
}

// Create makes a Job that the At owns. Where one of that name is there, that one comes back.
func (k *Kube) Create(ctx context.Context, at desired.Key, job *batchv1.Job) (Job, error) {
	owner, err := k.at(ctx, at)
	if err != nil {
		return Job{}, err
	}
	isController := true
	job.OwnerReferences = []metav1.OwnerReference{{
		APIVersion: owner.APIVersion, Kind: owner.Kind, Name: owner.Name, UID: owner.UID, Controller: &isController,
	}}
	err = k.client.Create(ctx, job, manager)
	switch {
	case apierrors.IsAlreadyExists(err):
		there := &batchv1.Job{}
		if err := k.client.Get(ctx, client.ObjectKeyFromObject(job), there); err != nil {
			return Job{}, failure{"look at", job.Name, err}
		}
		return k.seen(there), nil
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err):
		return Job{}, fmt.Errorf("%w: %w", ErrRefused, failure{"make", job.Name, err})
	case err != nil:
		return Job{}, failure{"make", job.Name, err}
	}
	return k.seen(job), nil
}

// at returns the At of a run, with its UID.
func (k *Kube) at(ctx context.Context, at desired.Key) (*metav1.PartialObjectMetadata, error) {
	o := &metav1.PartialObjectMetadata{}
	o.SetGroupVersionKind(v1alpha1.GroupVersion().WithKind(v1alpha1.KindAt))
	err := k.client.Get(ctx, client.ObjectKey{Namespace: at.Namespace, Name: at.Name}, o)
	switch {
	case apierrors.IsNotFound(err), meta.IsNoMatchError(err), err == nil && o.DeletionTimestamp != nil:
		return nil, ErrNoAt
	case err != nil:
		return nil, fmt.Errorf("look at At %s: %w", at, err)
	}
	return o, nil
}

// failure is an answer of the API server about a Job, without the values in it, which may be secret.
type failure struct {
	verb, job string
	err       error
}

// Error names the fields that are wrong, or the reason.
func (f failure) Error() string {
	what := string(apierrors.ReasonForError(f.err))
	if status, ok := errors.AsType[*apierrors.StatusError](f.err); ok {
		var fields []string
		if d := status.Status().Details; d != nil {
			for _, c := range d.Causes[:min(len(d.Causes), 5)] { //nolint:mnd // enough to begin with
				fields = append(fields, c.Field+" ("+string(c.Type)+")")
			}
		}
		slices.Sort(fields)
		if len(fields) > 0 {
			what += ": " + strings.Join(fields, ", ")
		} else if text := status.Status().Message; strings.Contains(text, "exceeded quota") || strings.Contains(text, "cannot ") {
			what += ": " + text
		}
	} else {
		what = f.err.Error()
	}
	return fmt.Sprintf("%s Job %s: %s", f.verb, f.job, what)
}

// Unwrap returns the answer.
func (f failure) Unwrap() error { return f.err }

// Resume lets a Job go and returns it as it is now; ErrGone where it is not that one any more.
func (k *Kube) Resume(ctx context.Context, job Job) (Job, error) {
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": job.UID, "annotations": map[string]any{v1alpha1.AnnotationPending: nil}},
		"spec":     map[string]any{"suspend": false},
	})
	if err != nil {
		return Job{}, fmt.Errorf("encode the patch of Job %s: %w", job.Key, err)
	}
	o := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: job.Namespace, Name: job.Name}}
	err = k.client.Patch(ctx, o, client.RawPatch(types.MergePatchType, patch), manager)
	switch {
	case apierrors.IsNotFound(err), apierrors.IsConflict(err):
		return Job{}, ErrGone
	case err != nil:
		return Job{}, failure{"let go", job.Name, err}
	}
	return k.seen(o), nil
}

// Delete removes exactly that Job with its pods, and only as it was seen where it is pending.
func (k *Kube) Delete(ctx context.Context, job Job) error {
	uid := types.UID(job.UID)
	only := client.Preconditions{UID: &uid}
	if job.Pending {
		only.ResourceVersion = &job.Version
	}
	o := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: job.Namespace, Name: job.Name}}
	err := k.client.Delete(ctx, o, only, client.PropagationPolicy(metav1.DeletePropagationBackground))
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("delete Job %s: %w", job.Key, err)
	}
	return nil
}

// seen reduces a Job.
func (k *Kube) seen(o *batchv1.Job) Job {
	j := Job{
		Key: desired.Key{Namespace: o.Namespace, Name: o.Name}, UID: string(o.UID), Version: o.ResourceVersion, Outcome: Running,
		Pending: o.Annotations[v1alpha1.AnnotationPending] == v1alpha1.Enabled,
	}
	owner := metav1.GetControllerOf(o)
	instant, err := time.Parse(time.RFC3339Nano, o.Annotations[v1alpha1.AnnotationInstant])
	ours := owner != nil && owner.Kind == v1alpha1.KindAt && owner.APIVersion == v1alpha1.GroupVersion().String()
	if ours && err == nil && o.Labels[v1alpha1.LabelFiredBy] == k.instance {
		j.Schedule, j.Instant = desired.Key{Namespace: o.Namespace, Name: owner.Name}, instant
	}
	if o.Status.StartTime != nil {
		j.Started = o.Status.StartTime.UTC()
	}
	for _, c := range o.Status.Conditions {
		switch {
		case c.Status != corev1.ConditionTrue:
		case c.Type == batchv1.JobComplete:
			j.Outcome, j.Finished = Succeeded, c.LastTransitionTime.UTC()
		case c.Type == batchv1.JobFailed:
			j.Outcome, j.Finished, j.Reason = Failed, c.LastTransitionTime.UTC(), c.Reason
		}
	}
	return j
}

// ExitCode returns that of the command in a finished run's newest pod; nil where there is none.
func (k *Kube) ExitCode(ctx context.Context, job Job) (*int32, error) {
	const most, container = 50, "run"
	var pods corev1.PodList
	err := k.client.List(ctx, &pods, client.InNamespace(job.Namespace), client.Limit(most),
		client.MatchingLabels{batchv1.ControllerUidLabel: job.UID})
	if err != nil {
		return nil, fmt.Errorf("list the pods of Job %s: %w", job.Key, err)
	}
	var code *int32
	var at time.Time
	for i := range pods.Items {
		for _, c := range pods.Items[i].Status.ContainerStatuses {
			if end := c.State.Terminated; c.Name == container && end != nil && !end.FinishedAt.Time.Before(at) {
				code, at = &end.ExitCode, end.FinishedAt.Time
			}
		}
	}
	return code, nil
}

// Event writes an event on an At; where that is gone there is nobody to tell.
func (k *Kube) Event(ctx context.Context, e Event) error {
	at, err := k.at(ctx, e.At)
	if err != nil {
		if errors.Is(err, ErrNoAt) {
			return nil
		}
		return err
	}
	return events.Write(ctx, k.client, k.instance, time.Now(), events.Event{
		Regarding: corev1.ObjectReference{
			APIVersion: at.APIVersion, Kind: at.Kind, Namespace: at.Namespace, Name: at.Name, UID: at.UID,
		},
		Action: "Schedule", Reason: e.Reason, Note: e.Note, Warning: e.Warning,
	})
}
