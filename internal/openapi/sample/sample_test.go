package sample

import (
	"fmt"
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/tidelock/tidelock/internal/openapi"
)

func document(t *testing.T, version, schema, components string) openapi.Document {
	t.Helper()
	text := "openapi: " + version + "\ninfo: {title: t, version: \"1\"}\n" +
		"paths: {/a: {get: {responses: {\"200\": {description: d, content: {application/json: {schema: " + schema + "}}}}}}}\n" + components
	doc, err := openapi.Bundle(t.Context(), "a.yaml", func(string) ([]byte, error) { return []byte(text), nil })
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// schemaOf returns the schema of a document's answer, with what the document is.
func schemaOf(t *testing.T, doc openapi.Document) (root, schema *openapi.Node) {
	t.Helper()
	root, err := doc.Root()
	if err != nil {
		t.Fatal(err)
	}
	return root, root.Resolve("#/paths/~1a/get/responses/200/content/application~1json/schema")
}

func plain(t *testing.T, doc openapi.Document) string {
	t.Helper()
	root, schema := schemaOf(t, doc)
	value, err := New(root).Plain(schema)
	if err != nil {
		t.Fatal(err)
	}
	return string(value)
}

func TestAValueIsMadeThatFitsTheSchema(t *testing.T) {
	const pet = "components: {schemas: {Pet: {type: object, required: [name], properties: {name: {type: string}}, example: {name: Rex}}," +
		" Node: {type: object, properties: {next: {$ref: \"#/components/schemas/Node\"}, v: {type: integer}}}," +
		" A: {type: object, required: [b], properties: {b: {$ref: \"#/components/schemas/B\"}}}," +
		" B: {type: object, required: [list], properties: {list: {type: array, items: {$ref: \"#/components/schemas/A\"}}}}," +
		" Expr: {oneOf: [{type: object, required: [left], properties: {left: {$ref: \"#/components/schemas/Expr\"}}}, {type: number}]}," +
		" Null: {type: object, required: [up], properties: {up: {type: object, nullable: true, required: [n], properties: {n: {$ref: \"#/components/schemas/Null\"}}}}}}}"
	for name, c := range map[string]struct{ reason, version, schema, want string }{
		"a bound above zero":               {"the nearest to zero", "3.0.3", "{type: integer, minimum: 5}", "5"},
		"an excluded bound of 3.0":         {"a boolean", "3.0.3", "{type: integer, minimum: 5, exclusiveMinimum: true}", "6"},
		"an excluded bound of 3.1":         {"a number", "3.1.0", "{type: integer, exclusiveMinimum: 5}", "6"},
		"a bound below zero":               {"the nearest to zero", "3.0.3", "{type: integer, maximum: -3}", "-3"},
		"a multiple":                       {"of the step, within the bound", "3.0.3", "{type: integer, minimum: 10, multipleOf: 7}", "14"},
		"a fraction":                       {"numbers need not be whole", "3.0.3", "{type: number, minimum: 0.25}", "0.25"},
		"a big bound":                      {"exact beyond float64", "3.0.3", "{type: integer, minimum: 9007199254740993}", "9007199254740993"},
		"a short text":                     {"maxLength", "3.0.3", "{type: string, maxLength: 3}", `"str"`},
		"a long text":                      {"minLength", "3.0.3", "{type: string, minLength: 8}", `"stringss"`},
		"a format":                         {"clients parse it", "3.0.3", "{type: string, format: date-time}", `"2024-01-01T00:00:00Z"`},
		"several items":                    {"minItems", "3.0.3", "{type: array, minItems: 2, items: {type: boolean}}", "[true,true]"},
		"no items":                         {"maxItems", "3.0.3", "{type: array, maxItems: 0, items: {type: boolean}}", "[]"},
		"a tuple":                          {"prefixItems", "3.1.0", "{type: array, prefixItems: [{type: string}, {type: integer}]}", `["string",0]`},
		"all of":                           {"properties of each", "3.0.3", "{allOf: [{type: object, properties: {a: {type: string}}}, {type: object, properties: {b: {type: integer}}}]}", `{"a":"string","b":0}`},
		"all of, one with an example":      {"an example of a part lacks the rest", "3.0.3", "{allOf: [{$ref: \"#/components/schemas/Pet\"}, {type: object, required: [age], properties: {age: {type: integer}}}]}", `{"name":"string","age":0}`},
		"all of one":                       {"a wrapper to say more about a reference", "3.0.3", "{description: d, allOf: [{$ref: \"#/components/schemas/Pet\"}]}", `{"name":"Rex"}`},
		"one of":                           {"the first", "3.0.3", "{oneOf: [{type: integer}, {type: string}]}", "0"},
		"any of, beside properties":        {"both hold", "3.0.3", "{type: object, properties: {a: {type: integer}, b: {type: integer}}, anyOf: [{required: [c]}, {required: [a]}]}", `{"a":0,"b":0,"c":{}}`},
		"an alternative that is wrong":     {"the type says so", "3.1.0", "{type: object, oneOf: [{type: string}, {type: object, properties: {a: {type: string}}}]}", `{"a":"string"}`},
		"null among the types":             {"the other one says more", "3.1.0", "{type: [\"null\", integer]}", "0"},
		"a default that does not fit":      {"it is {} in generated documents", "3.0.3", "{type: object, default: {}, required: [a], properties: {a: {type: string}}}", `{"a":"string"}`},
		"a default of null":                {"falsy values count", "3.0.3", "{type: string, nullable: true, default: null}", "null"},
		"a required name without a schema": {"it has to be there", "3.0.3", "{type: object, required: [a], additionalProperties: {type: integer}}", `{"a":0}`},
		"a schema without a word":          {"anything fits", "3.0.3", "{}", "{}"},
		"optional recursion":               {"left out", "3.0.3", "{$ref: \"#/components/schemas/Node\"}", `{"v":0}`},
		"recursion over two":               {"the array ends it", "3.0.3", "{$ref: \"#/components/schemas/A\"}", `{"b":{"list":[]}}`},
		"recursion in an alternative":      {"the other one ends it", "3.0.3", "{$ref: \"#/components/schemas/Expr\"}", "0"},
		"recursion that may be null":       {"null ends it", "3.0.3", "{$ref: \"#/components/schemas/Null\"}", `{"up":null}`},
	} {
		t.Run(name, func(t *testing.T) {
			doc := document(t, c.version, c.schema, pet)
			got := plain(t, doc)
			if got != c.want {
				t.Errorf("%s: %s, want %s", c.reason, got, c.want)
			}
			fitsItsSchema(t, doc)
		})
	}
}

// fitsItsSchema holds every answer that is made for a document against its schema.
func fitsItsSchema(t *testing.T, doc openapi.Document) {
	t.Helper()
	root, err := doc.Root()
	if err != nil {
		t.Fatal(err)
	}
	m, v := New(root), openapi.NewValidator(root)
	for template, item := range root.Member("paths").Members() {
		for _, op := range item.Members() {
			for _, response := range op.Member("responses").Members() {
				for _, media := range root.Follow(response).Member("content").Members() {
					schema := media.Member("schema")
					made, err := m.Plain(schema)
					if schema == nil || err != nil {
						continue
					}
					value, err := openapi.Parse(made)
					if err != nil {
						t.Fatal(err)
					}
					for _, wrong := range v.Validate(schema, value, openapi.InResponse) {
						t.Errorf("%s answers %s: %s", template, made, wrong)
					}
				}
			}
		}
	}
}

func TestEveryAnswerFitsItsSchema(t *testing.T) {
	documents := os.DirFS("../../mock/testdata")
	files, err := fs.Glob(documents, "*/openapi.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d documents, %v", len(files), err)
	}
	for _, file := range files {
		doc, err := openapi.Bundle(t.Context(), file, func(name string) ([]byte, error) { return fs.ReadFile(documents, name) })
		if err != nil {
			t.Fatal(err)
		}
		fitsItsSchema(t, doc)
	}
}

