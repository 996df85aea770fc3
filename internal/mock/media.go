package mock

import (
	"bytes"
	"strings"

	"github.com/tidelock/tidelock/internal/openapi"
)

// mediaForm says how a value is written in a media type.
type mediaForm uint8

const (
	asUnknown mediaForm = iota // nobody can say
	asJSON
	asText   // a number as its digits; lists and objects as JSON, which is YAML too
	asXML    // as the xml objects of its schema say
	asLines  // each item of a list as JSON, on a line of its own
	asEvents // each item of a list as an event whose data is JSON
)

// formOf returns how values are written in a media type.
func formOf(name string) mediaForm {
	if openapi.IsJSON(name) {
		return asJSON
	}
	name, _, _ = strings.Cut(strings.ToLower(name), ";")
	switch name = strings.TrimSpace(name); name {
	case "text/plain", "text/*", "application/yaml", "application/x-yaml", "text/yaml", "text/x-yaml":
		return asText
	case "application/xml", "text/xml":
		return asXML
	case "application/x-ndjson", "application/ndjson", "application/jsonl", "application/x-jsonl", "application/json-lines":
		return asLines
	case "text/event-stream":
		return asEvents
	}
	switch {
	case strings.HasSuffix(name, "+xml"):
		return asXML
	case strings.HasSuffix(name, "+yaml"):
		return asText
	}
	return asUnknown
}

// write writes a value of a schema. The form is known, and is not JSON.
func (f mediaForm) write(root, schema, value *openapi.Node) []byte {
	switch f {
	case asXML:
		return writeXML(root, schema, value)
	case asLines:
		return eachOf(value, "", "\n")
	case asEvents:
		return eachOf(value, "data: ", "\n\n")
	case asUnknown, asJSON, asText:
	}
	return plain(value)
}

// plain is a text as it is, and anything else as JSON.
func plain(value *openapi.Node) []byte {
	if value.Kind() == openapi.String {
		return []byte(value.Text())
	}
	return value.JSON()
}

// eachOf writes the items of a list, or another value, each as JSON between two texts.
func eachOf(value *openapi.Node, before, behind string) []byte {
	items := []*openapi.Node{value}
	if value.Kind() == openapi.Array {
		items = value.Elements()
	}
	var out bytes.Buffer
	for _, item := range items {
		out.WriteString(before)
		out.Write(item.JSON())
		out.WriteString(behind)
	}
	return out.Bytes()
}
