package render

import (
	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/tidelock/tidelock/api/v1alpha1"
	"github.com/tidelock/tidelock/internal/desired"
)

// manifest is one document of the repository after kustomize, before it is lowered.
type manifest struct {
	desired.ID
	version string
	// origin is the file that the document stands in (after a patch, the file of origin) and its first line where known.
	origin desired.Origin
	// node is the document as it stands in the file, with lines; nil where kustomize changed it.
	node *yaml.Node
	// source is the document of the file also where kustomize changed it; nil where there is none.
	source *yaml.Node
	// content is the document as it will be applied.
	content *unstructured.Unstructured
}

// lowering is what lower works on: the manifests of a whole commit, and what they may refer to.
type lowering struct {
	// ours are the manifests of group tidelock.dev, sorted by ID.
	ours []manifest
	// others are all the rest, sorted by ID.
	others []manifest
	// tree reads files of the repository; names are slash-separated from the repository's root. It resolves links,
	// refuses what leads out of the repository, and bounds sizes.
	tree *tree
	// cache keeps what earlier renders made of descriptions that did not change.
	cache *Cache
	// defaults of the repository's tidelock.yaml and the daemon.
	defaults v1alpha1.MockDefaults
}

// lowered is what manifests of ours become. The custom resources themselves are not in Objects; render adds them.
type lowered struct {
	objects   []desired.Object
	routes    []desired.Route
	schedules []desired.Schedule
	splits    []desired.Split
	warnings  []desired.Problem
}
