package schedule

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/tidelock/tidelock/api/v1alpha1"
	"github.com/tidelock/tidelock/internal/desired"
)

// pursue goes on with the claims of a record whose state is stored, and rids it of Jobs that nobody will let go.
func (t *tenure) pursue(ctx context.Context, r *record) {
	if r.page.stored == r.page.state {
		// Stored means that nobody else has written, who might want them.
		for _, j := range r.unwanted {
			t.remove(ctx, j)
		}
		r.unwanted = nil
	}
	for _, c := range append([]*claim(nil), r.Claims...) {
		switch {
		case c.busy || c.resting || c.saved > r.page.stored:
		case c.UID != "":
			t.resume(ctx, r, c)
		case t.listed:
			t.start(ctx, r, c)
		}
	}
}

// start makes the Job of a claim, as far as the schedule's policies let it.
func (t *tenure) start(ctx context.Context, r *record, c *claim) {
	e := t.table.entries[r.key()]
	switch {
	case e == nil && r.Gone.IsZero(): // there is no table yet
		return
	case e == nil:
		t.giveUp(r, c, "its At left the repository")
		return
	case tooLate(c.At, t.now(), e.StartingDeadlineSeconds):
		t.giveUp(r, c, "it could not begin within startingDeadlineSeconds"+because(c.why))
		return
	}
	job := t.job(e, c.At)
	going := t.going(r.key(), job.Name)
	switch {
	case len(going) > 0 && e.ConcurrencyPolicy == batchv1.ForbidConcurrent:
		t.giveUp(r, c, "the run "+going[0].Name+" goes on, and concurrencyPolicy is Forbid")
		return
	case len(going) > 0 && e.ConcurrencyPolicy == batchv1.ReplaceConcurrent:
		for _, g := range going {
			if !g.Pending { // one that is not let go yet must have been, or its instant would be lost
				t.remove(ctx, g)
			}
		}
		t.wait(ctx, r, c, "the run "+going[0].Name+" is being replaced")
		return
	}
	c.busy = true
	t.beside(ctx, func(limited context.Context) func() {
		made, err := t.runner.cfg.Jobs.Create(limited, e.Key, job)
		return func() {
			c.busy = false
			t.made(ctx, r, c, made, err)
		}
	})
}

// made goes on from the answer to the making of a claim's Job.
func (t *tenure) made(ctx context.Context, r *record, c *claim, job Job, err error) {
	switch {
	case errors.Is(err, ErrRefused):
		t.giveUp(r, c, err.Error())
	case err != nil:
		t.wait(ctx, r, c, err.Error())
	case job.Schedule != r.key():
		t.giveUp(r, c, fmt.Sprintf("there is a Job %s already, which is none of this schedule", job.Key))
	case !job.Instant.Equal(c.At):
		// The Job of a lone instant is named as the At, whose instant was changed.
		if job.Outcome != Running {
			t.remove(ctx, job)
		}
		t.wait(ctx, r, c, fmt.Sprintf("the Job %s is still that of %s", job.Name, stamp(job.Instant)))
	default:
		t.note(job)
		c.Job, c.UID, c.why, c.tries = job.Name, job.UID, "", 0
		c.saved = t.book.touch(r)
	}
}

// wait tries a claim again later.
func (t *tenure) wait(ctx context.Context, r *record, c *claim, why string) {
	c.why, c.resting = t.hide(why), true
	c.tries++
	t.stale[r.key()] = true
	t.later(ctx, backOff(c.tries), func() {
		c.resting = false
		t.pursue(ctx, r)
	})
}

// rouse goes on with claims that may have waited for what has just changed.
func (t *tenure) rouse(ctx context.Context, r *record) {
	for _, c := range r.Claims {
		c.resting = false
	}
	t.pursue(ctx, r)
}

// resume lets the Job of a claim go, which is on record as made.
func (t *tenure) resume(ctx context.Context, r *record, c *claim) {
	job := Job{Key: desired.Key{Namespace: r.Namespace, Name: c.Job}, UID: c.UID, Schedule: r.key(), Instant: c.At}
	c.busy = true
	t.beside(ctx, func(limited context.Context) func() {
		going, err := t.runner.cfg.Jobs.Resume(limited, job)
		return func() {
			c.busy = false
			if err == nil {
				job = going
				t.note(job)
			}
			t.resumed(ctx, r, c, job, err)
		}
	})
}

