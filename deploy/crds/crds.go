// Package crds holds the CustomResourceDefinitions of tidelock.dev as generated from api/v1alpha1: the daemon installs
// them, and render checks manifests against their schemas, so that a pull request and the API server refuse the same.
package crds

import (
	"embed"
)

// FS holds one YAML file a kind, named "tidelock.dev_<plural>.yaml".
//
//go:embed tidelock.dev_*.yaml
var FS embed.FS
