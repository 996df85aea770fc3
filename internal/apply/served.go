package apply

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// readOwned reads an object that we own. The version that it was written in may be served no longer, and the object be there
// in another: it is gone only where no version of its kind is served, or none has it.
func (c *Cluster) readOwned(ctx context.Context, ch Change) (*unstructured.Unstructured, error) {
	u, err := c.read(ctx, ch)
	if !isVersionMissing(err) {
		return u, err
	}
	version, lookErr := c.servedVersion(ctx, ch.GroupKind())
	switch {
	case lookErr != nil:
		return nil, lookErr
	case version == "" || version == ch.owned.Version:
		return nil, err
	}
	ch.owned.Version = version
	return c.read(ctx, ch)
}

// isVersionMissing says that the API server does not know the kind in the version that it was asked for, which is not to
// say that it does not have the object.
func isVersionMissing(err error) bool {
	return meta.IsNoMatchError(err) || apierrors.IsNotFound(err) && apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse)
}

// servedVersion returns a version in which a kind is served, or "" where there is none. It asks the API server, whatever was
// known before. That a part of the API is out of reach is an error: it may have the kind.
func (c *Cluster) servedVersion(ctx context.Context, gk schema.GroupKind) (string, error) {
	groups, err := c.discovery.ServerGroupsWithContext(ctx)
	if err != nil {
		return "", fmt.Errorf("ask which versions of %s are served: %w", gk, err)
	}
	for _, group := range groups.Groups {
		if group.Name != gk.Group {
			continue
		}
		for _, v := range group.Versions {
			list, err := c.discovery.ServerResourcesForGroupVersionWithContext(ctx, v.GroupVersion)
			if apierrors.IsNotFound(err) {
				continue
			}
			if err != nil {
				return "", fmt.Errorf("ask whether %s is served in %s: %w", gk.Kind, v.GroupVersion, err)
			}
			if slices.ContainsFunc(list.APIResources, func(r metav1.APIResource) bool { return r.Kind == gk.Kind }) {
				return v.Version, nil
			}
		}
	}
	return "", nil
}
