package mock

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tidelock/tidelock/internal/openapi"
)

func TestDeclaredHeadersAreSent(t *testing.T) {
	for declared, c := range map[string]struct {
		reason string
		want   []string
	}{
		"X-A: {schema: {type: integer}, example: 0}":                                              {"0 is a value", []string{"0"}},
		"X-A: {schema: {type: array, items: {type: integer}}, example: [1, 2]}":                   {"style simple", []string{"1,2"}},
		"X-A: {schema: {type: object}, example: {a: 1, b: x}}":                                    {"style simple", []string{"a,1,b,x"}},
		"X-A: {explode: true, schema: {type: object}, example: {a: 1, b: x}}":                     {"style simple", []string{"a=1,b=x"}},
		"X-A: {content: {application/json: {schema: {type: object}, example: {a: 1}}}}":           {"its media type is JSON", []string{`{"a":1}`}},
		"X-A: {schema: {type: string}, example: \"a\\nX-B: b\"}":                                  {"it would be another header", nil},
		"Set-Cookie: {schema: {type: array, items: {type: string}}, example: [a=1, b=2]}":         {"cookies cannot share a line", []string{"a=1", "b=2"}},
		"Content-Encoding: {schema: {type: string, enum: [gzip]}}":                                {"the body is not compressed", nil},
		"Access-Control-Allow-Origin: {schema: {type: string}}":                                   {"a browser needs the true one", []string{"*"}},
		"Access-Control-Allow-Origin: {schema: {type: string}, example: \"https://example.com\"}": {"it is the mock that is asked", []string{"*"}},
	} {
		doc, err := openapi.Bundle(t.Context(), "a.yaml", func(string) ([]byte, error) {
			return []byte("openapi: 3.0.3\ninfo: {title: t, version: \"1\"}\n" +
				"paths: {/a: {get: {responses: {\"204\": {description: d, headers: {" + declared + "}}}}}}\n"), nil
		})
		if err != nil {
			t.Fatal(err)
		}
		h, err := New(doc)
		if err != nil {
			t.Fatal(err)
		}
		got := ask(t, h, "GET /a", "", "Origin: https://app.example.com").Header()
		got.Del("Access-Control-Expose-Headers")
		if c.want == nil || c.want[0] != "*" {
			got.Del("Access-Control-Allow-Origin")
		}
		var values []string
		for _, lines := range got {
			values = append(values, lines...)
		}
		if diff := cmp.Diff(c.want, values); diff != "" {
			t.Errorf("%s (%s) (-want +got):\n%s", declared, c.reason, diff)
		}
	}
}