func (t *tenure) resumed(ctx context.Context, r *record, c *claim, job Job, err error) {
	run := Run{At: c.At, Job: job.Name, UID: c.UID, Outcome: Running}
	switch {
	case errors.Is(err, ErrGone):
		run.Outcome = Deleted
	case err != nil:
		t.wait(ctx, r, c, err.Error())
		return
	}
	r.drop(c)
	r.ran(run)
	t.book.touch(r)
	t.stale[r.key()] = true
	if err != nil {
		t.runner.count(func(n *Tally) { n.Deleted++ })
		t.event(ctx, Event{At: r.key(), Reason: ReasonFailed, Warning: true, Note: "Job " + job.Name + " for " + stamp(c.At) + " was deleted"})
		return
	}
	t.runner.count(func(n *Tally) { n.Started++ })
	t.log().InfoContext(ctx, "fired", slog.String("at", r.key().String()), slog.String("instant", stamp(c.At)),
		slog.String("job", job.Name), slog.Duration("after", t.now().Sub(c.At)))
	t.event(ctx, Event{At: r.key(), Reason: ReasonFired, Note: "Job " + job.Name + " for " + stamp(c.At)})
	t.settle(ctx, r, job, Job{})
}

// job is the Job of an instant, as it is made.
func (t *tenure) job(e *entry, at time.Time) *batchv1.Job {
	meta := *e.Job.ObjectMeta.DeepCopy()
	meta.Namespace, meta.Name = e.Namespace, jobName(e.Name, e.instants.Repeats(), at)
	labels := map[string]string{
		v1alpha1.LabelManagedBy: v1alpha1.ManagedBy, v1alpha1.LabelFiredBy: t.runner.cfg.Instance,
		v1alpha1.LabelKind: v1alpha1.KindAt, v1alpha1.LabelName: e.Name,
	}
	maps.Copy(labels, meta.Labels)
	meta.Labels = labels
	if meta.Annotations == nil {
		meta.Annotations = map[string]string{}
	}
	meta.Annotations[v1alpha1.AnnotationInstant] = stamp(at)
	meta.Annotations[v1alpha1.AnnotationPending] = v1alpha1.Enabled
	spec, suspended := *e.Job.Spec.DeepCopy(), true
	spec.Suspend = &suspended
	return &batchv1.Job{TypeMeta: metav1.TypeMeta{APIVersion: "batch/v1", Kind: "Job"}, ObjectMeta: meta, Spec: spec}
}

// jobName is the At's own for a lone instant; one of many adds its minute in UTC, of which no two instants share one.
func jobName(at string, repeats bool, instant time.Time) string {
	if !repeats {
		return at
	}
	return at + "-" + instant.UTC().Format("200601021504")
}

// event tells people in the background; what cannot be told is only logged.
func (t *tenure) event(ctx context.Context, e Event) {
	t.after(ctx, func(limited context.Context) func() {
		e.Note = t.hide(e.Note)
		err := t.runner.cfg.Events.Event(limited, e)
		return func() {
			if err != nil {
				t.log().DebugContext(ctx, "event not written", slog.String("at", e.At.String()), slog.Any("error", err))
			}
		}
	})
}

// tell writes the events about misses that are on record and not told yet.
func (t *tenure) tell(ctx context.Context, r *record) {
	if r.page.stored != r.page.state {
		return // another save is to come
	}
	for i := range r.Misses {
		if m := r.Misses[i]; !m.Told && !r.telling {
			r.telling = true
			t.log().WarnContext(ctx, "missed", slog.String("at", r.key().String()), slog.String("what", m.String()))
			t.after(ctx, func(limited context.Context) func() {
				err := t.runner.cfg.Events.Event(limited, Event{At: r.key(), Reason: ReasonMissed, Warning: true, Note: t.hide(m.String())})
				return func() { t.toldOf(ctx, r, m, err) }
			})
		}
	}
}

func (t *tenure) toldOf(ctx context.Context, r *record, m Missed, err error) {
	if err != nil {
		r.untold++
		t.later(ctx, backOff(r.untold), func() {
			r.telling = false
			t.tell(ctx, r)
		})
		return
	}
	r.telling, r.untold = false, 0
	t.runner.count(func(n *Tally) { n.Missed += uint64(max(m.Count, 0)) })
	for i := range r.Misses {
		if o := &r.Misses[i]; !o.Told && o.From.Equal(m.From) && o.Until.Equal(m.Until) {
			o.Told = true
			t.book.touch(r)
		}
	}
	t.tell(ctx, r)
}
