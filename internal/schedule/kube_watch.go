package schedule

import (
	"context"
	"log/slog"

	"github.com/go-logr/logr"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/tidelock/tidelock/api/v1alpha1"
)

// Watch tells of the instance's runs until ctx is done, at first of all. It outlives an API server that goes away.
func (k *Kube) Watch(ctx context.Context, see func(Seen)) error {
	ctx = klog.NewContext(ctx, logr.FromSlogHandler(k.log.Handler()))
	logger := klog.FromContext(ctx)
	last := ""
	trouble := func(err error) error {
		if err != nil && ctx.Err() == nil && err.Error() != last {
			last = err.Error()
			k.log.WarnContext(ctx, "the Jobs of schedules cannot be watched; trying again", slog.Any("error", err))
		}
		return err
	}
	options := func(o metav1.ListOptions) *client.ListOptions {
		o.LabelSelector = labels.Set{v1alpha1.LabelFiredBy: k.instance}.String()
		return &client.ListOptions{Namespace: k.watched, Raw: &o}
	}
	lw := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			list := &batchv1.JobList{}
			return list, trouble(k.client.List(ctx, list, options(o)))
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			w, err := k.client.Watch(ctx, &batchv1.JobList{}, options(o))
			return w, trouble(err)
		},
	}
	cache.NewReflectorWithOptions(lw, &batchv1.Job{}, &sink{reduce: k.seen, see: see},
		cache.ReflectorOptions{Logger: &logger, Name: "runs"}).RunWithContext(ctx)
	return ctx.Err()
}

// sink is where a reflector puts Jobs. Nothing of them is kept here.
type sink struct {
	reduce func(*batchv1.Job) Job
	see    func(Seen)
}

func (s *sink) jobs(list ...any) []Job {
	out := make([]Job, 0, len(list))
	for _, o := range list {
		if job, ok := o.(*batchv1.Job); ok {
			out = append(out, s.reduce(job))
		}
	}
	return out
}

// Add takes in a new Job.
func (s *sink) Add(o any) error {
	s.see(Seen{Jobs: s.jobs(o)})
	return nil
}

// Update takes in a changed Job.
func (s *sink) Update(o any) error { return s.Add(o) }

// Delete takes in that a Job is gone.
func (s *sink) Delete(o any) error {
	s.see(Seen{Gone: s.jobs(o)})
	return nil
}

// Replace takes in all Jobs that there are.
func (s *sink) Replace(list []any, _ string) error {
	s.see(Seen{All: true, Jobs: s.jobs(list...)})
	return nil
}

// Resync does nothing: what is seen is taken in at once.
func (s *sink) Resync() error { return nil }
