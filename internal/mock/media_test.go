package mock

import (
	"net/http"
	"strings"
	"testing"

	"github.com/tidelock/tidelock/internal/openapi"
)

// described is a document of one operation, GET /a, with the content of its answer and the schemas that it has.
func described(t *testing.T, content, schemas string) openapi.Document {
	t.Helper()
	text := "openapi: 3.0.3\ninfo: {title: t, version: \"1\"}\npaths: {/a: {get: {responses: {\"200\": {description: d, content: " +
		content + "}}}}}\ncomponents: {schemas: {" + schemas + "}}\n"
	doc, err := openapi.Bundle(t.Context(), "a.yaml", func(string) ([]byte, error) { return []byte(text), nil })
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

func TestAValueIsWrittenAsItsMediaTypeHasIt(t *testing.T) {
	const list = "schema: {type: array, minItems: 2, items: {type: integer}}"
	for name, c := range map[string]struct{ reason, content, body, placeholder string }{
		"JSON without a schema":  {"every value fits, an object is the plainest", "{application/json: {}}", "{}", ""},
		"null instead of a type": {"a key with nothing behind it", "{application/json: }", "{}", ""},
		"a text":                 {"as it is", "{text/plain: {schema: {type: string}}}", "string", ""},
		"a number as text":       {"its digits", "{text/plain: {schema: {type: integer, minimum: 7}}}", "7", ""},
		"YAML":                   {"JSON is YAML", "{application/yaml: {" + list + "}}", "[0,0]", ""},
		"lines":                  {"an item a line", "{application/x-ndjson: {" + list + "}}", "0\n0\n", ""},
		"events":                 {"an item an event", "{text/event-stream: {" + list + "}}", "data: 0\n\ndata: 0\n\n", ""},
		"an image":               {"no image can be made up", "{image/png: {schema: {type: string, format: binary}}}", "string", "image/png"},
		"no schema":              {"nothing is known about it", "{application/pdf: {}}", "", "application/pdf"},
		"a table":                {"nobody says how a list becomes one", "{text/csv: {" + list + "}}", "[0,0]", "text/csv"},
		"an example as a text":   {"the body as it is", "{text/csv: {example: \"a,b\\n\"}}", "a,b\n", ""},
		"an example as a value":  {"its form in that media type is not known", "{text/csv: {example: [1]}}", "[1]", "text/csv"},
	} {
		h, err := New(described(t, c.content, ""))
		if err != nil {
			t.Fatal(err)
		}
		w := ask(t, h, "GET /a", "")
		note := w.Header().Get("Tidelock-Placeholder")
		if w.Code != http.StatusOK || w.Body.String() != c.body || (note == "") != (c.placeholder == "") || !strings.HasSuffix(note, c.placeholder) {
			t.Errorf("%s (%s): %d %q, placeholder %q", name, c.reason, w.Code, w.Body, note)
		}
	}
}

func TestXMLIsWrittenAsItsSchemaSays(t *testing.T) {
	const head = `<?xml version="1.0" encoding="UTF-8"?>` + "\n"
	const pet = `Pet: {type: object, xml: {name: pet}, properties: {id: {type: integer, xml: {attribute: true}}, name: {type: string, example: "<a> & b"}}}`
	for name, c := range map[string]struct{ reason, schema, want string }{
		"attributes and text": {"both are escaped", `{$ref: "#/components/schemas/Pet"}`, `<pet id="0"><name>&lt;a&gt; &amp; b</name></pet>`},
		"a list alone":        {"a document has one root", `{type: array, items: {$ref: "#/components/schemas/Pet"}}`, `<root><pet id="0"><name>&lt;a&gt; &amp; b</name></pet></root>`},
		"no name":             {"a schema of the operation's own", "{type: object, properties: {a: {type: boolean}}}", "<root><a>true</a></root>"},
		"a scalar":            {"it is the text of the root", "{type: integer}", "<root>0</root>"},
		"a list as it is": {
			"the name of the list has no effect", "{type: object, properties: {tags: {type: array, minItems: 2, xml: {name: no}, items: {type: integer}}}}",
			"<root><tags>0</tags><tags>0</tags></root>",
		},
		"a list with names for its items": {
			"the name of the items", "{type: object, properties: {tags: {type: array, items: {type: integer, xml: {name: tag}}}}}",
			"<root><tag>0</tag></root>",
		},
		"a wrapped list": {
			"both have names", "{type: object, properties: {tags: {type: array, xml: {name: all, wrapped: true}, items: {type: integer, xml: {name: tag}}}}}",
			"<root><all><tag>0</tag></all></root>",
		},
		"a namespace": {
			"with its prefix", `{type: object, xml: {name: a, prefix: p, namespace: "urn:x"}, properties: {b: {type: integer, xml: {attribute: true, prefix: p}}}}`,
			`<p:a xmlns:p="urn:x" p:b="0"></p:a>`,
		},
		"a property that is no name": {"what XML does not take is replaced", `{type: object, properties: {"1 <x>": {type: integer}}}`, "<root><_1__x_>0</_1__x_></root>"},
	} {
		h, err := New(described(t, "{application/xml: {schema: "+c.schema+"}}", pet))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if w := ask(t, h, "GET /a", ""); w.Body.String() != head+c.want {
			t.Errorf("%s (%s):\n%s\nwant\n%s", name, c.reason, w.Body, c.want)
		}
	}
}
