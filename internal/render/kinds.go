package render

import (
	"context"

	"github.com/tidelock/tidelock/api/v1alpha1"
)

// kind is one kind of ours: how its manifests are decoded, and what they become.
type kind struct {
	name string
	// decode returns the resource, or nil where it is refused.
	decode func(c *commit, m manifest) any
	// lower takes what decode returned.
	lower func(ctx context.Context, c *commit, r any)
}

// kinds is the table of all kinds that may stand in a repository. They are lowered in this order.
func kinds() []kind {
	return []kind{
		kindOf(v1alpha1.KindAPIMock, lowerAPIMock),
		kindOf(v1alpha1.KindAt, lowerAt),
		kindOf(v1alpha1.KindTrafficSplit, lowerTrafficSplit),
		kindOf(v1alpha1.KindProxyRoute, lowerProxyRoute),
		kindOf(v1alpha1.KindEnvoyConfig, lowerEnvoyConfig),
	}
}

// kindOf returns the line of the table for a kind whose spec is a Spec.
func kindOf[Spec any](name string, lower func(context.Context, *commit, resource[Spec])) kind {
	return kind{
		name: name,
		decode: func(c *commit, m manifest) any {
			if r, ok := decode[Spec](c, m); ok {
				return r
			}
			return nil
		},
		lower: func(ctx context.Context, c *commit, r any) {
			if r, ok := r.(resource[Spec]); ok {
				lower(ctx, c, r)
			}
		},
	}
}
