package mock

import (
	"errors"
	"fmt"
	"slices"

	"github.com/tidelock/tidelock/internal/openapi"
)

// Bounds of generation. Where a soft one is reached only what is required goes on.
const (
	softDepth = 8
	softSize  = 16 << 10 // bytes of one body
	softTotal = 32 << 20 // bytes of all bodies of a document
	hardSize  = 1 << 20
	hardCalls = 100_000
)

// generate returns a value that fits the schema, as JSON: always the same for the same schema. total is the size of what
// was generated before for the document.
func generate(validator *openapi.Validator, root, schema *openapi.Node, total int) ([]byte, error) {
	g := generator{
		root: root, validator: validator, v31: root.Member("openapi").Text() >= "3.1", soft: softSize,
		active: map[*openapi.Node]bool{},
	}
	if total > softTotal {
		g.soft = 0
	}
	b, ok := g.value(nil, schema)
	switch {
	case g.over:
		return nil, errors.New("the schema is too large to make a value of: give an example")
	case ok:
		return b, nil
	case g.blocked != nil:
		return nil, fmt.Errorf("schema %s can never be finite: it requires itself", g.name(g.blocked))
	}
	return nil, errors.New("no value fits the schema: give an example")
}

type generator struct {
	root      *openapi.Node
	validator *openapi.Validator
	v31       bool
	soft      int
	active    map[*openapi.Node]bool // the schemas that are being made
	blocked   *openapi.Node          // the last one that would have been made within itself
	depth     int
	calls     int
	over      bool
}

// name returns the name that a schema has in components.
func (g *generator) name(schema *openapi.Node) string {
	for name, n := range g.root.Member("components").Member("schemas").Members() {
		if n == schema {
			return name
		}
	}
	return "of this operation"
}

// lean reports whether a soft bound is reached.
func (g *generator) lean(b []byte) bool { return g.depth > softDepth || len(b) > g.soft }

// view is a set of schemas that one value has to fit, with the choices made among their alternatives.
type view struct {
	schemas []*openapi.Node
	chosen  []*openapi.Node // the lists of oneOf and anyOf from which one was taken
}

// value appends a value that fits all schemas. It says false where there is none without going in circles; then what was
// appended means nothing.
func (g *generator) value(b []byte, schemas ...*openapi.Node) ([]byte, bool) {
	g.depth++
	defer func() { g.depth-- }()
	return g.with(b, view{}, schemas)
}

// orNull is value, and null where only that is left.
func (g *generator) orNull(b []byte, schemas ...*openapi.Node) ([]byte, bool) {
	mark := len(b)
	b, ok := g.value(b, schemas...)
	if ok || g.over {
		return b, ok
	}
	for _, s := range schemas {
		if !g.nullable(s) {
			return b[:mark], false
		}
	}
	return append(b[:mark], "null"...), true
}

func (g *generator) nullable(schema *openapi.Node) bool {
	schema = resolve(g.root, schema)
	if !g.v31 {
		return schema.Member("nullable").IsTrue()
	}
	return slices.Contains(typesOf(schema), "null")
}

// with adds schemas to a view and appends a value that fits it.
func (g *generator) with(b []byte, v view, add []*openapi.Node) ([]byte, bool) {
	g.calls++
	if g.over = g.over || g.calls > hardCalls || len(b) > hardSize; g.over {
		return b, false
	}
	before := len(v.schemas)
	v.schemas = slices.Clone(v.schemas)
	for _, schema := range add {
		if !g.expand(&v, schema) {
			return b, false
		}
	}
	for _, schema := range v.schemas[before:] {
		g.active[schema] = true
		defer delete(g.active, schema)
	}
	if given := g.given(v); given != nil {
		return append(b, given.JSON()...), true
	}
	if alternatives := v.choice(); alternatives != nil {
		return g.choose(b, v, alternatives)
	}
	return g.typed(b, v)
}

// choose takes the first alternative that leads to a value.
func (g *generator) choose(b []byte, v view, alternatives *openapi.Node) ([]byte, bool) {
	v.chosen = append(slices.Clone(v.chosen), alternatives)
	mark := len(b)
	for _, alternative := range alternatives.Elements() {
		out, ok := g.with(b[:mark], v, []*openapi.Node{alternative})
		if ok {
			return out, true
		}
		b = out
	}
	return b[:mark], false
}

// expand adds a schema, what it refers to, and what its allOf says. It says false where one of them is being made
// already, or fits nothing.
func (g *generator) expand(v *view, schema *openapi.Node) bool {
	if g.calls++; g.calls > hardCalls {
		g.over = true
		return false
	}
	if schema.Kind() != openapi.Object {
		return schema.Kind() != openapi.Bool || schema.IsTrue()
	}
	if slices.Contains(v.schemas, schema) {
		return true
	}
	if g.active[schema] {
		g.blocked = schema
		return false
	}
	ref := schema.Member("$ref")
	if ref.Kind() != openapi.String || g.v31 {
		v.schemas = append(v.schemas, schema)
	}
	if ref.Kind() == openapi.String {
		if !g.expand(v, g.root.Resolve(ref.Text())) {
			return false
		}
		if !g.v31 {
			return true
		}
	}
	for _, part := range schema.Member("allOf").Elements() {
		if !g.expand(v, part) {
			return false
		}
	}
	return true
}

// given returns the value that the schemas name themselves: an example, a default, a const or the first of an enum. It
// has to fit all of them: an example of one part lacks what the others add, and a default may be {} for "as below".
func (g *generator) given(v view) *openapi.Node {
	for _, find := range []func(*openapi.Node) *openapi.Node{
		func(s *openapi.Node) *openapi.Node { return s.Member("example") },
		func(s *openapi.Node) *openapi.Node { return first(s.Member("examples")) },
		func(s *openapi.Node) *openapi.Node { return s.Member("default") },
		func(s *openapi.Node) *openapi.Node { return s.Member("const") },
		func(s *openapi.Node) *openapi.Node { return first(s.Member("enum")) },
	} {
		for _, schema := range v.schemas {
			if value := find(schema); value != nil && g.fits(v, value) {
				return value
			}
		}
	}
	return nil
}

// fits reports whether a value fits all schemas of a view.
func (g *generator) fits(v view, value *openapi.Node) bool {
	return !slices.ContainsFunc(v.schemas, func(s *openapi.Node) bool {
		return len(g.validator.Validate(s, value, openapi.InResponse)) > 0
	})
}

func first(n *openapi.Node) *openapi.Node {
	if items := n.Elements(); len(items) > 0 {
		return items[0]
	}
	return nil
}

// choice returns the next list of alternatives of which none was taken yet.
func (v view) choice() *openapi.Node {
	for _, schema := range v.schemas {
		for _, keyword := range []string{"oneOf", "anyOf"} {
			if list := schema.Member(keyword); list.Len() > 0 && !slices.Contains(v.chosen, list) {
				return list
			}
		}
	}
	return nil
}
