package render

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/tidelock/tidelock/api/v1alpha1"
)

// ourAnnotations are those that a manifest may carry, with the values that mean something; nil where those are checked
// elsewhere.
func ourAnnotations() map[string][]string {
	return map[string][]string{
		v1alpha1.AnnotationPrune:     {v1alpha1.Enabled, v1alpha1.Disabled},
		v1alpha1.AnnotationReconcile: {v1alpha1.Enabled, v1alpha1.Disabled},
		v1alpha1.AnnotationRecreate:  {v1alpha1.Enabled, v1alpha1.Disabled},
		v1alpha1.AnnotationAdopt:     {"true", "false"},
		v1alpha1.AnnotationSwitch:    nil,
		v1alpha1.AnnotationIgnore:    nil,
	}
}

// annotations refuses what is written to us and would do nothing: who mistypes a protection must not believe in it.
func (c *checked) annotations() {
	known := ourAnnotations()
	set := c.content.GetAnnotations()
	for _, name := range slices.Sorted(maps.Keys(set)) {
		if !strings.HasPrefix(name, v1alpha1.Group+"/") || notFromGit(name) {
			continue
		}
		at := field("metadata", "annotations", name)
		values, ok := known[name]
		switch {
		case !ok:
			c.refuse(at, "unknown annotation%s", didYouMean(name, slices.Collect(maps.Keys(known))))
		case name == v1alpha1.AnnotationIgnore && !isPointers(set[name]):
			c.refuse(at, `want a JSON list of JSON pointers: '["/spec/replicas"]'`)
		case values != nil && !slices.Contains(values, set[name]):
			c.refuse(at, "want %s", strings.Join(values, " or "))
		}
	}
}

// isPointers reports whether a text is a JSON list of JSON pointers (RFC 6901).
func isPointers(text string) bool {
	var list []string
	if json.Unmarshal([]byte(text), &list) != nil {
		return false
	}
	return !slices.ContainsFunc(list, func(p string) bool { return !strings.HasPrefix(p, "/") })
}
