// Package outputs pins the modules that carry the definitions of Istio's and Gateway API's kinds, for tests that apply them
// to a real API server. It is a module of its own, so that they stay out of the product's.
package outputs

import (
	_ "istio.io/api/annotation"            // its module holds kubernetes/customresourcedefinitions.gen.yaml
	_ "sigs.k8s.io/gateway-api/pkg/consts" // its module holds config/crd/standard
)
