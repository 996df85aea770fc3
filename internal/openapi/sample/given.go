package sample

import (
	"github.com/tidelock/tidelock/internal/openapi"
)

// maxTried is how many values of an enum are tried.
const maxTried = 100

// given appends the value that the schemas name themselves: an example, a default, a const or one of an enum. It has to
// fit all of them: an example of one part lacks what the others add, and a default may be {} for "as below". It says false
// where there is none.
func (g *generator) given(b []byte, v view) ([]byte, bool) {
	if g.seed == 0 && g.variant == 0 {
		if value := g.exemplary(v); value != nil {
			return g.appendGiven(b, v, value), true
		}
	}
	for _, value := range v.all("const") {
		if g.fits(v, value) {
			return append(b, value.JSON()...), true
		}
	}
	for _, enum := range v.all("enum") {
		if value := g.oneOf(v, enum.Elements()); value != nil {
			return append(b, value.JSON()...), true
		}
	}
	return b, false
}

// exemplary returns the first example or default that fits.
func (g *generator) exemplary(v view) *openapi.Node {
	for _, name := range []string{"example", "examples", "default"} {
		for _, value := range v.all(name) {
			if name == "examples" {
				value = first(value)
			}
			if value != nil && g.fits(v, value) {
				return value
			}
		}
	}
	return nil
}

// oneOf returns one of the items of an enum that fits.
func (g *generator) oneOf(v view, items []*openapi.Node) *openapi.Node {
	if len(items) == 0 {
		return nil
	}
	start := g.pick() % len(items)
	for i := range min(len(items), maxTried) {
		// null stands in an enum so that it is allowed; another value says more.
		value := items[(start+i)%len(items)]
		if (value.Kind() != openapi.Null || len(items) == 1) && g.fits(v, value) {
			return value
		}
	}
	return nil
}

// appendGiven appends a value that stands in a schema, without those of its properties that only the other side sends.
func (g *generator) appendGiven(b []byte, v view, value *openapi.Node) []byte {
	if value.Kind() != openapi.Object {
		return append(b, value.JSON()...)
	}
	b = append(b, '{')
	start := len(b)
	for name, item := range value.Members() {
		if g.otherSide(v.propertySchemas(name)) {
			continue
		}
		if len(b) > start {
			b = append(b, ',')
		}
		b = append(openapi.AppendString(b, name), ':')
		b = append(b, item.JSON()...)
	}
	return append(b, '}')
}

// propertySchemas returns what the schemas of a view declare for a property.
func (v view) propertySchemas(name string) []*openapi.Node {
	var out []*openapi.Node
	for _, properties := range v.all("properties") {
		if s := properties.Member(name); s != nil {
			out = append(out, s)
		}
	}
	return out
}

// otherSide reports whether a property is one that this side does not send.
func (g *generator) otherSide(schemas []*openapi.Node) bool {
	keyword := "writeOnly"
	if g.use == openapi.InRequest {
		keyword = "readOnly"
	}
	for _, s := range schemas {
		if g.root.Follow(s).Member(keyword).IsTrue() || s.Member(keyword).IsTrue() {
			return true
		}
	}
	return false
}

func first(n *openapi.Node) *openapi.Node {
	if items := n.Elements(); len(items) > 0 {
		return items[0]
	}
	return nil
}
