package diff

import (
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/tidelock/tidelock/api/v1alpha1"
	"github.com/tidelock/tidelock/internal/openapi"
)

// definitions compares the OpenAPI documents of a mock, operation by operation, where d is the ConfigMap that holds one.
func definitions(d described) []Field {
	if d.change.Source.Kind != v1alpha1.KindAPIMock || d.change.Kind != "ConfigMap" || d.was == nil {
		return nil
	}
	before, after := document(d.was.Before), document(d.change.After)
	if before == nil || after == nil {
		return nil
	}
	var w walk
	a, b := operations(before), operations(after)
	w.maps("definition", a, b)
	delete(before, "paths")
	delete(after, "paths")
	w.maps("definition", before, after)
	for i := range w.out { // a whole operation that comes or goes is told by its name alone
		f := &w.out[i]
		if _, whole := strings.CutSuffix(f.Path, "]"); whole && strings.HasPrefix(f.Path, "definition[") {
			f.Before, f.After = summary(f.Before), summary(f.After)
		}
	}
	return w.out
}

func summary(v *string) *string {
	if v == nil {
		return nil
	}
	return new("an operation")
}

// tellsDefinition reports whether the fields of a mock show its document already.
func tellsDefinition(fields []Field) bool {
	return slices.ContainsFunc(fields, func(f Field) bool {
		return strings.HasPrefix(f.Path, "definition") || f.Path == "spec.definition"
	})
}

// document reads the document out of the ConfigMap of a mock; nil where it holds none that can be read.
func document(u *unstructured.Unstructured) map[string]any {
	packed, _, _ := unstructured.NestedString(u.Object, "binaryData", openapi.ConfigMapKey)
	raw, err := base64.StdEncoding.DecodeString(packed)
	if err != nil {
		return nil
	}
	doc, err := openapi.Unpack(raw)
	if err != nil {
		return nil
	}
	var out map[string]any
	if json.Unmarshal(doc.JSON, &out) != nil {
		return nil
	}
	return out
}

// operations lists the operations of a document by method and path.
func operations(doc map[string]any) map[string]any {
	out := map[string]any{}
	paths, _ := doc["paths"].(map[string]any)
	for path, item := range paths {
		m, _ := item.(map[string]any)
		for k, v := range m {
			name := path + " " + k
			if slices.Contains(openapi.Methods(), k) {
				name = strings.ToUpper(k) + " " + path
			}
			out[name] = v
		}
	}
	return out
}
