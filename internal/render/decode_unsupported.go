package render

import (
	"slices"
	"strings"

	"github.com/tidelock/tidelock/api/v1alpha1"
)

// unsupported says whether a field is part of the API but not of this version: such a field is refused as not supported
// yet, never ignored. Indexes are left out of the path.
func unsupported(kind string, f fieldPath) bool {
	names := make([]string, 0, len(f))
	for _, step := range f {
		if name, ok := step.(string); ok {
			names = append(names, name)
		}
	}
	return slices.Contains(unsupportedFields(kind), strings.Join(names, "."))
}

func unsupportedFields(kind string) []string {
	switch kind {
	case v1alpha1.KindProxyRoute:
		return []string{
			"spec.rules.mirror", "spec.rules.cors", "spec.rules.fault", "spec.rules.rateLimit", "spec.rules.hashPolicy",
			"spec.rules.match.grpc",
			"spec.rules.backend.loadBalancer", "spec.rules.backend.healthCheck", "spec.rules.backend.outlierDetection",
		}
	}
	return nil
}
