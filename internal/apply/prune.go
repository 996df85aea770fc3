package apply

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/tidelock/tidelock/internal/desired"
)

// Prune ends what left the repository, in reverse order of the stages: it is deleted if it is still ours, else released.
// keep says of an object why it has to stay for now, or ""; nil keeps nothing. An entry leaves the inventory when its
// object is known to be gone or released; what takes longer, or was kept, comes back as waits. What older pods of a
// workload may need is kept until that has rolled out. Where nothing is to end no request is made.
func (c *Cluster) Prune(ctx context.Context, p Plan, keep func(desired.ID) string) (Result, error) {
	if len(p.Prunes) == 0 {
		return Result{}, nil
	}
	x := &pruning{c: c, left: map[string]bool{}}
	due := slices.DeleteFunc(slices.Clone(p.Prunes), func(ch Change) bool { return x.stays(ch, keep) })
	sortWaits(x.res.Kept)
	if len(due) == 0 {
		sortWaits(x.res.Waits)
		return x.res, nil
	}
	var err error
	if x.claimed, err = c.claimed(ctx); err != nil {
		return Result{}, err
	}
	for _, changes := range byStage(due) {
		var g errgroup.Group
		g.SetLimit(c.cfg.Parallel)
		for _, ch := range changes {
			g.Go(func() error {
				x.end(ctx, ch)
				return nil
			})
		}
		_ = g.Wait() // what came of each is in x
	}
	sortIDs(x.res.Pruned, x.res.Released)
	sortFailures(x.res.Failed)
	sortWaits(x.res.Waits)
	return x.res, c.save(ctx)
}

// claimed returns what other instances want, by what they noted in their inventories.
func (c *Cluster) claimed(ctx context.Context) (map[desired.ID]string, error) {
	var list corev1.ConfigMapList
	err := c.client.List(ctx, &list, client.HasLabels{labelInventory})
	if apierrors.IsForbidden(err) {
		err = c.client.List(ctx, &list, client.HasLabels{labelInventory}, client.InNamespace(c.cfg.Namespace))
	}
	if err != nil {
		return nil, fmt.Errorf("read the claims of other instances: %w", err)
	}
	out := map[desired.ID]string{}
	for i := range list.Items {
		cm := &list.Items[i]
		who := cm.Labels[labelInventory]
		if who == c.cfg.Owner && cm.Namespace == c.cfg.Namespace {
			continue
		}
		claims, err := unpackClaims(cm)
		if err != nil {
			return nil, fmt.Errorf("read the claims in ConfigMap %s/%s: %w", cm.Namespace, cm.Name, err)
		}
		for id, owner := range claims {
			if owner == c.cfg.Owner {
				out[id] = who
			}
		}
	}
	return out, nil
}

// pruning is one run of Prune.
type pruning struct {
	c       *Cluster
	claimed map[desired.ID]string

	mu  sync.Mutex
	res Result
	// left is what something that is still there needs: "ns/<namespace>", "kind/<group kind>", "named/<object>".
	left map[string]bool
}

// stays notes that an object has to stay for now, if it has.
func (x *pruning) stays(ch Change, keep func(desired.ID) string) bool {
	if keep != nil {
		if why := keep(ch.ID); why != "" {
			x.wait(ch, why)
			return true
		}
	}
	h, held := x.held(ch)
	switch {
	case !held:
		return false
	case h.meant:
		x.hold(ch)
		x.res.Kept = append(x.res.Kept, desired.Wait{For: ch.String(), Until: h.String()})
	default:
		x.wait(ch, h.String())
	}
	return true
}

// held finds the workload whose older pods may need an object that is to be deleted.
func (x *pruning) held(ch Change) (hold, bool) {
	i := slices.IndexFunc(ch.holds, func(h hold) bool { return !x.c.cfg.podless(h.source) })
	if i < 0 || ch.Action != Delete {
		return hold{}, false
	}
	return ch.holds[i], true
}

// end ends one object.
func (x *pruning) end(ctx context.Context, ch Change) {
	if until := x.holds(ch); until != "" {
		x.wait(ch, until)
		return
	}
	found, err := x.resolve(ctx, &ch)
	switch {
	case err != nil:
		x.fail(ch, err)
		return
	case !found:
		x.pruned(ch)
		return
	}
	if ch.Action == Release {
		x.release(ctx, ch)
		return
	}
	x.remove(ctx, ch)
}

// resolve finds out what the end of an object comes to: it is gone (found is false), or it is deleted, or released.
func (x *pruning) resolve(ctx context.Context, ch *Change) (found bool, err error) {
	if ch.Live == nil {
		if found, err = x.look(ctx, ch); err != nil || !found {
			return false, err
		}
	}
	if who := x.claimed[ch.ID]; who != "" && ch.Action == Delete {
		ch.Action, ch.Reason = Release, fmt.Sprintf("Tidelock instance %q wants it", who)
	}
	return true, nil
}

