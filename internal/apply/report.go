package apply

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/tidelock/tidelock/api/v1alpha1"
	"github.com/tidelock/tidelock/internal/desired"
)

// ObjectStatus is the status of one resource of ours.
type ObjectStatus struct {
	desired.ID
	// Status is one of the status types of v1alpha1. A condition without a lastTransitionTime gets the right one.
	Status any
}

// told is what was reported last, so that nothing is written twice.
type told struct {
	mu     sync.Mutex // the watch of the Sync reads and writes too
	sync   syncSeen
	status map[desired.ID]string
}

// syncSeen is the Sync as the watch shows it.
type syncSeen struct {
	known  bool
	uid    types.UID
	spec   v1alpha1.SyncSpec
	gen    int64
	status string
}

// Report writes where the instance stands on its Sync, which it makes if it is not there, and the statuses of resources of
// ours. What did not change since it was written last is not written again. Resources that are gone meanwhile are left out.
func (c *Cluster) Report(ctx context.Context, s v1alpha1.SyncStatus, objects []ObjectStatus) error {
	id := c.syncID()
	if !c.told.syncKnown() {
		if err := c.makeSync(ctx); err != nil {
			return err
		}
	}
	if err := c.report(ctx, ObjectStatus{ID: id, Status: s}); err != nil {
		return err
	}
	kept := map[desired.ID]bool{id: true}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(c.cfg.Parallel)
	for _, o := range objects {
		kept[o.ID] = true
		g.Go(func() error { return c.report(ctx, o) })
	}
	err := g.Wait()
	c.told.forget(kept)
	return err
}

func (c *Cluster) syncID() desired.ID {
	return desired.ID{Group: v1alpha1.Group, Kind: v1alpha1.KindSync, Namespace: c.cfg.Namespace, Name: c.cfg.Owner}
}

func (c *Cluster) makeSync(ctx context.Context) error {
	id := c.syncID()
	u := addressOf(Change{ID: id}, v1alpha1.GroupVersion().Version)
	u.SetLabels(map[string]string{v1alpha1.LabelManagedBy: v1alpha1.ManagedBy})
	u.Object["spec"] = map[string]any{}
	if err := c.client.Create(ctx, u, manager); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("make %s: %w", id, err)
	}
	c.told.madeSync(u.GetUID(), u.GetGeneration())
	return nil
}

func (c *Cluster) report(ctx context.Context, o ObjectStatus) error {
	fields, err := statusFields(o.Status)
	if err != nil {
		return fmt.Errorf("report on %s: %w", o.ID, err)
	}
	plain := withoutTimes(fields)
	// Of the Sync the watch comes late; of the others the view knows our own writes, and an object that was made anew.
	last, told := c.told.last(o.ID)
	if o.ID != c.syncID() || !told {
		last = c.shown(o.ID)
	}
	if last == plain {
		return nil
	}
	if err := c.writeStatus(ctx, o.ID, fields); err != nil {
		if apierrors.IsNotFound(err) || apierrors.IsConflict(err) { // it is gone, or another by now
			c.told.lost(o.ID)
		}
		if apierrors.IsNotFound(err) { // which our watch will show; of a conflict it may have nothing to show
			return nil
		}
		return fmt.Errorf("report on %s: %w", o.ID, err)
	}
	c.told.set(o.ID, plain)
	return nil
}

// shown returns the status that a resource has by our watches, or "".
func (c *Cluster) shown(id desired.ID) string {
	if id == c.syncID() {
		c.told.mu.Lock()
		defer c.told.mu.Unlock()
		return c.told.sync.status
	}
	live, _ := c.view.ours(id)
	return live.status
}

// plainStatus returns an object's status as withoutTimes writes it.
func plainStatus(u *unstructured.Unstructured) string {
	fields, _, _ := unstructured.NestedMap(u.Object, "status")
	if fields == nil {
		return ""
	}
	return withoutTimes(fields)
}

