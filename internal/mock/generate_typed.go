package mock

import (
	"slices"

	"github.com/tidelock/tidelock/internal/openapi"
)

// typesOf returns the types that a schema allows; none where it does not say.
func typesOf(schema *openapi.Node) []string {
	t := schema.Member("type")
	if t.Kind() == openapi.String {
		return []string{t.Text()}
	}
	var out []string
	for _, item := range t.Elements() {
		out = append(out, item.Text())
	}
	return out
}

// typeOf returns the type to make: the first that all schemas allow, null only where nothing else is; empty where they
// allow none.
func (v view) typeOf() string {
	var allowed []string
	said := false
	for _, schema := range v.schemas {
		types := typesOf(schema)
		switch {
		case types == nil:
		case !said:
			allowed, said = types, true
		default:
			allowed = common(allowed, types)
		}
	}
	for _, t := range allowed {
		if t != "null" {
			return t
		}
	}
	switch {
	case !said:
		return v.implied()
	case len(allowed) == 0:
		return "" // they contradict each other
	}
	return "null"
}

// common returns the types that are in both lists. Every integer is a number.
func common(a, b []string) []string {
	var out []string
	for _, t := range a {
		switch {
		case slices.Contains(b, t), t == "integer" && slices.Contains(b, "number"):
			out = append(out, t)
		case t == "number" && slices.Contains(b, "integer"):
			out = append(out, "integer")
		}
	}
	return out
}

// implied returns the type that the keywords of schemas without a type are about.
func (v view) implied() string {
	for _, schema := range v.schemas {
		for name := range schema.Members() {
			switch name {
			case "items", "prefixItems", "minItems", "maxItems", "uniqueItems":
				return "array"
			case "pattern", "minLength", "maxLength", "format":
				return "string"
			case "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf":
				return "number"
			}
		}
	}
	return "object"
}

// keyword returns the value of a keyword in the first schema that has it.
func (v view) keyword(name string) *openapi.Node {
	for _, schema := range v.schemas {
		if n := schema.Member(name); n != nil {
			return n
		}
	}
	return nil
}

func (g *generator) typed(b []byte, v view) ([]byte, bool) {
	switch v.typeOf() {
	case "object":
		return g.object(b, v)
	case "array":
		return g.array(b, v)
	case "string":
		return openapi.AppendString(b, v.text()), true
	case "integer":
		return append(b, v.number(true)...), true
	case "number":
		return append(b, v.number(false)...), true
	case "boolean":
		return append(b, "true"...), true
	case "null":
		return append(b, "null"...), true
	}
	return b, false
}

// property is what the schemas of a view say about one property of an object.
type property struct {
	name     string
	schemas  []*openapi.Node
	required bool
}

func (g *generator) properties(v view) []property {
	var out []property
	index := map[string]int{}
	at := func(name string) *property {
		i, ok := index[name]
		if !ok {
			i = len(out)
			index[name] = i
			out = append(out, property{name: name})
		}
		return &out[i]
	}
	for _, schema := range v.schemas {
		for name, s := range schema.Member("properties").Members() {
			p := at(name)
			p.schemas = append(p.schemas, s)
		}
	}
	for _, schema := range v.schemas {
		for _, name := range schema.Member("required").Elements() {
			at(name.Text()).required = true
		}
	}
	for i := range out {
		if more := v.keyword("additionalProperties"); out[i].schemas == nil && more.Kind() == openapi.Object {
			out[i].schemas = []*openapi.Node{more}
		}
	}
	return slices.DeleteFunc(out, func(p property) bool {
		return slices.ContainsFunc(p.schemas, func(s *openapi.Node) bool {
			return resolve(g.root, s).Member("writeOnly").IsTrue()
		})
	})
}

func (g *generator) object(b []byte, v view) ([]byte, bool) {
	b = append(b, '{')
	start := len(b)
	for _, p := range g.properties(v) {
		if !p.required && g.lean(b) {
			continue
		}
		mark := len(b)
		if mark > start {
			b = append(b, ',')
		}
		b = append(openapi.AppendString(b, p.name), ':')
		var ok bool
		if p.required {
			b, ok = g.orNull(b, p.schemas...)
		} else {
			b, ok = g.value(b, p.schemas...)
		}
		switch {
		case ok:
		case p.required || g.over:
			return b, false
		default:
			b = b[:mark]
		}
	}
	return append(b, '}'), true
}

func (g *generator) array(b []byte, v view) ([]byte, bool) {
	least, most := v.size("minItems", 0), v.size("maxItems", -1)
	prefix := v.keyword("prefixItems").Elements()
	items := v.keyword("items")
	n := max(least, 1, len(prefix))
	if most >= 0 {
		n = min(n, most)
	}
	if g.lean(b) || items == nil && len(prefix) == 0 {
		n = least
	}
	b = append(b, '[')
	for i := range n {
		mark := len(b)
		if i > 0 {
			b = append(b, ',')
		}
		of := items
		if i < len(prefix) {
			of = prefix[i]
		}
		var ok bool
		if i < least {
			b, ok = g.orNull(b, of)
		} else {
			b, ok = g.value(b, of)
		}
		if !ok {
			if i < least || g.over {
				return b, false
			}
			b = b[:mark]
			break
		}
	}
	return append(b, ']'), true
}
