package mock

import (
	"net/http"
	"strings"

	"github.com/tidelock/tidelock/internal/openapi"
)

// header is a header of an answer. Its values are shared by all requests.
type header struct {
	name   string
	values []string
}

// headers makes the headers that a response declares, each with its example or a value of its schema. Content-Type is said
// by the content (OpenAPI, Response Object), what frames a message is the server's, and no body is compressed.
func (b *bodies) headers(declared *openapi.Node) []header {
	var out []header
	for name, node := range declared.Members() {
		name = http.CanonicalHeaderKey(name)
		switch name {
		case "Content-Type", "Content-Length", "Content-Encoding", "Transfer-Encoding", "Connection", "Trailer", "Upgrade",
			"Keep-Alive", "Date":
			continue
		}
		if values := sendable(b.headerValues(name, b.root.Follow(node))); values != nil {
			out = append(out, header{name: name, values: values})
		}
	}
	return out
}

// headerValues returns the lines of a header: one, in style simple, but for cookies, which cannot share a line (RFC 6265,
// section 3).
func (b *bodies) headerValues(name string, declared *openapi.Node) []string {
	of, asText := declared, simple
	for media, content := range declared.Member("content").Members() { // there is only one
		of = b.root.Follow(content)
		if openapi.IsJSON(media) {
			asText = func(value *openapi.Node, _ bool) string { return string(value.JSON()) }
		}
	}
	value := b.headerValue(of)
	if name == "Set-Cookie" && value.Kind() == openapi.Array {
		var lines []string
		for _, item := range value.Elements() {
			lines = append(lines, item.Text())
		}
		return lines
	}
	if value == nil {
		return nil
	}
	return []string{asText(value, declared.Member("explode").IsTrue())}
}

// headerValue returns the example of a header, or a value of its schema; nil where there is none.
func (b *bodies) headerValue(declared *openapi.Node) *openapi.Node {
	if value := b.root.Example(declared); value != nil || declared.Member("schema") == nil {
		return value
	}
	made, err := b.maker.Plain(declared.Member("schema"))
	if err != nil {
		return nil
	}
	value, err := openapi.Parse(made)
	if err != nil {
		return nil
	}
	return value
}

// simple writes a value in style simple: "1,2", and an object as "a,1,b,2", or as "a=1,b=2" where it is exploded.
func simple(value *openapi.Node, explode bool) string {
	var parts []string
	switch value.Kind() {
	case openapi.Absent, openapi.Null, openapi.String, openapi.Bool, openapi.Number:
		return value.Text()
	case openapi.Array:
		for _, item := range value.Elements() {
			parts = append(parts, item.Text())
		}
	case openapi.Object:
		between := ","
		if explode {
			between = "="
		}
		for name, item := range value.Members() {
			parts = append(parts, name+between+item.Text())
		}
	}
	return strings.Join(parts, ",")
}

// sendable drops empty lines, and those that would break the answer: a line break begins another header.
func sendable(lines []string) []string {
	var out []string
	for _, line := range lines {
		if line != "" && !strings.ContainsAny(line, "\r\n\x00") {
			out = append(out, line)
		}
	}
	return out
}