func statusFields(status any) (map[string]any, error) {
	b, err := json.Marshal(status)
	if err != nil {
		return nil, err
	}
	var fields map[string]any
	return fields, json.Unmarshal(b, &fields)
}

// withoutTimes encodes a status without the times of its conditions, which are not content.
func withoutTimes(fields map[string]any) string {
	plain := maps.Clone(fields)
	list, _ := fields["conditions"].([]any)
	conditions := make([]any, len(list))
	for i, item := range list {
		m, _ := item.(map[string]any)
		m = maps.Clone(m)
		delete(m, "lastTransitionTime")
		conditions[i] = m
	}
	plain["conditions"] = conditions
	return encodeValue(plain)
}

// transition is since when a condition has the status that it has, as it is written.
type transition struct{ kind, status, at string }

func transitions(u *unstructured.Unstructured) []transition {
	list, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
	out := make([]transition, 0, len(list))
	for _, item := range list {
		m, _ := item.(map[string]any)
		text := func(name string) string {
			s, _ := m[name].(string)
			return s
		}
		out = append(out, transition{kind: text("type"), status: text("status"), at: text("lastTransitionTime")})
	}
	return out
}

// writeStatus writes a status whole. What our watch does not show is asked for first. The write is an echo to our own watch,
// and wakes nobody.
func (c *Cluster) writeStatus(ctx context.Context, id desired.ID, fields map[string]any) error {
	version := v1alpha1.GroupVersion().Version
	u := addressOf(Change{ID: id}, version)
	seen, ok := c.view.ours(id)
	if !ok {
		if err := c.client.Get(ctx, client.ObjectKeyFromObject(u), u); err != nil {
			return err
		}
		seen = observe(u)
	}
	keepTimes(fields, seen.since, c.now())
	body, err := encode(map[string]any{
		"apiVersion": v1alpha1.GroupVersion().String(), "kind": id.Kind,
		"metadata": map[string]any{"name": id.Name, "namespace": id.Namespace, "uid": seen.UID},
		"status":   fields,
	})
	if err != nil {
		return err
	}
	gvk := id.GroupKind().WithVersion(version)
	c.view.begin(id)
	err = c.client.Status().Patch(ctx, u, client.RawPatch(types.ApplyPatchType, body), manager, client.ForceOwnership)
	if err != nil {
		c.view.end(gvk, id, nil)
		return err
	}
	live := observe(u)
	if live.Owner == c.cfg.Owner {
		c.view.end(gvk, id, &live)
	} else {
		c.view.end(gvk, id, nil)
	}
	return nil
}

// keepTimes gives conditions their lastTransitionTime: the one that they have where their status is the same, else now.
func keepTimes(fields map[string]any, have []transition, now time.Time) {
	list, _ := fields["conditions"].([]any)
	for _, item := range list {
		condition, _ := item.(map[string]any)
		if at, _ := condition["lastTransitionTime"].(string); at != "" {
			continue
		}
		condition["lastTransitionTime"] = now.UTC().Format(time.RFC3339)
		for _, old := range have {
			if old.kind == condition["type"] && old.status == condition["status"] && old.at != "" {
				condition["lastTransitionTime"] = old.at
			}
		}
	}
}

func (t *told) last(id desired.ID) (string, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	last, ok := t.status[id]
	return last, ok
}

func (t *told) set(id desired.ID, status string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.status == nil {
		t.status = map[desired.ID]string{}
	}
	t.status[id] = status
}

func (t *told) lost(id desired.ID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.status, id)
	if id.Kind == v1alpha1.KindSync {
		t.sync.known = false
	}
}

func (t *told) forget(kept map[desired.ID]bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	maps.DeleteFunc(t.status, func(id desired.ID, _ string) bool { return !kept[id] })
}

func (t *told) syncKnown() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.sync.known
}

func (t *told) syncUID() types.UID {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.sync.uid
}

func (t *told) madeSync(uid types.UID, generation int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sync.known, t.sync.uid, t.sync.gen = true, uid, generation
}
