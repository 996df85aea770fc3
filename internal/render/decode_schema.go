package render

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/tidelock/tidelock/deploy/crds"
	"github.com/tidelock/tidelock/internal/desired"
)

type schemaProps = apiextensionsv1.JSONSchemaProps

// schemaOf returns the schema of a kind of ours, read from its CRD: render and the API server check by one text.
func schemaOf(kind string) (*schemaProps, error) {
	file := "tidelock.dev_" + strings.ToLower(kind) + "s.yaml"
	raw, err := crds.FS.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read the CRD of %s: %w", kind, err)
	}
	var crd apiextensionsv1.CustomResourceDefinition
	if err := yaml.Unmarshal(raw, &crd); err != nil {
		return nil, fmt.Errorf("decode the CRD of %s: %w", kind, err)
	}
	for _, v := range crd.Spec.Versions {
		if v.Schema != nil && v.Schema.OpenAPIV3Schema != nil {
			return v.Schema.OpenAPIV3Schema, nil
		}
	}
	return nil, fmt.Errorf("the CRD of %s has no schema", kind)
}

// checker compares values with a structural schema and reports every difference at its place. Values are never repeated
// in a report, except where the schema names all that are allowed: they might be secret.
type checker struct {
	kind string
	place
	report func(desired.Problem)
}

func (ck checker) problem(at fieldPath, format string, args ...any) {
	ck.report(ck.place.problem(at, format, args...))
}

func (ck checker) unknown(at fieldPath, name string, known []string) {
	if unsupported(ck.kind, at) {
		ck.problem(at, "not supported yet")
		return
	}
	ck.problem(at, "unknown field %q%s", name, didYouMean(name, known))
}

// value checks one value against its schema.
func (ck checker) value(at fieldPath, v any, s *schemaProps) {
	if s.XIntOrString {
		ck.intOrString(at, v, s)
		return
	}
	switch s.Type {
	case "object":
		if m, ok := v.(map[string]any); ok {
			ck.object(at, m, s)
			return
		}
		ck.wrongType(at, "an object", v)
	case "array":
		if list, ok := v.([]any); ok {
			ck.array(at, list, s)
			return
		}
		ck.wrongType(at, "a list", v)
	case "string":
		if text, ok := v.(string); ok {
			ck.text(at, text, s)
			return
		}
		ck.wrongType(at, "a string", v)
	case "integer", "number":
		ck.number(at, v, s)
	case "boolean":
		if _, ok := v.(bool); !ok {
			ck.wrongType(at, "true or false", v)
		}
	}
}

func (ck checker) wrongType(at fieldPath, want string, v any) {
	ck.problem(at, "want %s, got %s", want, typeName(v))
}

// typeName says what a value is in the words of a person who writes YAML.
func typeName(v any) string {
	switch v := v.(type) {
	case nil:
		return "nothing (null)"
	case string:
		return "a string"
	case bool:
		return strconv.FormatBool(v)
	case map[string]any:
		return "an object"
	case []any:
		return "a list"
	}
	if n, ok := asNumber(v); ok && n == math.Trunc(n) {
		return "a whole number"
	}
	return "a number"
}

func asNumber(v any) (float64, bool) {
	switch n := v.(type) {
	case int64:
		return float64(n), true
	case int:
		return float64(n), true
	case uint64:
		return float64(n), true
	case float64:
		return n, true
	case json.Number:
		f, err := n.Float64()
		return f, err == nil
	}
	return 0, false
}

func (ck checker) object(at fieldPath, m map[string]any, s *schemaProps) {
	for _, name := range s.Required {
		if _, set := m[name]; !set {
			ck.problem(at.child(name), "is required")
		}
	}
	if s.MinProperties != nil && int64(len(m)) < *s.MinProperties {
		ck.problem(at, "want at least %d, got %d", *s.MinProperties, len(m))
	}
	for _, name := range slices.Sorted(maps.Keys(m)) {
		property, known := s.Properties[name]
		switch {
		case known:
			ck.value(at.child(name), m[name], &property)
		case s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil:
			ck.value(at.child(name), m[name], s.AdditionalProperties.Schema)
		case s.XPreserveUnknownFields != nil && *s.XPreserveUnknownFields:
		default:
			ck.unknown(at.child(name), name, slices.Collect(maps.Keys(s.Properties)))
		}
	}
}

func (ck checker) array(at fieldPath, list []any, s *schemaProps) {
	if s.MinItems != nil && int64(len(list)) < *s.MinItems {
		ck.problem(at, "want at least %d, got %d", *s.MinItems, len(list))
	}
	if s.MaxItems != nil && int64(len(list)) > *s.MaxItems {
		ck.problem(at, "want at most %d, got %d", *s.MaxItems, len(list))
		return
	}
	if s.Items == nil || s.Items.Schema == nil {
		return
	}
	for i, item := range list {
		ck.value(at.child(i), item, s.Items.Schema)
	}
	ck.unique(at, list, s)
}

// unique refuses two items of one identity: equal ones in a set, equal keys in a list that stands for a map.
func (ck checker) unique(at fieldPath, list []any, s *schemaProps) {
	if s.XListType == nil || *s.XListType == "atomic" {
		return
	}
	seen := map[string]int{}
	for i, item := range list {
		id, ok := identity(item, s.XListMapKeys)
		if !ok {
			continue
		}
		first, twice := seen[id]
		if !twice {
			seen[id] = i
			continue
		}
		name := at.child(i)
		if len(s.XListMapKeys) > 0 {
			name = name.child(s.XListMapKeys[0])
		}
		ck.problem(name, "%s stands twice: first at %s", id, ck.at(at.child(first)))
	}
}

func identity(item any, keys []string) (string, bool) {
	if len(keys) == 0 {
		text, ok := item.(string)
		return strconv.Quote(text), ok
	}
	m, ok := item.(map[string]any)
	if !ok {
		return "", false
	}
	var parts []string
	for _, k := range keys {
		text, ok := m[k].(string)
		if !ok {
			return "", false
		}
		parts = append(parts, strconv.Quote(text))
	}
	return strings.Join(parts, " "), true
}
