package apply

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/tidelock/tidelock/api/v1alpha1"
)

// lookAgain is how long Destroy waits at most before it looks again at what takes its time.
const lookAgain = 2 * time.Second

// Destroy removes everything that the instance owns, what must stay being released, and then its inventory and its Sync.
// It goes on until all is gone or ctx is done. Run must be running, and Open have been called.
func (c *Cluster) Destroy(ctx context.Context) (Result, error) {
	var all Result
	for {
		inv := c.Inventory()
		view, err := c.View(ctx, Declared{}, inv)
		if err != nil {
			return all, err
		}
		plan := NewPlan(Declared{}, inv, view)
		for _, id := range plan.Paused {
			// Somebody asked for it to be left alone; the end of the instance is the end of the claim to it.
			c.ledger.drop(id)
			all.Released = append(all.Released, id)
		}
		res, err := c.Prune(ctx, plan, nil)
		waits, failed := res.Waits, res.Failed
		res.Waits, res.Failed = nil, nil
		all.Add(res)
		if err != nil || len(failed) > 0 {
			all.Failed = failed
			return all, err
		}
		left := len(c.Inventory().Entries)
		if left == 0 {
			return all, c.forget(ctx)
		}
		all.Waits = waits
		timer := time.NewTimer(lookAgain)
		select {
		case <-ctx.Done():
			timer.Stop()
			return all, fmt.Errorf("destroy %s: %d objects are left (%s): %w", c.cfg.Owner, left,
				firstOf(c.Inventory().IDs()), context.Cause(ctx))
		case <-c.Changed():
		case <-timer.C:
		}
		timer.Stop()
		all.Waits = nil
	}
}

// forget removes the inventory, the ledger of schedules and the Sync of an instance that owns nothing.
func (c *Cluster) forget(ctx context.Context) error {
	for _, label := range []string{labelInventory, v1alpha1.LabelLedger} {
		err := c.client.DeleteAllOf(ctx, &corev1.ConfigMap{}, client.InNamespace(c.cfg.Namespace),
			client.MatchingLabels{label: c.cfg.Owner})
		if err != nil {
			return fmt.Errorf("remove the ConfigMaps with the label %s: %w", label, err)
		}
	}
	c.ledger = newLedger(c.cfg)
	u := addressOf(Change{ID: c.syncID()}, v1alpha1.GroupVersion().Version)
	if err := c.client.Delete(ctx, u); err != nil && !apierrors.IsNotFound(err) && !meta.IsNoMatchError(err) {
		return fmt.Errorf("remove %s: %w", c.syncID(), err)
	}
	return nil
}
