package schedule

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/tidelock/tidelock/api/v1alpha1"
	"github.com/tidelock/tidelock/internal/desired"
)

// cluster is an API server in memory, with a controller that ends Jobs. What it is asked for can go wrong.
type cluster struct {
	mu       sync.Mutex
	jobs     map[desired.Key]Job
	noAts    bool
	pages    map[int]Page
	versions int
	watchers map[*watcher]bool
	events   []Event

	// lasts is how long a Job takes and ends how it ends; keeps is after how long a Job that has ended is removed.
	lasts time.Duration
	ends  Outcome
	keeps time.Duration
	// began counts, by schedule and instant, how often a run was let go. missed are the misses on record, of every save.
	began  map[desired.Key]map[time.Time]int
	missed map[desired.Key]map[Missed]bool
	// fault is asked about every request: whether it is carried out, and what is answered.
	fault func(op string) (done bool, err error)
	// requests counts them by what they ask.
	requests map[string]int
}

type watcher struct {
	queue []Seen
	news  chan struct{}
}

func newCluster() *cluster {
	return &cluster{
		jobs: map[desired.Key]Job{}, pages: map[int]Page{}, watchers: map[*watcher]bool{}, requests: map[string]int{},
		began: map[desired.Key]map[time.Time]int{}, missed: map[desired.Key]map[Missed]bool{}, lasts: 10 * time.Second, ends: Succeeded,
	}
}

// asked returns the requests since it was last called, by what they do.
func (c *cluster) asked() map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	asked := maps.Clone(c.requests)
	clear(c.requests)
	return asked
}

// request runs one request under the lock, as far as the fault lets it.
func (c *cluster) request(ctx context.Context, op string, do func() error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.requests[op]++
	done, failure := true, error(nil)
	if c.fault != nil {
		done, failure = c.fault(op)
	}
	if !done {
		return failure
	}
	if err := do(); err != nil {
		return err
	}
	return failure
}

func (c *cluster) version() string {
	c.versions++
	return strconv.Itoa(c.versions)
}

func (c *cluster) notify(s Seen) {
	for w := range c.watchers {
		w.queue = append(w.queue, s)
		signal(w.news)
	}
}

func (c *cluster) put(j Job) Job {
	j.Version = c.version()
	c.jobs[j.Key] = j
	c.notify(Seen{Jobs: []Job{j}})
	return j
}

func (c *cluster) drop(k desired.Key, uid string) {
	if j, ok := c.jobs[k]; ok && j.UID == uid {
		delete(c.jobs, k)
		c.notify(Seen{Gone: []Job{j}})
	}
}

func (c *cluster) Create(ctx context.Context, at desired.Key, job *batchv1.Job) (Job, error) {
	var out Job
	return out, c.request(ctx, "create", func() error {
		if c.noAts {
			return ErrNoAt
		}
		k := desired.Key{Namespace: job.Namespace, Name: job.Name}
		if there, ok := c.jobs[k]; ok {
			out = there
			return nil
		}
		instant, err := time.Parse(time.RFC3339Nano, job.Annotations[v1alpha1.AnnotationInstant])
		if err != nil || job.Spec.Suspend == nil || !*job.Spec.Suspend {
			return errors.New("no suspended Job with an instant")
		}
		out = c.put(Job{Key: k, UID: "uid-" + c.version(), Schedule: at, Instant: instant, Pending: true, Outcome: Running})
		return nil
	})
}

func (c *cluster) Resume(ctx context.Context, job Job) (Job, error) {
	var out Job
	return out, c.request(ctx, "resume", func() error {
		j, ok := c.jobs[job.Key]
		if !ok || j.UID != job.UID {
			return ErrGone
		}
		if j.Pending {
			j.Pending, j.Started = false, time.Now()
			if c.began[j.Schedule] == nil {
				c.began[j.Schedule] = map[time.Time]int{}
			}
			c.began[j.Schedule][j.Instant.UTC()]++
			j = c.put(j)
			if c.lasts > 0 {
				time.AfterFunc(c.lasts, func() { c.end(j.Key, j.UID) })
			}
		}
		out = j
		return nil
	})
}

// end is what a controller does when the pod of a Job has ended.
func (c *cluster) end(k desired.Key, uid string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	j, ok := c.jobs[k]
	if !ok || j.UID != uid {
		return
	}
	j.Outcome, j.Finished = c.ends, time.Now()
	if j.Outcome == Failed {
		j.Reason = "BackoffLimitExceeded"
	}
	c.put(j)
	if c.keeps > 0 {
		time.AfterFunc(c.keeps, func() {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.drop(k, uid)
		})
	}
}

func (c *cluster) Delete(ctx context.Context, job Job) error {
	return c.request(ctx, "delete", func() error {
		if j := c.jobs[job.Key]; job.Pending && j.UID == job.UID && j.Version != job.Version {
			return ErrConflict
		}
		c.drop(job.Key, job.UID)
		return nil
	})
}

