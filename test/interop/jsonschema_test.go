//go:build interop

package interop_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/tidelock/tidelock/internal/openapi"
)

// group is one schema of the JSON Schema Test Suite, and what fits it.
type group struct {
	Description string          `json:"description"`
	Schema      json.RawMessage `json:"schema"`
	Tests       []struct {
		Description string          `json:"description"`
		Data        json.RawMessage `json:"data"`
		Valid       bool            `json:"valid"`
	} `json:"tests"`
}

// TestTheValidatorAgreesWithTheJSONSchemaTestSuite holds the validator against the suite of JSON Schema 2020-12. What it
// has no support for it must refuse when a document is read, and never judge wrongly.
func TestTheValidatorAgreesWithTheJSONSchemaTestSuite(t *testing.T) {
	files, err := filepath.Glob(cache("jsonschema/json/tests/draft2020-12/*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no suite (%v): run make test-interop", err)
	}
	groups, refused, tests := 0, 0, 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var all []group
		if err := json.Unmarshal(text, &all); err != nil {
			t.Fatal(err)
		}
		for _, g := range all {
			groups++
			name := filepath.Base(file) + ": " + g.Description
			if g.Description == "schema that uses custom metaschema with with no validation vocabulary" {
				continue // OpenAPI's documents have the dialect of the specification: $schema is not read
			}
			root, err := schemaAlone(t, g.Schema)
			if err != nil {
				refused++
				t.Logf("refused: %s: %v", name, err)
				continue
			}
			v, s := openapi.NewValidator(root), root.Resolve("#/components/schemas/S")
			for _, c := range g.Tests {
				tests++
				value, err := openapi.Parse(c.Data)
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				if got := v.Validate(s, value, openapi.Either); (len(got) == 0) != c.Valid {
					t.Errorf("%s: %s: valid must be %t, and is told: %v", name, c.Description, c.Valid, got)
				}
			}
		}
	}
	t.Logf("%d groups, %d of them refused, %d tests", groups, refused, tests)
}

// schemaAlone returns a document that has a schema in a file of its own, as "S".
func schemaAlone(t *testing.T, schema json.RawMessage) (*openapi.Node, error) {
	t.Helper()
	files := map[string][]byte{
		"root.json":   []byte(`{"openapi":"3.1.0","info":{"title":"t","version":"1"},"components":{"schemas":{"S":{"$ref":"schema.json"}}}}`),
		"schema.json": schema,
	}
	doc, err := openapi.Bundle(t.Context(), "root.json", func(name string) ([]byte, error) {
		if text, ok := files[name]; ok {
			return text, nil
		}
		return nil, fmt.Errorf("no file %s: %w", name, os.ErrNotExist)
	})
	if err != nil {
		return nil, err
	}
	return openapi.Parse(doc.JSON)
}
