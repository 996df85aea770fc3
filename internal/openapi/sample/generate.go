package sample

import (
	"errors"
	"fmt"
	"math/rand/v2"
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

// Maker makes the values of one document. It is for one goroutine.
type Maker struct {
	root      *openapi.Node
	validator *openapi.Validator
	plain     map[*openapi.Node]made
	size      int // of all that was made
}

type made struct {
	value []byte
	err   error
}

// New returns a Maker for the document root, which has passed openapi.Bundle.
func New(root *openapi.Node) *Maker {
	return &Maker{root: root, validator: openapi.NewValidator(root), plain: map[*openapi.Node]made{}}
}

// Plain returns the plainest value that fits a schema, as JSON, as a server would send it: of the examples where the
// schema has some. It is made once, also for schemas that share what they refer to. It is an error if no value was found.
func (m *Maker) Plain(schema *openapi.Node) ([]byte, error) {
	key := schema
	if schema.Len() == 1 { // beside a reference there may be more that counts
		key = m.root.Follow(schema)
	}
	out, ok := m.plain[key]
	if !ok {
		out.value, out.err = recipe{use: openapi.InResponse, total: m.size}.make(m.validator, m.root, schema)
		m.size += len(out.value)
		m.plain[key] = out
	}
	return out.value, out.err
}

// Of returns a value that fits a schema of the document root, as JSON, as one side would send it. It is the same for the
// same seed; seed 0 makes the plainest value, of the examples where the schema has some.
func Of(root, schema *openapi.Node, use openapi.Use, seed uint64) ([]byte, error) {
	return recipe{use: use, seed: seed}.make(openapi.NewValidator(root), root, schema)
}

// recipe says how a value is made.
type recipe struct {
	// use leaves out what the other side alone may send.
	use openapi.Use
	// seed has values vary with it; 0 makes the plainest ones, examples first.
	seed uint64
	// total is the size of what was made before for the document.
	total int
}

// make returns a value that fits the schema. What is made is held against the schema once more: it fits, or there is an
// error that says why.
func (r recipe) make(validator *openapi.Validator, root, schema *openapi.Node) ([]byte, error) {
	g := generator{
		recipe: r, root: root, validator: validator, v31: root.Member("openapi").Text() >= "3.1", soft: softSize,
		active: map[*openapi.Node]bool{},
	}
	if r.total > softTotal {
		g.soft = 0
	}
	if r.seed != 0 {
		g.random = rand.New(rand.NewPCG(r.seed, r.seed)) //nolint:gosec // values that are made up, and the same for a seed
	}
	b, ok := g.value(nil, schema)
	switch {
	case g.over:
		return nil, errors.New("the schema is too large to make a value of: give an example")
	case ok:
		return b, g.verify(schema, b)
	case g.blocked != nil:
		return nil, fmt.Errorf("schema %s can never be finite: it requires itself", g.name(g.blocked))
	}
	return nil, fmt.Errorf("no value was found that fits the schema%s: give an example", g.failed)
}

// verify holds what was made against the whole schema.
func (g *generator) verify(schema *openapi.Node, b []byte) error {
	value, err := openapi.Parse(b)
	if err != nil {
		return fmt.Errorf("a value of the schema: %w", err)
	}
	if wrong := g.validator.Validate(schema, value, g.use); len(wrong) > 0 {
		return fmt.Errorf("no value was found that fits the schema (%s): give an example", wrong[0])
	}
	return nil
}

type generator struct {
	recipe
	root      *openapi.Node
	validator *openapi.Validator
	v31       bool
	soft      int
	active    map[*openapi.Node]bool // the schemas that are being made
	blocked   *openapi.Node          // the last one that would have been made within itself
	random    *rand.Rand             // nil where values do not vary
	variant   int                    // which of several values to make
	sparse    bool                   // only what is required
	at        []string               // the properties on the way to what is being made
	failed    string                 // where something that is required could not be made first: " (/links/href)"
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

// pick returns a number that says which of several values to make.
func (g *generator) pick() int {
	const values = 1 << 20
	if g.random != nil {
		return g.random.IntN(values) + g.variant
	}
	return g.variant
}

// lean reports whether a soft bound is reached.
func (g *generator) lean(b []byte) bool { return g.depth > softDepth || len(b) > g.soft }

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
	schema = g.root.Follow(schema)
	if !g.v31 {
		return schema.Member("nullable").IsTrue()
	}
	return slices.Contains(schema.Types(), "null")
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
	if out, ok := g.given(b, v); ok {
		return out, true
	}
	if c, ok := v.choice(); ok {
		return g.choose(b, v, c)
	}
	return g.typed(b, v)
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
		*v = v.discriminated(schema)
	}
	if ref.Kind() == openapi.String {
		if v.named == "" {
			v.named = ref.Text()
		}
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
