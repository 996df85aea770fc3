package openapi

import "strconv"

// evaluated is what schemas say something about: names of properties, or places of items.
type evaluated map[string]bool

// checkUnevaluated applies unevaluatedProperties and unevaluatedItems: to what no other keyword of the schema, nor of a
// schema that applies to the same value, says anything about (JSON Schema 2020-12 Core, section 11).
func (r *run) checkUnevaluated(schema, value *Node) {
	keyword := "unevaluatedProperties"
	if value.Kind() == Array {
		keyword = "unevaluatedItems"
	}
	rest := schema.Member(keyword)
	if !r.v31 || rest == nil {
		return
	}
	seen := evaluated{}
	r.evaluate(schema, value, seen, keyword)
	for i, item := range value.items {
		name := r.nameOf(value, i)
		if !seen[name] {
			r.within(step{name: name}, rest, item)
		}
	}
}

// nameOf returns the name of a member, or the number of an element.
func (r *run) nameOf(value *Node, i int) string {
	if value.Kind() == Object {
		return value.names[i]
	}
	return strconv.Itoa(i)
}

// evaluate notes what a schema that value fits says something about, but for the keyword of that name in schema itself.
func (r *run) evaluate(schema, value *Node, seen evaluated, but string) {
	if r.steps++; r.steps > maxSteps || schema.Kind() != Object {
		return
	}
	if value.Kind() == Array {
		r.evaluateItems(schema, value, seen, but)
	} else {
		r.evaluateProperties(schema, value, seen, but)
	}
	if ref := schema.Member("$ref"); ref.Kind() == String {
		r.evaluate(r.root.Resolve(ref.text), value, seen, "")
	}
	for _, part := range schema.Member("allOf").Elements() {
		r.evaluate(part, value, seen, "")
	}
	for _, keyword := range []string{"anyOf", "oneOf"} {
		for _, part := range schema.Member(keyword).Elements() {
			if r.fits(part, value) {
				r.evaluate(part, value, seen, "")
			}
		}
	}
	if cond := schema.Member("if"); cond != nil {
		branch := "else"
		if r.fits(cond, value) {
			branch = "then"
			r.evaluate(cond, value, seen, "")
		}
		r.evaluate(schema.Member(branch), value, seen, "")
	}
	for name, part := range schema.Member("dependentSchemas").Members() {
		if value.Member(name) != nil {
			r.evaluate(part, value, seen, "")
		}
	}
}

func (r *run) evaluateProperties(schema, value *Node, seen evaluated, but string) {
	rest := schema.Member("additionalProperties") != nil || but == "" && schema.Member("unevaluatedProperties") != nil
	properties, patterns := schema.Member("properties"), schema.Member("patternProperties")
	for name := range value.Members() {
		known := rest || properties.Member(name) != nil
		for expr := range patterns.Members() {
			re := r.pattern(expr)
			known = known || re != nil && re.MatchString(name)
		}
		if known {
			seen[name] = true
		}
	}
}

func (r *run) evaluateItems(schema, value *Node, seen evaluated, but string) {
	rest := schema.Member("items") != nil || but == "" && schema.Member("unevaluatedItems") != nil
	first := schema.Member("prefixItems").Len()
	contains := schema.Member("contains")
	for i, item := range value.items {
		if rest || i < first || contains != nil && r.fits(contains, item) {
			seen[strconv.Itoa(i)] = true
		}
	}
}
