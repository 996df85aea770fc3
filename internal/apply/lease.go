package apply

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/go-logr/logr"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/tidelock/tidelock/api/v1alpha1"
)

// The times of the Lease, as Kubernetes' own components have them.
const (
	leaseDuration = 15 * time.Second
	renewDeadline = 10 * time.Second
	leaseRetry    = 2 * time.Second
)

// ErrLeaseLost is the cause by which Lead ends what it runs when the Lease could not be renewed in time.
var ErrLeaseLost = errors.New("the Lease is lost")

// ErrNoNamespace is returned by Lead where the instance's namespace does not exist.
var ErrNoNamespace = errors.New("the namespace of the instance does not exist")

// Lead takes the instance's Lease, runs held while it has it, and gives it back when held has returned. While another one
// has it and may still run, Lead waits; waiting is told who that is, from another goroutine. identity is Identity's, or
// another that no two processes share.
func (c *Cluster) Lead(ctx context.Context, identity string, waiting func(holder string), held func(context.Context) error,
) error {
	if err := c.reach(ctx); err != nil {
		return err
	}
	cl, err := coordinationclient.NewForConfig(c.cfg.REST)
	if err != nil {
		return fmt.Errorf("make the client of the Lease: %w", err)
	}
	// The election outlives ctx until held has returned: the Lease is given back only then.
	told := logr.FromSlogHandler(news{c.log.Handler(), &lastRecord{}})
	election, stop := context.WithCancel(klog.NewContext(context.WithoutCancel(ctx), told))
	defer stop()
	t := &tenure{stop: stop, progress: c.cfg.Progress}
	waiting = t.shown(waiting)
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Name: LeaseName(c.cfg.Owner),
		Lock: estate{
			Interface: &resourcelock.LeaseLock{
				LeaseMeta:  metav1.ObjectMeta{Namespace: c.cfg.Namespace, Name: LeaseName(c.cfg.Owner)},
				Client:     cl,
				LockConfig: resourcelock.ResourceLockConfig{Identity: identity},
			},
			gone: func(holder string) bool { return gone(holder, os.DirFS("/proc"), absent) },
			log:  c.log,
		},
		LeaseDuration: leaseDuration, RenewDeadline: renewDeadline, RetryPeriod: leaseRetry, ReleaseOnCancel: true,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(leading context.Context) { t.serve(ctx, leading, held) },
			OnStoppedLeading: func() {},
			OnNewLeader: func(holder string) {
				if holder != "" && holder != identity && waiting != nil {
					waiting(holder)
				}
			},
		},
	})
	if err != nil {
		return fmt.Errorf("take the Lease %s: %w", LeaseName(c.cfg.Owner), err)
	}
	defer context.AfterFunc(ctx, t.giveUp)()
	elector.Run(election)
	return t.end(ctx)
}

// reach returns once the API server answers, and says on the way that it does not; the instance's namespace must be there.
func (c *Cluster) reach(ctx context.Context) error {
	last := ""
	defer c.cfg.Progress("")
	for {
		err := c.client.Get(ctx, client.ObjectKey{Name: c.cfg.Namespace}, &corev1.Namespace{})
		switch {
		case err == nil, apierrors.IsForbidden(err):
			return nil
		case apierrors.IsNotFound(err):
			return fmt.Errorf("%w: kubectl create namespace %s", ErrNoNamespace, c.cfg.Namespace)
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err.Error() != last:
			last = err.Error()
			c.log.WarnContext(ctx, "the API server does not answer; trying again", slog.Any("error", err))
		}
		c.cfg.Progress("waiting for the API server")
		timer := time.NewTimer(leaseRetry)
		select {
		case <-ctx.Done():
		case <-timer.C:
		}
		timer.Stop()
	}
}

// tenure is one run of Lead.
type tenure struct {
	stop     context.CancelFunc
	progress func(doing string)

	mu      sync.Mutex
	over    bool          // the election ended
	serving chan struct{} // closed when held has returned; nil before it is called
	err     error
}

// serve runs held until it returns, the caller's ctx is done or the Lease is lost.
func (t *tenure) serve(ctx, leading context.Context, held func(context.Context) error) {
	t.mu.Lock()
	if t.over {
		t.mu.Unlock()
		return
	}
	t.serving = make(chan struct{})
	t.progress("")
	t.mu.Unlock()
	run, cancel := context.WithCancelCause(ctx)
	defer context.AfterFunc(leading, func() { cancel(ErrLeaseLost) })()
	t.err = held(run)
	if lost := context.Cause(run); errors.Is(lost, ErrLeaseLost) {
		t.err = errors.Join(lost, t.err)
	}
	cancel(nil)
	close(t.serving)
	t.stop()
}

// shown returns waiting, which may be nil, such that progress tells of it too. It may be called late: who serves waits no more.
func (t *tenure) shown(waiting func(holder string)) func(holder string) {
	return func(holder string) {
		t.mu.Lock()
		if t.serving == nil && !t.over && holder != "" {
			t.progress("waiting for the Lease, which " + holder + " has")
		}
		t.mu.Unlock()
		if waiting != nil {
			waiting(holder)
		}
	}
}

// giveUp ends an election that has not been won.
func (t *tenure) giveUp() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.serving == nil {
		t.stop()
	}
}

func (t *tenure) end(ctx context.Context) error {
	t.mu.Lock()
	t.over = true
	t.progress("")
	serving := t.serving
	t.mu.Unlock()
	if serving == nil {
		return context.Cause(ctx)
	}
	<-serving // held may still be on its way out where the Lease went first
	return t.err
}

// DropLease removes the instance's Lease, which outlives those who held it. Call it when nobody should want it any more.
func (c *Cluster) DropLease(ctx context.Context) error {
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: c.cfg.Namespace, Name: LeaseName(c.cfg.Owner)}}
	if err := c.client.Delete(ctx, lease); err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("remove Lease %s/%s: %w", lease.Namespace, lease.Name, err)
	}
	return nil
}

// LeaseName is the name of an instance's Lease.
func LeaseName(owner string) string { return v1alpha1.ManagedBy + "-" + owner }
