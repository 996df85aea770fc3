package openapi

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// reader reads files out of a map.
func reader(files map[string]string) func(string) ([]byte, error) {
	tree := fstest.MapFS{}
	for name, text := range files {
		tree[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return func(name string) ([]byte, error) { return fs.ReadFile(tree, name) }
}

const head = "openapi: 3.0.3\ninfo: {title: t, version: \"1\"}\n"

// answering returns a document with one operation, whose response holds the media type given.
func answering(media string) string {
	return head + "paths: {/a: {get: {responses: {\"200\": {description: d, content: {application/json: " + media + "}}}}}}\n"
}

func TestADescriptionOfManyFilesBecomesOneDocument(t *testing.T) {
	for name, c := range map[string]struct {
		reason string
		files  map[string]string
		want   string // a part of the document
	}{
		"a reference is relative to the file that it stands in": {
			reason: "RFC 3986; looked up next to the root it works on the author's machine only",
			files: map[string]string{
				"api/openapi.yaml":        head + "paths: {/a: {$ref: paths/a.yaml}}",
				"api/paths/a.yaml":        "get: {responses: {\"200\": {$ref: \"../shared/ok.yaml#/Ok\"}}}",
				"api/shared/ok.yaml":      "Ok: {description: d, content: {application/json: {schema: {$ref: \"#/Id\"}}}}\nId: {$ref: deep/id.json}",
				"api/shared/deep/id.json": `{"type": "integer"}`,
			},
			want: `"paths":{"/a":{"get":{"responses":{"200":{"$ref":"#/components/responses/Ok"}}}}},` +
				`"components":{"schemas":{"Id":{"$ref":"#/components/schemas/id"},"id":{"type":"integer"}},` +
				`"responses":{"Ok":{"description":"d","content":{"application/json":{"schema":{"$ref":"#/components/schemas/Id"}}}}}}`,
		},
		"a schema in another file may refer to itself": {
			reason: "it is named in components, not copied in",
			files: map[string]string{
				"api/openapi.yaml": answering("{schema: {$ref: tree.yaml}}"),
				"api/tree.yaml":    "type: object\nproperties: {kids: {type: array, items: {$ref: tree.yaml}}}",
			},
			want: `"schemas":{"tree":{"type":"object","properties":{"kids":{"type":"array","items":{"$ref":"#/components/schemas/tree"}}}}}`,
		},
		"a name that is taken gets a number": {
			reason: "two files may have a Pet",
			files: map[string]string{
				"api/openapi.yaml": answering("{schema: {allOf: [{$ref: \"#/components/schemas/Pet\"}, {$ref: \"a.yaml#/Pet\"}, {$ref: \"b.yaml#/Pet\"}]}}") +
					"components: {schemas: {Pet: {type: object}}}",
				"api/a.yaml": "Pet: {minProperties: 0}",
				"api/b.yaml": "Pet: {maxProperties: 9}",
			},
			want: `"schemas":{"Pet":{"type":"object"},"Pet_2":{"minProperties":0},"Pet_3":{"maxProperties":9}}`,
		},
		"the root may be referred to by its name": {
			reason: "its components are there already",
			files: map[string]string{
				"api/openapi.yaml": answering("{schema: {$ref: b.yaml}}") + "components: {schemas: {Id: {type: integer}}}",
				"api/b.yaml":       "type: array\nitems: {$ref: \"openapi.yaml#/components/schemas/Id\"}",
			},
			want: `"schemas":{"Id":{"type":"integer"},"b":{"type":"array","items":{"$ref":"#/components/schemas/Id"}}}`,
		},
		"a pointer goes through references and escapes": {
			reason: "RFC 6901: ~1 is a slash; %7B is a brace in a fragment",
			files: map[string]string{
				"api/openapi.yaml": answering("{schema: {$ref: \"#/paths/~1b~1%7Bid%7D/get/responses/200/content/a~1b/schema\"}}") + "",
				"api/b.yaml":       "get: {parameters: [{name: id, in: path, required: true, schema: {type: string}}], responses: {200: {description: d, content: {a/b: {schema: {type: boolean}}}}}}",
			},
			want: `"schemas":{"schema":{"type":"boolean"}}`,
		},
		"a schema may be named by an anchor": {
			reason: "JSON Schema has $anchor from OpenAPI 3.1 on",
			files: map[string]string{
				"api/openapi.yaml": strings.Replace(answering("{schema: {$ref: b.yaml#pet}}"), "3.0.3", "3.1.0", 1),
				"api/b.yaml":       "$defs: {a/b: {$anchor: pet, type: object, properties: {kids: {$ref: \"#pet\"}}}}",
			},
			want: `"schemas":{"a_b":{"$anchor":"pet","type":"object","properties":{"kids":{"$ref":"#/components/schemas/a_b"}}}}`,
		},
		"a map may be a reference": {
			reason: "not in the specification, and in wide use",
			files: map[string]string{
				"api/openapi.yaml": head + "paths: {$ref: paths.yaml}\ncomponents: {schemas: {$ref: schemas.yaml}}",
				"api/paths.yaml":   "/a: {get: {responses: {default: {description: d}}}}",
				"api/schemas.yaml": "Id: {type: integer}",
			},
			want: `"paths":{"/a":{"get":{"responses":{"default":{"description":"d"}}}}},"components":{"schemas":{"Id":{"type":"integer"}}}`,
		},
		"what looks like a reference in an example is data": {
			reason: "an example is a value, and an extension belongs to its author",
			files: map[string]string{
				"api/openapi.yaml": answering("{example: {$ref: nowhere.yaml}, x-more: {$ref: nowhere.yaml}}"),
			},
			want: `{"example":{"$ref":"nowhere.yaml"},"x-more":{"$ref":"nowhere.yaml"}}`,
		},
		"a property may be called $ref": {
			reason: "its value is a schema, not a text",
			files: map[string]string{
				"api/openapi.yaml": answering("{schema: {type: object, properties: {$ref: {type: string}}}}"),
			},
			want: `"properties":{"$ref":{"type":"string"}}`,
		},
		"the mapping of a discriminator is followed": {
			reason: "its values are names or references",
			files: map[string]string{
				"api/openapi.yaml": answering("{schema: {oneOf: [{$ref: cat.yaml}], discriminator: {propertyName: t, mapping: {cat: cat.yaml, dog: Dog}}}}") +
					"components: {schemas: {Dog: {type: object}}}",
				"api/cat.yaml": "type: object\nrequired: [t]\nproperties: {t: {type: string}}",
			},
			want: `"mapping":{"cat":"#/components/schemas/cat","dog":"Dog"}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "a pointer goes through references and escapes" {
				c.files["api/openapi.yaml"] = strings.Replace(c.files["api/openapi.yaml"], "paths: {", "paths: {\"/b/{id}\": {$ref: b.yaml}, ", 1)
			}
			doc, err := Bundle(t.Context(), "api/openapi.yaml", reader(c.files))
			if err != nil {
				t.Fatalf("%s: %v", c.reason, err)
			}
			if !strings.Contains(string(doc.JSON), c.want) {
				t.Errorf("%s: in\n%s\nis no\n%s", c.reason, doc.JSON, c.want)
			}
			root, err := Parse(doc.JSON)
			if err != nil || !slices.Equal(root.JSON(), doc.JSON) {
				t.Errorf("the document does not read back as it is: %v", err)
			}
			again, err := Unpack(Pack(doc))
			if diff := cmp.Diff(doc, again, cmpopts.IgnoreUnexported(Document{})); err != nil || diff != "" {
				t.Errorf("packed and unpacked (%v): %s", err, diff)
			}
		})
	}
}

func TestBundlingIsAFunctionOfItsInput(t *testing.T) {
	files := map[string]string{
		"a.yaml": answering("{schema: {allOf: [{$ref: b.yaml}, {$ref: c.yaml}]}}"),
		"b.yaml": "properties: {x: {$ref: \"c.yaml#/properties/y\"}}",
		"c.yaml": "properties: {y: {type: string}, z: {$ref: b.yaml}}",
	}
	first, err := Bundle(t.Context(), "a.yaml", reader(files))
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		again, err := Bundle(t.Context(), "a.yaml", reader(maps.Clone(files)))
		if err != nil || !slices.Equal(Pack(first), Pack(again)) {
			t.Fatalf("another result for the same files (%v):\n%s\n%s", err, first.JSON, again.JSON)
		}
	}
}

func TestACanceledBundleSaysSo(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Bundle(ctx, "a.yaml", reader(map[string]string{"a.yaml": answering("{example: 1}")})); !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v", err)
	}
}
