package render

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/tidelock/tidelock/api/v1alpha1"
)

// maxAnnotations is how much the annotations of one object may hold, in bytes, as with the API server.
const maxAnnotations = 256 << 10

// shape refuses what the API server would refuse of any object, and what is never read from a repository.
func (c *checked) shape(s scopes, removed map[schema.GroupVersionKind]string) {
	if c.Group == v1alpha1.Group && c.Kind == v1alpha1.KindSync {
		c.refuse(field("kind"), "a Sync is written by the daemon and never read from the repository: remove it")
	}
	if text := removed[schema.GroupVersionKind{Group: c.Group, Version: c.version, Kind: c.Kind}]; text != "" {
		c.refuse(field("apiVersion"), "%s", text)
	} else if f, text := s.misnamed(c.GroupKind(), c.version); text != "" {
		c.refuse(f, "%s", text)
	}
	if _, encrypted := valueAt(c.content.Object, "sops", "mac").(string); encrypted {
		c.refuse(field("sops"), "is encrypted by SOPS, and nothing decrypts it here: have the cluster do that (External Secrets, "+
			"Sealed Secrets), or leave the file out in %s", ignoreFile)
	}
	c.names(s)
	c.labels()
}

// names checks the object's name and namespace.
func (c *checked) names(s scopes) {
	_, known := s[c.GroupKind()]
	isLabel := c.Group == "" && (c.Kind == "Namespace" || c.Kind == "Service")
	switch bad := content.IsPathSegmentName(c.Name); {
	case len(bad) > 0:
		c.refuse(field("metadata", "name"), "%s", bad[0])
	case len(c.Name) > validation.DNS1123SubdomainMaxLength:
		c.refuse(field("metadata", "name"), "longer than %d characters", validation.DNS1123SubdomainMaxLength)
	case isLabel && len(validation.IsDNS1123Label(c.Name)) > 0:
		c.refuse(field("metadata", "name"), "want lower-case letters, digits and '-', at most 63")
	case (known || c.Group == v1alpha1.Group) && !c.freelyNamed() && len(validation.IsDNS1123Subdomain(c.Name)) > 0:
		c.refuse(field("metadata", "name"), "want lower-case letters, digits, '-' and '.'")
	}
	metadata, _ := c.content.Object["metadata"].(map[string]any)
	ns, set := metadata["namespace"]
	if !set || ns == nil {
		return
	}
	text, ok := ns.(string)
	switch {
	case !ok:
		c.refuse(field("metadata", "namespace"), "want a string: put it in quotes")
	case text != "" && len(validation.IsDNS1123Label(text)) > 0:
		c.refuse(field("metadata", "namespace"), "want lower-case letters, digits and '-', at most 63")
	}
}

// freelyNamed reports whether names of this kind may hold what those of other built-in kinds may not (system:node).
func (c *checked) freelyNamed() bool {
	return c.Group == "rbac.authorization.k8s.io" || c.Kind == "IPAddress" || c.Kind == "ClusterTrustBundle"
}

// labels checks labels and annotations.
func (c *checked) labels() {
	metadata, _ := c.content.Object["metadata"].(map[string]any)
	labels := c.stringsIn(field("metadata", "labels"), metadata["labels"])
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		f := field("metadata", "labels", key)
		if len(content.IsLabelKey(key)) > 0 {
			c.refuse(f, "is no name of a label: want letters, digits, '-', '_' and '.', at most 63, after a domain and '/' at most")
		}
		if len(content.IsLabelValue(labels[key])) > 0 {
			c.refuse(f, "want letters, digits, '-', '_' and '.' in the value, at most 63, with a letter or digit at both ends")
		}
	}
	annotations := c.stringsIn(field("metadata", "annotations"), metadata["annotations"])
	total := 0
	for _, key := range slices.Sorted(maps.Keys(annotations)) {
		total += len(key) + len(annotations[key])
		if len(content.IsLabelKey(strings.ToLower(key))) > 0 {
			c.refuse(field("metadata", "annotations", key),
				"is no name of an annotation: want letters, digits, '-', '_' and '.', at most 63, after a domain and '/' at most")
		}
	}
	if total > maxAnnotations {
		c.refuse(field("metadata", "annotations"), "hold %d KiB: at most %d fit", total>>10, maxAnnotations>>10)
	}
}

// stringsIn returns the strings of labels, annotations or data, and refuses other values: true and 1 without quotes.
func (c *checked) stringsIn(f fieldPath, v any) map[string]string {
	if v == nil {
		return nil
	}
	m, ok := v.(map[string]any)
	if !ok {
		c.refuse(f, "want keys and values, got %s", typeName(v))
		return nil
	}
	out := make(map[string]string, len(m))
	for _, key := range slices.Sorted(maps.Keys(m)) {
		text, ok := m[key].(string)
		if !ok {
			c.refuse(f.child(key), "want a string, got %s: put it in quotes", typeName(m[key]))
			continue
		}
		out[key] = text
	}
	return out
}
