package openapi

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// letters returns a variable of servers with an enum of nine values.
func letters(name string) string {
	return name + ": {default: a, enum: [a, b, c, d, e, f, g, h, i]}"
}

func TestWhatIsWrongIsNamedWithItsPlace(t *testing.T) {
	for name, c := range map[string]struct {
		reason string
		files  map[string]string
		want   []string
	}{
		"a YAML syntax error": {
			reason: "the line where it is, not where the map begins",
			files:  map[string]string{"a.yaml": "openapi: 3.0.3\ninfo: {title: v2, version: \"1\"\npaths:\n"},
			want:   []string{"a.yaml:3: YAML syntax: did not find expected ',' or '}'"},
		},
		"a JSON syntax error": {
			reason: "by line too",
			files:  map[string]string{"a.yaml": head + "paths: {/a: {$ref: b.json}}", "b.json": "{\n\"get\": {},\n}"},
			want: []string{
				`a.yaml:3: $ref "b.json": see there`,
				`b.json:3: JSON syntax: invalid character '}' looking for beginning of object key string`,
			},
		},
		"a missing file": {
			reason: "the file that refers to it and the one that is missing",
			files:  map[string]string{"a.yaml": head + "paths:\n  /a: {$ref: x/b.yaml}", "x/b.yaml": "get:\n  responses: {\"200\": {$ref: ../c.yaml}}"},
			want:   []string{`x/b.yaml:2: $ref "../c.yaml": no file c.yaml`},
		},
		"all missing things at once": {
			reason: "one round of mending, not one for each",
			files:  map[string]string{"a.yaml": head + "paths:\n  /a: {$ref: b.yaml}\n  /c: {$ref: \"#/nope\"}\n"},
			want:   []string{`a.yaml:4: $ref "b.yaml": no file b.yaml`, `a.yaml:5: $ref "#/nope": nothing at #/nope in a.yaml`},
		},
		"a reference out of the repository": {
			reason: "the edge is the repository's root",
			files:  map[string]string{"a.yaml": answering("{schema: {$ref: ../../etc/passwd}}")},
			want:   []string{`a.yaml:3: $ref "../../etc/passwd": it leads out of the repository`},
		},
		"a remote reference": {
			reason: "nothing is fetched",
			files:  map[string]string{"a.yaml": answering("{schema: {$ref: \"https://example.com/a.yaml\"}}")},
			want:   []string{`a.yaml:3: $ref "https://example.com/a.yaml": remote references are not read: put the file into the repository`},
		},
		"a remote reference without scheme": {
			reason: "//host is remote too",
			files:  map[string]string{"a.yaml": answering("{schema: {$ref: \"//example.com/a.yaml\"}}")},
			want:   []string{`a.yaml:3: $ref "//example.com/a.yaml": remote references are not read: put the file into the repository`},
		},
		"an anchor that is not there": {
			reason: "also what a pointer without its slash looks like",
			files:  map[string]string{"a.yaml": answering("{schema: {$ref: \"#components/schemas/A\"}}")},
			want:   []string{`a.yaml:3: $ref "#components/schemas/A": no $anchor "components/schemas/A" in a.yaml; a JSON pointer begins with #/`},
		},
		"an absolute path": {
			reason: "it would be another file on each machine",
			files:  map[string]string{"a.yaml": answering("{schema: {$ref: /etc/passwd}}")},
			want:   []string{`a.yaml:3: $ref "/etc/passwd": an absolute path is not read: write it relative to this file`},
		},
		"an example that does not fit": {
			reason: "a mock would answer it with 200 and nobody would notice",
			files:  map[string]string{"a.yaml": answering("{schema: {type: object, properties: {id: {type: integer}}}, example: {id: seven}}")},
			want:   []string{`a.yaml:3: paths./a.get 200 example: /id must be integer`},
		},
		"examples and examples of schemas": {
			reason: "any of them may be answered",
			files: map[string]string{"a.yaml": answering("{schema: {$ref: \"#/components/schemas/S\"}, examples: {one: {value: 1}, two: {value: x}}}") +
				"components:\n  schemas:\n    S: {type: string, default: 3, example: 4}\n    T: {type: object, properties: {p: {enum: [a], example: b}}}"},
			want: []string{
				`a.yaml:3: paths./a.get 200 examples.one: must be string`,
				`a.yaml:6: components.schemas.S example: must be string`,
				`a.yaml:7: components.schemas.T.properties.p example: must be one of ["a"]`,
			},
		},
		"a document of Swagger 2.0": {
			reason: "another format, which it says",
			files:  map[string]string{"a.yaml": "swagger: \"2.0\"\ninfo: {title: t, version: \"1\"}\npaths: {}"},
			want:   []string{"a.yaml:1: swagger 2.0 is not supported: convert the document to OpenAPI 3.0 or 3.1, with swagger2openapi for one"},
		},
		"a version as a number": {
			reason: "3.0 is a number in YAML",
			files:  map[string]string{"a.yaml": "openapi: 3.0\ninfo: {title: t, version: \"1\"}\npaths: {}"},
			want:   []string{"a.yaml:1: OpenAPI version 3.0 is not supported: write one of 3.0.x or 3.1.x as text, \"3.0.3\""},
		},
		"something else": {
			reason: "a manifest, for one",
			files:  map[string]string{"a.yaml": "kind: ConfigMap"},
			want:   []string{`a.yaml:1: not an OpenAPI document: the field "openapi" is missing`},
		},
		"an empty file": {
			reason: "there is no line",
			files:  map[string]string{"a.yaml": ""},
			want:   []string{"a.yaml: the file is empty"},
		},
		"two documents in a file": {
			reason: "which of them is meant?",
			files:  map[string]string{"a.yaml": head + "paths: {}\n---\na: 1\n"},
			want:   []string{"a.yaml:4: a second YAML document: one is expected"},
		},
		"a key twice": {
			reason: "one of them would be lost",
			files:  map[string]string{"a.yaml": head + "paths:\n  /a: {}\n  /a: {}\n"},
			want:   []string{`a.yaml:5: the key "/a" is there twice`},
		},
		"a value of another type than the specification wants": {
			reason: "the value is named, and what is wanted",
			files:  map[string]string{"a.yaml": head + "paths:\n  /a:\n    get:\n      parameters: 3\n      responses: {default: {description: d}}\n"},
			want:   []string{`a.yaml:6: paths./a.get.parameters: must be a list, and is a number`},
		},
		"an operation without responses, and a path parameter without a declaration": {
			reason: "both, each at its operation",
			files:  map[string]string{"a.yaml": head + "paths:\n  /a:\n    get: {}\n  /b/{id}:\n    put: {responses: {default: {description: d}}}\n"},
			want: []string{
				`a.yaml:5: paths./a.get: the field "responses" is missing`,
				`a.yaml:7: paths./b/{id}.put: the path has {id}, and no parameter of it is declared (in: path)`,
			},
		},
		"a schema that applies to itself": {
			reason: "checking anything against it would not end",
			files:  map[string]string{"a.yaml": head + "paths: {}\ncomponents:\n  schemas:\n    A: {allOf: [{$ref: \"#/components/schemas/B\"}]}\n    B: {anyOf: [{type: string}, {$ref: \"#/components/schemas/A\"}]}\n"},
			want:   []string{`a.yaml:6: components.schemas.A: the schema applies to itself without end`},
		},
		"servers that stand for too many base paths": {
			reason: "each of them multiplies the operations",
			files: map[string]string{"a.yaml": head + "servers: [{url: \"/{a}/{b}\", variables: {" + letters("a") + ", " + letters("b") + "}}]\n" +
				"paths:\n  /a:\n    get: {responses: {default: {description: d}}}\n"},
			want: []string{`a.yaml:6: paths./a.get: the server /{a}/{b} stands for more than 64 base paths`},
		},
		"references that lead to each other": {
			reason: "there is nothing at their end",
			files:  map[string]string{"a.yaml": answering("{schema: {$ref: b.yaml}}"), "b.yaml": "$ref: c.yaml", "c.yaml": "$ref: b.yaml"},
			want:   []string{`a.yaml:3: $ref "b.yaml": it leads to references without end`},
		},
		"path items that refer to each other": {
			reason: "they are copied in, which would not end",
			files: map[string]string{
				"a.yaml": head + "paths: {/a: {$ref: b.yaml}}",
				"b.yaml": "get:\n  responses: {default: {description: d}}\n  callbacks: {c: {\"{$url}\": {$ref: b.yaml}}}",
			},
			want: []string{`b.yaml:3: $ref "b.yaml": it leads back to itself`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Bundle(t.Context(), "a.yaml", reader(c.files))
			got, ok := errors.AsType[Errors](err)
			if !ok {
				t.Fatalf("%s: error is %T: %v", c.reason, err, err)
			}
			if diff := cmp.Diff(strings.Join(c.want, "\n"), got.Error()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}