// look reads an object that the view does not show: it is gone, or its label is. found is false where it is gone.
func (x *pruning) look(ctx context.Context, ch *Change) (found bool, err error) {
	u, err := x.c.readOwned(ctx, *ch)
	if err != nil {
		if isMissing(err) { // also a kind that is gone with its definition
			return false, nil
		}
		return false, err
	}
	live := observe(u)
	ch.Live = &live
	switch {
	case live.Owner != x.c.cfg.Owner:
		ch.Action, ch.Reason = Release, "carries our label no longer"
	case !ch.owned.owns(&live):
		ch.Action, ch.Reason = Release, "somebody replaced it"
	default:
		if why := keeps(ch.ID, live); why != "" {
			ch.Action, ch.Reason = Release, why
		}
	}
	return true, nil
}

// release gives an object up. Our marks are taken off only if the object is ours.
func (x *pruning) release(ctx context.Context, ch Change) {
	if ch.Live.Owner == x.c.cfg.Owner && ch.owned.owns(ch.Live) {
		x.c.view.begin(ch.ID)
		err := x.c.letGo(ctx, ch, *ch.Live)
		if err != nil && !apierrors.IsNotFound(err) {
			x.c.view.end(ch.Live.gvk(), ch.ID, nil)
			x.refused(ch, err)
			return
		}
		x.c.view.ended(ch.ID, ch.Live.UID) // without our label it leaves the view
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.c.ledger.drop(ch.ID)
	x.res.Released = append(x.res.Released, ch.ID)
}

func (x *pruning) remove(ctx context.Context, ch Change) {
	if ch.Live.Deleting {
		x.wait(ch, ch.Live.ending())
		return
	}
	x.c.view.begin(ch.ID)
	err := x.delete(ctx, &ch)
	if err == nil && endsAtOnce(ch.ID, *ch.Live) || isMissing(err) {
		x.c.view.ended(ch.ID, ch.Live.UID)
		x.pruned(ch)
		return
	}
	x.c.view.end(ch.Live.gvk(), ch.ID, nil)
	if err != nil {
		x.refused(ch, err)
		return
	}
	x.wait(ch, ch.Live.ending())
}

// delete deletes exactly the object that was seen. Where it changed since (a status does, all the time), or its version is
// served no longer, it is looked at once more.
func (x *pruning) delete(ctx context.Context, ch *Change) error {
	background := client.PropagationPolicy("Background")
	u := addressOf(*ch, ch.Live.version)
	err := x.c.client.Delete(ctx, u, precondition(*ch.Live), background)
	if !apierrors.IsConflict(err) && !isVersionMissing(err) {
		return err
	}
	seen := ch.Live.UID
	found, lookErr := x.look(ctx, ch)
	switch {
	case lookErr != nil:
		return lookErr
	case !found:
		return nil
	case ch.Action != Delete, ch.Live.UID != seen:
		return apierrors.NewConflict(groupResource(ch.ID), ch.Name, errors.New("it is not what was seen"))
	}
	return x.c.client.Delete(ctx, addressOf(*ch, ch.Live.version), precondition(*ch.Live), background)
}

// holds keeps a Namespace or a definition until what we own in it is gone, and what pods name until their workload is.
func (x *pruning) holds(ch Change) string {
	x.mu.Lock()
	defer x.mu.Unlock()
	switch {
	case ch.Action != Delete:
	case isNamespace(ch.GroupKind()) && x.left["ns/"+ch.Name]:
		return "the objects in it to be gone"
	case isDefinition(ch.GroupKind()) && x.left["kind/"+ch.Name]:
		return "the objects of its kind to be gone"
	case x.left["named/"+ch.ID.String()]:
		return "the pods that name it to be gone"
	}
	return ""
}

func (x *pruning) pruned(ch Change) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.c.ledger.drop(ch.ID)
	x.res.Pruned = append(x.res.Pruned, ch.ID)
}

func (x *pruning) refused(ch Change, err error) {
	if isConflict(err) {
		x.wait(ch, "the next look: it changed meanwhile")
		return
	}
	x.fail(ch, err)
}

func (x *pruning) fail(ch Change, err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.hold(ch)
	err = fmt.Errorf("prune %s: %w", ch.ID, err)
	x.res.Failed = append(x.res.Failed, Failure{ID: ch.ID, Origin: ch.owned.Origin, Err: err})
}

func (x *pruning) wait(ch Change, until string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.hold(ch)
	x.res.Waits = append(x.res.Waits, desired.Wait{For: "prune " + ch.String(), Until: until})
}

// hold notes that an object is still there, for the Namespace and the definition that it needs, and for what its pods name.
func (x *pruning) hold(ch Change) {
	x.left["ns/"+ch.Namespace] = true
	if m, err := x.c.mapper.RESTMapping(ch.GroupKind()); err == nil {
		x.left["kind/"+m.Resource.Resource+"."+ch.Group] = true
	}
	names := splitNames(ch.owned.Earlier)
	if ch.Live != nil {
		names = append(names, ch.Live.named...)
	}
	for _, name := range names {
		x.left["named/"+idNamed(ch.ID, name).String()] = true
	}
}