func (c *cluster) Watch(ctx context.Context, see func(Seen)) error {
	w := &watcher{news: make(chan struct{}, 1)}
	c.mu.Lock()
	all := Seen{All: true}
	for _, j := range c.jobs {
		if j.Schedule != (desired.Key{}) {
			all.Jobs = append(all.Jobs, j)
		}
	}
	w.queue = []Seen{all}
	c.watchers[w] = true
	c.mu.Unlock()
	signal(w.news)
	for {
		select {
		case <-ctx.Done():
			c.mu.Lock()
			delete(c.watchers, w)
			c.mu.Unlock()
			return ctx.Err()
		case <-w.news:
		}
		c.mu.Lock()
		queue := w.queue
		w.queue = nil
		c.mu.Unlock()
		for _, s := range queue {
			see(s)
		}
	}
}

func (c *cluster) ExitCode(ctx context.Context, j Job) (*int32, error) {
	code := int32(0)
	if j.Outcome == Failed {
		code = 3
	}
	return &code, c.request(ctx, "exit code", func() error { return nil })
}

func (c *cluster) Load(ctx context.Context) ([]Page, error) {
	var out []Page
	return out, c.request(ctx, "load", func() error {
		out = slices.Collect(maps.Values(c.pages))
		return nil
	})
}

func (c *cluster) Save(ctx context.Context, p Page) (string, error) {
	err := c.request(ctx, "save", func() error {
		if c.pages[p.Number].Version != p.Version {
			return ErrConflict
		}
		p.Version = c.version()
		c.pages[p.Number] = p
		return c.report(p)
	})
	return p.Version, err
}

// report notes the misses that are on a page.
func (c *cluster) report(p Page) error {
	var list []*record
	if err := json.Unmarshal(p.Data, &list); err != nil {
		return err
	}
	for _, r := range list {
		for _, m := range r.Misses {
			if m.Told = false; strings.HasPrefix(m.Reason, amongOthers) {
				continue // each of them was there before
			}
			if c.missed[r.key()] == nil {
				c.missed[r.key()] = map[Missed]bool{}
			}
			c.missed[r.key()][m] = true
		}
	}
	return nil
}

func (c *cluster) Event(ctx context.Context, e Event) error {
	return c.request(ctx, "event", func() error {
		c.events = append(c.events, e)
		return nil
	})
}

// records are those of the stored ledger.
func (c *cluster) records(t *testing.T) map[desired.Key]*record {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	b := newBook()
	for _, p := range c.pages {
		if err := b.read(p); err != nil {
			t.Fatal(err)
		}
	}
	return b.records
}

// runs are the instants that began, by schedule, sorted; each must have begun once.
func (c *cluster) runs(t *testing.T, name string) []string {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []string
	for at, n := range c.began[key(name)] {
		if n != 1 {
			t.Errorf("%s of %s began %d times", at, name, n)
		}
		out = append(out, at.Format("01-02T15:04:05"))
	}
	slices.Sort(out)
	return out
}

// missesOf are the misses on record, in the order of their first instants.
func (c *cluster) missesOf(name string) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	list := slices.SortedFunc(maps.Keys(c.missed[key(name)]), func(a, b Missed) int { return a.From.Compare(b.From) })
	var out []string
	for _, m := range list {
		out = append(out, m.String())
	}
	return out
}

func key(name string) desired.Key { return desired.Key{Namespace: "shop", Name: name} }

// at is a schedule that runs a command.
func at(name, schedule string, change ...func(*desired.Schedule)) desired.Schedule {
	s := desired.Schedule{
		Key: key(name), Schedule: schedule, ConcurrencyPolicy: batchv1.AllowConcurrent,
		SuccessfulJobsHistoryLimit: 3, FailedJobsHistoryLimit: 1,
	}
	s.Job.Spec.Template.Spec.Containers = []corev1.Container{{Name: "run", Image: "busybox", Command: []string{"true"}}}
	for _, c := range change {
		c(&s)
	}
	return s
}

func deadline(seconds int64) func(*desired.Schedule) {
	return func(s *desired.Schedule) { s.StartingDeadlineSeconds = &seconds }
}

func zone(name string) func(*desired.Schedule) {
	return func(s *desired.Schedule) { s.TimeZone = name }
}

func policy(p batchv1.ConcurrencyPolicy) func(*desired.Schedule) {
	return func(s *desired.Schedule) { s.ConcurrencyPolicy = p }
}

func suspended(s *desired.Schedule) { s.Suspend = true }

// daemon is one life of a Runner.
type daemon struct {
	*Runner
	kill func()
	done chan struct{}
}

// start begins a life; now is its wall clock.
func start(ctx context.Context, c *cluster, now func() time.Time, schedules ...desired.Schedule) *daemon {
	return startWith(ctx, Config{Jobs: c, Sight: c, Ledger: c, Events: c, Now: now}, schedules...)
}

// startWith begins a life of the instance "prod".
func startWith(ctx context.Context, cfg Config, schedules ...desired.Schedule) *daemon {
	ctx, cancel := context.WithCancel(ctx)
	if cfg.Instance = "prod"; cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	d := &daemon{done: make(chan struct{}), kill: cancel, Runner: New(cfg)}
	d.Set(schedules)
	go func() {
		defer close(d.done)
		_ = d.Run(ctx)
	}()
	return d
}

func (d *daemon) end() {
	d.kill()
	<-d.done
}

// until lets time pass up to a moment.
func until(t *testing.T, moment string) {
	t.Helper()
	at, err := time.Parse("2006-01-02T15:04:05", moment)
	if err != nil {
		t.Fatal(err)
	}
	<-time.After(time.Until(at))
}
