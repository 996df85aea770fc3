package apply

import (
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/tidelock/tidelock/api/v1alpha1"
	"github.com/tidelock/tidelock/internal/desired"
)

// errDeleting says that an object is on its way out and must be gone first.
var errDeleting = errors.New("it is being deleted")

// write makes one change and returns what it left.
func (c *Cluster) write(ctx context.Context, ch Change) (Live, error) {
	gvk := ch.Object.GVK()
	c.view.begin(ch.ID)
	live, err := c.writeObject(ctx, ch)
	if err != nil {
		c.view.end(gvk, ch.ID, nil)
		return Live{}, fmt.Errorf("apply %s: %w", ch.ID, err)
	}
	c.view.end(gvk, ch.ID, &live)
	return live, nil
}

func (c *Cluster) writeObject(ctx context.Context, ch Change) (Live, error) {
	if ch.Action == Recreate {
		if err := c.remove(ctx, ch); err != nil {
			return Live{}, err
		}
		ch.Live = nil
	}
	u, err := c.body(ctx, ch)
	if err != nil {
		return Live{}, err
	}
	if ch.Live == nil {
		return c.create(ctx, ch, u)
	}
	resourceVersion := u.GetResourceVersion()
	if ch.Action == Adopt {
		resourceVersion = ch.Live.ResourceVersion
	}
	if ch.keepsReplicas {
		if resourceVersion, err = c.handReplicas(ctx, ch, resourceVersion); err != nil {
			return Live{}, err
		}
	}
	if takesOver(ch) {
		if resourceVersion, err = c.takeOver(ctx, ch); err != nil {
			return Live{}, err
		}
	}
	pin(u, ch.Live.UID, resourceVersion)
	if err := c.apply(ctx, u, manager, asForced); err != nil {
		return Live{}, err
	}
	return observe(u), nil
}

// create makes an object that nobody had when we looked. It is not forced: where somebody made it meanwhile with other
// values the server says so, and the next look decides.
func (c *Cluster) create(ctx context.Context, ch Change, u *unstructured.Unstructured) (Live, error) {
	if err := c.apply(ctx, u, manager); err != nil {
		return Live{}, err
	}
	live := observe(u)
	if live.Foreign == "" || live.rival == "" {
		return live, nil
	}
	if err := c.letGo(ctx, ch, live); err != nil {
		return Live{}, err
	}
	return Live{}, fmt.Errorf("%w: %s made it at the same moment", ErrOwned, live.Foreign)
}

// remove deletes an object that is made anew.
func (c *Cluster) remove(ctx context.Context, ch Change) error {
	u := addressOf(ch, ch.Object.Version)
	err := c.client.Delete(ctx, u, precondition(*ch.Live), client.PropagationPolicy("Background"))
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("delete it to make it anew: %w", err)
	}
	if !endsAtOnce(ch.ID, *ch.Live) {
		return errDeleting
	}
	return nil
}

// letGo takes our marks off a live object; its content stays.
func (c *Cluster) letGo(ctx context.Context, ch Change, live Live) error {
	metadata := map[string]any{
		"uid": live.UID, "resourceVersion": live.ResourceVersion,
		"labels":      map[string]any{v1alpha1.LabelOwner: nil, v1alpha1.LabelManagedBy: nil},
		"annotations": map[string]any{v1alpha1.AnnotationDigest: nil},
	}
	data, err := encode(map[string]any{"metadata": metadata})
	if err != nil {
		return err
	}
	u := addressOf(ch, live.version)
	return c.client.Patch(ctx, u, client.RawPatch(types.MergePatchType, data), manager)
}

func addressOf(ch Change, version string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(ch.GroupKind().WithVersion(version))
	u.SetNamespace(ch.Namespace)
	u.SetName(ch.Name)
	return u
}

// precondition makes a delete fail where the object is not exactly the one that was seen.
func precondition(live Live) client.Preconditions {
	return client.Preconditions{UID: &live.UID, ResourceVersion: &live.ResourceVersion}
}

// endsAtOnce says that an object is gone when its delete is answered.
func endsAtOnce(id desired.ID, live Live) bool {
	graceful := []string{"Pod", "Namespace"}
	return live.finalizers == "" && (id.Group != "" || !slices.Contains(graceful, id.Kind))
}