func TestSchemasThatAllReferToEachOtherAreBounded(t *testing.T) {
	const n = 40
	var b strings.Builder
	b.WriteString("components:\n  schemas:\n")
	for i := range n {
		fmt.Fprintf(&b, "    S%d:\n      type: object\n      properties:\n", i)
		for j := range n {
			fmt.Fprintf(&b, "        p%d: {$ref: \"#/components/schemas/S%d\"}\n", j, j)
		}
	}
	doc := document(t, "3.0.3", "{$ref: \"#/components/schemas/S0\"}", b.String())
	// Every order of the schemas is a path through them: without a bound this would not end.
	if got := plain(t, doc); len(got) > 2*softSize {
		t.Errorf("%d bytes", len(got))
	}
	fitsItsSchema(t, doc)
}

func TestAnAnswerThatCannotBeMadeIsFoundWhenTheDocumentIsRead(t *testing.T) {
	doc := document(t, "3.0.3", "{type: integer, minimum: 2, maximum: 1}", "")
	wrong := Unanswered(t.Context(), doc)
	const want = "a.yaml:3: paths./a.get 200 application/json: no answer can be made: no value was found that fits the schema: give an example"
	if len(wrong) != 1 || wrong[0].Error() != want {
		t.Errorf("got %v, want %s", wrong, want)
	}
}

func TestAnOperationWithoutResponsesIsFoundWhenTheDocumentIsRead(t *testing.T) {
	const text = "openapi: 3.1.0\ninfo: {title: t, version: \"1\"}\npaths:\n  /a:\n    get: {}\n"
	doc, err := openapi.Bundle(t.Context(), "a.yaml", func(string) ([]byte, error) { return []byte(text), nil })
	if err != nil {
		t.Fatal(err)
	}
	const want = "a.yaml:5: paths./a.get: no answer can be made: it declares no responses"
	if got := Unanswered(t.Context(), doc).Error(); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
