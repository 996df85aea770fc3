package apply

import (
	"context"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/tidelock/tidelock/api/v1alpha1"
)

// strict makes the server refuse unknown and duplicate fields.
const strict = client.FieldValidation("Strict")

// applyMode is how a server-side apply is meant.
type applyMode int

const (
	asDryRun applyMode = iota
	asForced           // takes fields from other managers
)

// apply makes one server-side apply; u becomes the server's answer.
func (c *Cluster) apply(ctx context.Context, u *unstructured.Unstructured, as client.FieldOwner, modes ...applyMode) error {
	b, err := json.Marshal(u.Object)
	if err != nil {
		return fmt.Errorf("encode %s: %w", identify(u), err)
	}
	opts := []client.PatchOption{as, strict}
	for _, m := range modes {
		switch m {
		case asDryRun:
			opts = append(opts, client.DryRunAll)
		case asForced:
			opts = append(opts, client.ForceOwnership)
		}
	}
	gk := u.GroupVersionKind().GroupKind()
	return guard(gk, c.client.Patch(ctx, u, client.RawPatch(types.ApplyPatchType, b), opts...))
}

// body returns what is applied for a change. Where the manifest ignores fields, their live values are in it, and it is
// pinned to the object that they were read from.
func (c *Cluster) body(ctx context.Context, ch Change) (*unstructured.Unstructured, error) {
	u, err := c.unlabelled(ctx, ch)
	if err != nil {
		return nil, err
	}
	stamp(u, c.cfg.Owner, ch.digest)
	return u, nil
}

func (c *Cluster) unlabelled(ctx context.Context, ch Change) (*unstructured.Unstructured, error) {
	u, err := content(*ch.Object)
	if err != nil {
		return nil, err
	}
	u.SetNamespace(ch.Namespace)
	ignored, err := parseIgnored(u.GetAnnotations()[v1alpha1.AnnotationIgnore])
	if err != nil || ignored == nil {
		return u, err
	}
	live, err := c.read(ctx, ch)
	if apierrors.IsNotFound(err) {
		return u, nil
	}
	if err != nil {
		return nil, err
	}
	ignored.keep(u.Object, live.Object)
	pin(u, live.GetUID(), live.GetResourceVersion())
	return u, nil
}

// read gets the live object of a change.
func (c *Cluster) read(ctx context.Context, ch Change) (*unstructured.Unstructured, error) {
	u := &unstructured.Unstructured{}
	version := ch.owned.Version
	if ch.Object != nil {
		version = ch.Object.Version
	}
	u.SetGroupVersionKind(ch.GroupKind().WithVersion(version))
	err := c.client.Get(ctx, client.ObjectKey{Namespace: ch.Namespace, Name: ch.Name}, u)
	return u, err
}
