package openapi

import (
	"fmt"
	"regexp"
	"strings"
)

// Use is what a value is used for: it decides whether readOnly and writeOnly properties may be missing.
type Use uint8

// The uses.
const (
	Either     Use = iota // neither kind of property has to be there
	InRequest             // readOnly properties need not be there
	InResponse            // writeOnly properties need not be there
	Received              // as InRequest, but readOnly properties are not looked at, as a server ignores them, and formats are
)

// Violation is one way in which a value does not fit its schema.
type Violation struct {
	// Pointer is the JSON pointer of the value within what was checked; empty for the whole.
	Pointer string
	// Value is the value there.
	Value *Node
	// Text says what must hold: "must be integer".
	Text string
}

// String returns "/id must be integer".
func (v Violation) String() string {
	if v.Pointer == "" {
		return v.Text
	}
	return v.Pointer + " " + v.Text
}

// Validator checks values against the schemas of one document: by JSON Schema 2020-12 for OpenAPI 3.1, by OpenAPI's own
// dialect for 3.0. Numbers are compared exactly. Formats are asserted only of what was received. It is for one goroutine.
type Validator struct {
	root     *Node
	v31      bool
	patterns map[string]*regexp.Regexp
	way      []step // to lend to the next run
}

// NewValidator returns a Validator of the schemas in the document root, which has passed Bundle.
func NewValidator(root *Node) *Validator {
	return &Validator{
		root:     root,
		v31:      !strings.HasPrefix(root.Member("openapi").Text(), "3.0"),
		patterns: map[string]*regexp.Regexp{},
	}
}

// Bounds of one validation.
const (
	maxSteps      = 500_000 // schemas applied
	maxViolations = 20
)

// Validate returns how value does not fit schema; nothing where it does. Its work is bounded: where that does not do, this
// is the violation.
func (v *Validator) Validate(schema, value *Node, use Use) []Violation {
	return v.run(schema, value, use, use == Received)
}

func (v *Validator) run(schema, value *Node, use Use, formats bool) []Violation {
	r := run{Validator: v, use: use, formats: formats, way: v.way[:0]}
	r.check(schema, value)
	v.way = r.way
	if r.steps > maxSteps {
		return []Violation{{Value: value, Text: fmt.Sprintf("takes more than %d steps to check", maxSteps)}}
	}
	return r.found
}

// run is one validation.
type run struct {
	*Validator
	use     Use
	formats bool // are asserted
	steps   int
	found   []Violation
	way     []step // from the whole to the value that is checked
	wrong   bool   // something is
	// silent says that nobody asks what it is.
	silent bool
}

func (r *run) violation(value *Node, format string, args ...any) {
	r.wrong = true
	if !r.silent && len(r.found) < maxViolations {
		r.found = append(r.found, Violation{Pointer: r.pointer(), Value: value, Text: fmt.Sprintf(format, args...)})
	}
}

// fits reports whether value fits schema, and forgets why not.
func (r *run) fits(schema, value *Node) bool {
	wrong, silent := r.wrong, r.silent
	r.wrong, r.silent = false, true
	r.check(schema, value)
	ok := !r.wrong
	r.wrong, r.silent = wrong, silent
	return ok
}

// check applies one schema to one value.
func (r *run) check(schema, value *Node) {
	if r.steps++; r.steps > maxSteps {
		return
	}
	if schema.Kind() == Bool {
		if !schema.IsTrue() {
			r.violation(value, "must not be there")
		}
		return
	}
	if ref := schema.Member("$ref"); ref.Kind() == String {
		r.check(r.root.Resolve(ref.text), value)
		if !r.v31 {
			return
		}
	}
	if !r.v31 && value.Kind() == Null && schema.Member("nullable").IsTrue() {
		return
	}
	if !r.checkType(schema, value) {
		return // what follows from a wrong type says nothing new
	}
	r.checkEqual(schema, value)
	r.checkCombined(schema, value)
	switch value.Kind() {
	case Number:
		r.checkNumber(schema, value)
		r.checkFormat(schema, value)
	case String:
		r.checkString(schema, value)
		r.checkFormat(schema, value)
	case Array:
		r.checkArray(schema, value)
		r.checkUnevaluated(schema, value)
	case Object:
		r.checkObject(schema, value)
		r.checkUnevaluated(schema, value)
	case Absent, Null, Bool:
	}
}

func (r *run) checkType(schema, value *Node) bool {
	t := schema.Member("type")
	switch t.Kind() {
	case String:
		if isOfType(value, t.text) {
			return true
		}
	case Array:
		for _, item := range t.items {
			if isOfType(value, item.text) {
				return true
			}
		}
	case Absent, Null, Bool, Number, Object:
		return true
	}
	r.violation(value, "must be %s", strings.Join(texts(t), " or "))
	return false
}

func isOfType(value *Node, want string) bool {
	switch value.Kind() {
	case Null:
		return want == "null"
	case Bool:
		return want == "boolean"
	case Number:
		return want == "number" || want == "integer" && isWhole(value)
	case String:
		return want == "string" || want == "file"
	case Array:
		return want == "array"
	case Object:
		return want == "object"
	case Absent:
	}
	return false
}

func (r *run) checkEqual(schema, value *Node) {
	if c := schema.Member("const"); r.v31 && c != nil && !equal(c, value) {
		r.violation(value, "must be %s", short(c))
	}
	enum := schema.Member("enum")
	if enum.Kind() != Array {
		return
	}
	for _, item := range enum.items {
		if equal(item, value) {
			return
		}
	}
	r.violation(value, "must be one of %s", short(enum))
}

// short returns the start of a value's JSON, for a message.
func short(n *Node) string {
	const longest = 200
	s := string(n.JSON())
	if len(s) <= longest {
		return s
	}
	return strings.ToValidUTF8(s[:longest], "") + "…"
}

func (r *run) checkCombined(schema, value *Node) {
	for _, item := range schema.Member("allOf").Elements() {
		r.check(item, value)
	}
	if some := schema.Member("anyOf"); some.Kind() == Array && r.count(some, value) == 0 {
		r.fitsNone(schema, "anyOf", value)
	}
	if one := schema.Member("oneOf"); one.Kind() == Array {
		switch n := r.count(one, value); {
		case n == 0:
			r.fitsNone(schema, "oneOf", value)
		case n > 1 && schema.Member("discriminator") == nil && !r.toldByFormat(one, value):
			r.violation(value, "must fit only one of the schemas of oneOf, and fits %d", n)
		}
	}
	if not := schema.Member("not"); not != nil && r.fits(not, value) {
		r.violation(value, "must not fit the schema of not")
	}
	cond := schema.Member("if")
	if !r.v31 || cond == nil {
		return
	}
	branch := schema.Member("else")
	if r.fits(cond, value) {
		branch = schema.Member("then")
	}
	if branch != nil {
		r.check(branch, value)
	}
}

// toldByFormat reports whether a value fits only one of several schemas once formats are asserted: a date or an address.
func (r *run) toldByFormat(schemas, value *Node) bool {
	before := r.formats
	r.formats = true
	n := r.count(schemas, value)
	r.formats = before
	return n == 1
}

func (r *run) count(schemas, value *Node) int {
	n := 0
	for _, item := range schemas.items {
		if r.fits(item, value) {
			n++
		}
	}
	return n
}
