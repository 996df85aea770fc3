package render

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/tidelock/tidelock/api/v1alpha1"
	"github.com/tidelock/tidelock/internal/desired"
)

// resource is one manifest of ours, decoded.
type resource[T any] struct {
	manifest
	place
	spec T
}

// key returns the namespace and name.
func (r resource[T]) key() desired.Key { return desired.Key{Namespace: r.Namespace, Name: r.Name} }

// source returns what is lowered from r as its source.
func (r resource[T]) source() desired.Source { return desired.Source{Kind: r.Kind, Key: r.key()} }

// placeOf returns where the problems of m are reported.
func placeOf(m manifest) place {
	return place{start: m.origin, lines: m.node, source: m.source, now: m.content.Object, object: m.String()}
}

// decode checks m against the schema of its kind and returns it with its spec. Where something is wrong it reports all of
// it and returns false.
func decode[T any](c *commit, m manifest) (resource[T], bool) {
	r := resource[T]{manifest: m, place: placeOf(m)}
	before := len(c.problems)
	schema, err := c.schema(m.Kind)
	if err != nil {
		c.refuse(r.problem(nil, "%v", err))
		return r, false
	}
	ck := checker{kind: m.Kind, place: r.place, report: c.refuse}
	ck.topLevel(m.content.Object, schema)
	if _, set := m.content.Object["status"]; set {
		c.warn(r.problem(field("status"), "is written by the daemon; what stands here is left out"))
	}
	if len(c.problems) > before {
		return r, false
	}
	spec, _ := m.content.Object["spec"].(map[string]any)
	if wrong, err := into(spec, &r.spec); err != nil {
		c.refuse(r.problem(wrong, "%v", err))
		return r, false
	}
	return r, true
}

// into fills out from a spec that its schema has let through, and returns the field that is wrong where one has a decoder
// of its own (a command with an open quote).
func into(spec map[string]any, out any) (fieldPath, error) {
	raw, err := json.Marshal(spec)
	if err != nil {
		return field("spec"), fmt.Errorf("encode: %w", err)
	}
	if err = json.Unmarshal(raw, out); err == nil {
		return nil, nil
	}
	for _, name := range slices.Sorted(maps.Keys(spec)) {
		alone, encodeErr := json.Marshal(map[string]any{name: spec[name]})
		if encodeErr != nil {
			continue
		}
		if err := json.Unmarshal(alone, reflect.New(reflect.TypeOf(out).Elem()).Interface()); err != nil {
			return field("spec", name), err
		}
	}
	return field("spec"), err
}

// topLevel checks everything of a manifest but its status.
func (ck checker) topLevel(object map[string]any, schema *schemaProps) {
	known := []string{"apiVersion", "kind", "metadata", "spec", "status"}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		if !slices.Contains(known, name) {
			ck.unknown(field(name), name, known[:4])
		}
	}
	if metadata, ok := object["metadata"].(map[string]any); ok {
		known := jsonNames(reflect.TypeFor[metav1.ObjectMeta]())
		for _, name := range slices.Sorted(maps.Keys(metadata)) {
			if !slices.Contains(known, name) {
				ck.unknown(field("metadata", name), name, known)
			}
		}
	}
	spec, set := object["spec"]
	if !set {
		ck.problem(field("spec"), "is required")
		return
	}
	s := schema.Properties["spec"]
	ck.value(field("spec"), spec, &s)
}

// jsonNames returns the names of a struct's fields in JSON.
func jsonNames(t reflect.Type) []string {
	var names []string
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		names = append(names, name)
	}
	return names
}

// switchForced says whether the annotation that forces the switch of a route is set; any other value is refused.
func switchForced[T any](c *commit, r resource[T]) bool {
	value, set := r.content.GetAnnotations()[v1alpha1.AnnotationSwitch]
	if set && value != v1alpha1.Force {
		c.refuse(r.problem(field("metadata", "annotations", v1alpha1.AnnotationSwitch),
			"want %q, or leave the annotation out", v1alpha1.Force))
	}
	return value == v1alpha1.Force
}
