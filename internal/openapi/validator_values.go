package openapi

import (
	"cmp"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// rational returns the exact value of a number, whose size was bounded when it was read; zero for anything else.
func rational(n *Node) *big.Rat {
	v, ok := new(big.Rat).SetString(n.Text())
	if !ok {
		return new(big.Rat)
	}
	return v
}

// isWhole reports whether a number has no fraction: 7, and 7.0 and 7e2 too.
func isWhole(n *Node) bool {
	digits := strings.TrimPrefix(n.text, "-")
	return strings.Trim(digits, "0123456789") == "" || rational(n).IsInt()
}

func (r *run) checkNumber(schema, value *Node) {
	bound := func(keyword string, broken func(order int) bool, words string) {
		if limit := schema.Member(keyword); limit.Kind() == Number && broken(compare(value, limit)) {
			r.violation(value, "must be %s %s", words, limit.text)
		}
	}
	if schema.Member("exclusiveMinimum").IsTrue() {
		bound("minimum", func(o int) bool { return o <= 0 }, "more than")
	} else {
		bound("minimum", func(o int) bool { return o < 0 }, "at least")
	}
	if schema.Member("exclusiveMaximum").IsTrue() {
		bound("maximum", func(o int) bool { return o >= 0 }, "less than")
	} else {
		bound("maximum", func(o int) bool { return o > 0 }, "at most")
	}
	bound("exclusiveMinimum", func(o int) bool { return o <= 0 }, "more than")
	bound("exclusiveMaximum", func(o int) bool { return o >= 0 }, "less than")
	m := schema.Member("multipleOf")
	if m.Kind() != Number {
		return
	}
	if by := rational(m); by.Sign() > 0 && !new(big.Rat).Quo(rational(value), by).IsInt() {
		r.violation(value, "must be a multiple of %s", m.text)
	}
}

// compare orders two numbers by their exact values.
func compare(a, b *Node) int {
	if x, err := strconv.ParseInt(a.text, 10, 64); err == nil {
		if y, err := strconv.ParseInt(b.text, 10, 64); err == nil {
			return cmp.Compare(x, y)
		}
	}
	return rational(a).Cmp(rational(b))
}

// size reads a keyword that counts; it says false where the schema has none.
func size(schema *Node, keyword string) (int, bool) {
	n := schema.Member(keyword)
	if n.Kind() != Number {
		return 0, false
	}
	if i, err := strconv.Atoi(n.text); err == nil {
		return i, true
	}
	v := rational(n)
	if !v.IsInt() || !v.Num().IsInt64() {
		return 0, false
	}
	return int(v.Num().Int64()), true
}

func (r *run) checkSize(schema, value *Node, have int, least, most, of string) {
	if n, ok := size(schema, least); ok && have < n {
		r.violation(value, "must have at least %d %s", n, of)
	}
	if n, ok := size(schema, most); ok && have > n {
		r.violation(value, "must have at most %d %s", n, of)
	}
}

func (r *run) checkString(schema, value *Node) {
	r.checkSize(schema, value, utf8.RuneCountInString(value.text), "minLength", "maxLength", "characters")
	p := schema.Member("pattern")
	if p.Kind() != String {
		return
	}
	if re := r.pattern(p.text); re != nil && !re.MatchString(value.text) {
		r.violation(value, "must match %s", short(p))
	}
}

// pattern compiles an expression. Patterns are of ECMA-262; one that Go cannot express (lookahead) asserts nothing.
func (v *Validator) pattern(expr string) *regexp.Regexp {
	re, ok := v.patterns[expr]
	if !ok {
		re, _ = CompilePattern(expr)
		v.patterns[expr] = re
	}
	return re
}

func (r *run) checkArray(schema, value *Node) {
	r.checkSize(schema, value, len(value.items), "minItems", "maxItems", "items")
	prefix := schema.Member("prefixItems").Elements()
	items := schema.Member("items")
	for i, item := range value.items {
		switch {
		case i < len(prefix):
			r.within(step{place: i, element: true}, prefix[i], item)
		case items != nil:
			r.within(step{place: i, element: true}, items, item)
		}
	}
	if schema.Member("uniqueItems").IsTrue() {
		seen := map[string]bool{}
		for _, item := range value.items {
			key := canonical(item)
			if seen[key] {
				r.violation(value, "must not have two equal items")
				break
			}
			seen[key] = true
		}
	}
	r.checkContains(schema, value)
}

func (r *run) checkContains(schema, value *Node) {
	contains := schema.Member("contains")
	if !r.v31 || contains == nil {
		return
	}
	n := 0
	for _, item := range value.items {
		if r.fits(contains, item) {
			n++
		}
	}
	least, ok := size(schema, "minContains")
	if !ok {
		least = 1
	}
	most, limited := size(schema, "maxContains")
	if n < least || limited && n > most {
		r.violation(value, "must have another number of items that fit the schema of contains: %d do", n)
	}
}

func (r *run) checkObject(schema, value *Node) {
	r.checkSize(schema, value, len(value.items), "minProperties", "maxProperties", "properties")
	properties := schema.Member("properties")
	for _, name := range schema.Member("required").Elements() {
		if value.Member(name.text) == nil && !r.optional(properties.Member(name.text)) {
			r.violation(value, "must have the property %q", name.text)
		}
	}
	for name, item := range value.Members() {
		r.way = append(r.way, step{name: name})
		r.checkProperty(schema, name, item)
		r.way = r.way[:len(r.way)-1]
	}
	if !r.v31 {
		return
	}
	for name, list := range schema.Member("dependentRequired").Members() {
		for _, other := range list.Elements() {
			if value.Member(name) != nil && value.Member(other.text) == nil {
				r.violation(value, "must have the property %q where it has %q", other.text, name)
			}
		}
	}
	for name, sub := range schema.Member("dependentSchemas").Members() {
		if value.Member(name) != nil {
			r.check(sub, value)
		}
	}
	if names := schema.Member("propertyNames"); names != nil {
		for name := range value.Members() {
			r.check(names, &Node{kind: String, text: name, source: value.source, line: value.line})
		}
	}
}

// optional reports whether a required property may be missing, as a value of the other direction is.
func (r *run) optional(property *Node) bool {
	property = r.resolved(property)
	return r.use != InResponse && property.Member("readOnly").IsTrue() ||
		r.use != InRequest && r.use != Received && property.Member("writeOnly").IsTrue()
}

// resolved follows references until there is a schema.
func (r *run) resolved(schema *Node) *Node {
	for range maxChain {
		ref := schema.Member("$ref")
		if ref.Kind() != String {
			break
		}
		schema = r.root.Resolve(ref.text)
	}
	return schema
}

func (r *run) checkProperty(schema *Node, name string, item *Node) {
	known := false
	if p := schema.Member("properties").Member(name); p != nil {
		known = true
		if r.use == Received && r.resolved(p).Member("readOnly").IsTrue() {
			return
		}
		r.check(p, item)
	}
	for expr, p := range schema.Member("patternProperties").Members() {
		if re := r.pattern(expr); re != nil && re.MatchString(name) {
			known = true
			r.check(p, item)
		}
	}
	switch more := schema.Member("additionalProperties"); {
	case known || more == nil || more.IsTrue():
	case more.Kind() == Bool:
		r.violation(item, "is not a property that the schema allows")
	default:
		r.check(more, item)
	}
}

// equal compares two values as JSON does: numbers by value, objects without order.
func equal(a, b *Node) bool {
	if a.Kind() != b.Kind() {
		return false
	}
	switch a.Kind() {
	case Absent, Null:
		return true
	case Bool, String:
		return a.text == b.text
	case Number:
		return a.text == b.text || rational(a).Cmp(rational(b)) == 0
	case Array, Object:
	}
	return len(a.items) == len(b.items) && canonical(a) == canonical(b)
}

// canonical returns a text that is equal for equal values.
func canonical(n *Node) string {
	switch n.Kind() {
	case Number:
		return rational(n).RatString()
	case Array:
		parts := make([]string, len(n.items))
		for i, item := range n.items {
			parts[i] = canonical(item)
		}
		return "[" + strings.Join(parts, ",") + "]"
	case Object:
		parts := make([]string, 0, len(n.items))
		for name, item := range n.Members() {
			parts = append(parts, strconv.Quote(name)+":"+canonical(item))
		}
		slices.SortFunc(parts, cmp.Compare[string])
		return "{" + strings.Join(parts, ",") + "}"
	case Absent, Null, Bool, String:
	}
	return string(n.JSON())
}
