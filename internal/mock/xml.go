package mock

import (
	"bytes"
	"cmp"
	"encoding/xml"
	"strings"
	"unicode"

	"github.com/tidelock/tidelock/internal/openapi"
)

// writeXML writes a value as an XML document, as the xml objects of its schema say (OpenAPI 3.1, section 4.8.26).
func writeXML(root, schema, value *openapi.Node) []byte {
	w := xmlWriter{root: root}
	w.out.WriteString(`<?xml version="1.0" encoding="UTF-8"?>` + "\n")
	if name := w.rootName(schema); value.Kind() == openapi.Array {
		w.wrapped(name, itemName(root, schema, "item"), schema, value)
	} else {
		w.element(name, schema, value)
	}
	return w.out.Bytes()
}

// xmlWriter writes elements.
type xmlWriter struct {
	out  bytes.Buffer
	root *openapi.Node
}

// shape returns what a schema says about its XML under a name.
func (w *xmlWriter) shape(schema *openapi.Node, name string) *openapi.Node {
	return member(w.root, schema, func(s *openapi.Node) *openapi.Node { return s.Member("xml").Member(name) }, 0)
}

// rootName names the outermost element: as the schema says, else as the schema is called.
func (w *xmlWriter) rootName(schema *openapi.Node) string {
	ref := schema.Member("$ref").Text()
	return cmp.Or(w.shape(schema, "name").Text(), ref[strings.LastIndexByte(ref, '/')+1:], "root")
}

// element writes one element.
func (w *xmlWriter) element(name string, schema, value *openapi.Node) {
	tag := w.open(name, schema)
	for name, item := range value.Members() {
		if p := propertyOf(w.root, schema, name); w.shape(p, "attribute").IsTrue() {
			w.attribute(cmp.Or(w.shape(p, "name").Text(), name), p, item)
		}
	}
	w.out.WriteByte('>')
	for name, item := range value.Members() {
		if p := propertyOf(w.root, schema, name); !w.shape(p, "attribute").IsTrue() {
			w.property(name, p, item)
		}
	}
	for _, item := range value.Elements() { // a list within a list
		w.element(itemName(w.root, schema, "item"), itemsOf(w.root, schema), item)
	}
	w.text(value)
	w.out.WriteString("</" + tag + ">")
}

// open begins a start tag, and returns the name that it has.
func (w *xmlWriter) open(name string, schema *openapi.Node) string {
	tag, prefix := xmlName(name), w.shape(schema, "prefix").Text()
	if prefix != "" {
		prefix = xmlName(prefix)
		tag = prefix + ":" + tag
	}
	w.out.WriteString("<" + tag)
	if space := w.shape(schema, "namespace").Text(); space != "" {
		declared := "xmlns"
		if prefix != "" {
			declared += ":" + prefix
		}
		w.quoted(declared, space)
	}
	return tag
}

func (w *xmlWriter) attribute(name string, schema, value *openapi.Node) {
	name = xmlName(name)
	if prefix := w.shape(schema, "prefix").Text(); prefix != "" {
		name = xmlName(prefix) + ":" + name
	}
	text := value.Text()
	if value.Len() > 0 {
		text = string(value.JSON())
	}
	w.quoted(name, text)
}

func (w *xmlWriter) quoted(name, text string) {
	w.out.WriteString(" " + name + `="`)
	_ = xml.EscapeText(&w.out, []byte(text)) // a Buffer takes every write
	w.out.WriteByte('"')
}

// property writes the element of a property, or those of a list's items, which stand in an element of their own only where
// the schema says so.
func (w *xmlWriter) property(name string, schema, value *openapi.Node) {
	own := cmp.Or(w.shape(schema, "name").Text(), name)
	switch {
	case value.Kind() != openapi.Array:
		w.element(own, schema, value)
	case w.shape(schema, "wrapped").IsTrue():
		w.wrapped(own, itemName(w.root, schema, own), schema, value)
	default:
		w.items(itemName(w.root, schema, name), schema, value)
	}
}

func (w *xmlWriter) wrapped(name, item string, schema, value *openapi.Node) {
	tag := w.open(name, schema)
	w.out.WriteByte('>')
	w.items(item, schema, value)
	w.out.WriteString("</" + tag + ">")
}

func (w *xmlWriter) items(name string, schema, value *openapi.Node) {
	of := itemsOf(w.root, schema)
	for _, item := range value.Elements() {
		w.element(name, of, item)
	}
}

// itemName names the items of a list.
func itemName(root, schema *openapi.Node, otherwise string) string {
	w := xmlWriter{root: root}
	return cmp.Or(w.shape(itemsOf(root, schema), "name").Text(), otherwise)
}

// text writes what is neither a list nor an object.
func (w *xmlWriter) text(value *openapi.Node) {
	switch value.Kind() {
	case openapi.String, openapi.Number, openapi.Bool:
		_ = xml.EscapeText(&w.out, []byte(value.Text())) // a Buffer takes every write
	case openapi.Absent, openapi.Null, openapi.Array, openapi.Object:
	}
}

// xmlName makes a name of an element of any text.
func xmlName(s string) string {
	name := strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' || r == '-' || r == '.' {
			return r
		}
		return '_'
	}, s)
	if first := strings.IndexFunc(name, func(r rune) bool { return unicode.IsLetter(r) || r == '_' }); first != 0 {
		name = "_" + name
	}
	return name
}
