package openapi

import (
	"context"
	"os"
	"slices"
	"testing"
	"time"
)

// FuzzBundle looks for text on which bundling panics, does not end, or is not what it says.
func FuzzBundle(f *testing.F) {
	for _, seed := range []string{
		answering("{schema: {type: object, required: [a], properties: {a: {$ref: \"#/components/schemas/A\"}}}, example: {a: 1}}") +
			"components: {schemas: {A: {type: integer, minimum: 1, multipleOf: 0.5}}}",
		answering("{schema: {$ref: other.yaml#/A}}"),
		answering("{schema: {oneOf: [{type: string, pattern: \"^a\"}, {type: array, items: {$ref: a.yaml#/x}}]}, examples: {e: {value: [1]}}}"),
		"openapi: 3.1.0\ninfo: {title: t, version: \"1\"}\npaths: {/a: {get: {responses: {200: {description: d, content: {a/b: {schema: {type: [string, \"null\"], const: x}}}}}}}}",
		`{"openapi": "3.0.3", "info": {"title": "\ud83d", "version": "1"}, "paths": {"/{a}": {"parameters": [], "get": {}}}}`,
		"a: &a {<<: *a}", "? [a]\n: b", "- !!binary x", "\xff\xfe", "%YAML 9.9\n---\n", "servers: [{url: \"{a}\"}]",
	} {
		f.Add([]byte(seed), []byte("A: {type: string}\nB: {$ref: a.yaml}"))
	}
	f.Fuzz(func(t *testing.T, text, other []byte) {
		files := map[string][]byte{"a.yaml": text, "other.yaml": other}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		doc, err := Bundle(ctx, "a.yaml", func(name string) ([]byte, error) {
			if text, ok := files[name]; ok {
				return text, nil
			}
			return nil, os.ErrNotExist
		})
		if ctx.Err() != nil {
			t.Fatal("it takes too long")
		}
		if err != nil {
			return
		}
		again, err := Unpack(Pack(doc))
		if err != nil || !slices.Equal(again.JSON, doc.JSON) {
			t.Fatalf("a good document does not read back (%v): %s", err, doc.JSON)
		}
	})
}
