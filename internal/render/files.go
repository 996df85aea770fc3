package render

import (
	"bytes"
	"path"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/tidelock/tidelock/api/v1alpha1"
	"github.com/tidelock/tidelock/internal/desired"
)

// item is a manifest and what it was made from.
type item struct {
	manifest
	// doc is the document of origin, before kustomize; zero where there is none (a generator made the object).
	doc document
	// from is the build that made it; nil for a plain file.
	from *built
}

// parsed returns what a YAML or JSON file holds, from the cache where its content is known.
func (t *tree) parsed(c *Cache, name string) (parsed, error) {
	info, err := t.Stat(name)
	if err != nil {
		return parsed{}, err
	}
	if info.IsDir() {
		return parsed{}, &badPath{path: name, why: "is a folder"}
	}
	hash, err := t.hash(name, info)
	if err != nil {
		return parsed{}, err
	}
	key := hash
	if isJSON(name) {
		key = "json " + hash
	}
	return c.file(key, func() (parsed, error) {
		data, err := t.ReadFile(name)
		if err != nil {
			return parsed{}, err
		}
		if isJSON(name) {
			// JSON may be indented with tabs, YAML may not; within a JSON string a tab is always escaped.
			data = bytes.ReplaceAll(data, []byte("\t"), []byte(" "))
		}
		return parseYAML(data), nil
	})
}

func isJSON(name string) bool { return strings.EqualFold(path.Ext(name), ".json") }

func isYAML(name string) bool {
	ext := strings.ToLower(path.Ext(name)) // A.YAML from another system must not be left out in silence
	return ext == ".yaml" || ext == ".yml"
}

// newManifest returns the manifest of a document, or what it lacks to be one.
func newManifest(at desired.Origin, content map[string]any) (manifest, string) {
	u := &unstructured.Unstructured{Object: content}
	apiVersion, kind := textAt(content, "apiVersion"), textAt(content, "kind")
	if apiVersion == "" && kind == "" {
		return manifest{}, "not a Kubernetes manifest (no apiVersion and kind): name the file in .tidelockignore, " +
			"or correct it"
	}
	if apiVersion == "" {
		return manifest{}, "apiVersion is missing"
	}
	if kind == "" {
		return manifest{}, "kind is missing"
	}
	gv, err := schema.ParseGroupVersion(apiVersion)
	if err != nil {
		return manifest{}, "apiVersion: want group/version"
	}
	name := textAt(content, "metadata", "name")
	if gv.Group == v1alpha1.Group && kind == v1alpha1.KindConfig {
		return manifest{}, "a Config is read from " + v1alpha1.ConfigFile + " at the root of the path alone: remove it here"
	}
	if name == "" {
		if textAt(content, "metadata", "generateName") != "" {
			return manifest{}, kind + ": metadata.name is missing: generateName would make a new object at each commit"
		}
		return manifest{}, kind + ": metadata.name is missing, or not a string"
	}
	return manifest{
		ID: desired.ID{
			Group: gv.Group, Kind: kind, Namespace: textAt(content, "metadata", "namespace"), Name: name,
		},
		version: gv.Version,
		origin:  at,
		content: u,
	}, ""
}
