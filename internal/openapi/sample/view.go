package sample

import (
	"maps"
	"slices"
	"strings"

	"github.com/tidelock/tidelock/internal/openapi"
)

// view is a set of schemas that one value has to fit, with the choices made among their alternatives.
type view struct {
	schemas []*openapi.Node
	chosen  []*openapi.Node   // the lists of oneOf and anyOf, and the conditions, of which one was taken
	named   string            // the first reference that led here
	tags    map[string]string // properties that tell by their text what an object is: discriminators
}

// choice is a set of alternatives of which one is to be taken.
type choice struct {
	from    *openapi.Node // what says so
	options [][]*openapi.Node
	by      *openapi.Node // the discriminator that tells them apart; nil where none does
}

// choice returns the next set of alternatives of which none was taken yet.
func (v view) choice() (choice, bool) {
	for _, schema := range v.schemas {
		for _, keyword := range []string{"oneOf", "anyOf"} {
			if list := schema.Member(keyword); list.Len() > 0 && !slices.Contains(v.chosen, list) {
				c := choice{from: list, by: schema.Member("discriminator")}
				for _, option := range list.Elements() {
					c.options = append(c.options, []*openapi.Node{option})
				}
				return c, true
			}
		}
		cond := schema.Member("if")
		if cond == nil || slices.Contains(v.chosen, cond) {
			continue
		}
		c := choice{from: cond}
		for _, option := range [][]*openapi.Node{{cond, schema.Member("then")}, {schema.Member("else")}} {
			c.options = append(c.options, slices.DeleteFunc(option, func(n *openapi.Node) bool { return n == nil }))
		}
		return c, true
	}
	return choice{}, false
}

// choose takes the first alternative that leads to a value that fits: of oneOf that one only.
func (g *generator) choose(b []byte, v view, c choice) ([]byte, bool) {
	v.chosen = append(slices.Clone(v.chosen), c.from)
	mark := len(b)
	before, sparse := g.variant, g.sparse
	defer func() { g.variant, g.sparse = before, sparse }()
	const variants = 4
	first := 0
	if g.random != nil {
		first = g.random.IntN(len(c.options))
	}
	for i := range variants {
		g.variant = before + i
		if i == variants-1 { // two options may differ by what must not be there
			g.variant, g.sparse = before, true
		}
		for j := range c.options {
			option := c.options[(first+j)%len(c.options)]
			out, ok := g.with(b[:mark], v.tagged(c.by, option), option)
			if ok && g.proven(v, out[mark:]) {
				return out, true
			}
			if g.over {
				return b[:mark], false
			}
			b = out
		}
	}
	return b[:mark], false
}

// proven reports whether a value fits all schemas of a view.
func (g *generator) proven(v view, b []byte) bool {
	value, err := openapi.Parse(b)
	return err == nil && g.fits(v, value)
}

// fits reports whether a value fits all schemas of a view.
func (g *generator) fits(v view, value *openapi.Node) bool {
	return !slices.ContainsFunc(v.schemas, func(s *openapi.Node) bool {
		return len(g.validator.Validate(s, value, g.use)) > 0
	})
}

// tagged returns v with a note how a discriminator tells that a value is the option, a reference.
func (v view) tagged(by *openapi.Node, option []*openapi.Node) view {
	v.named = ""
	if by == nil || len(option) == 0 {
		return v
	}
	return v.marked(by, option[0].Member("$ref").Text())
}

// discriminated returns v with a note how a value of the schema that led here is told from others of a common base.
func (v view) discriminated(schema *openapi.Node) view {
	by := schema.Member("discriminator")
	if by == nil || schema.Member("oneOf") != nil || schema.Member("anyOf") != nil {
		return v
	}
	return v.marked(by, v.named)
}

// marked returns v with the text by which a discriminator names the schema of a reference.
func (v view) marked(by *openapi.Node, ref string) view {
	property := by.Member("propertyName").Text()
	if property == "" || ref == "" || v.tags[property] != "" {
		return v
	}
	tag := ref[strings.LastIndexByte(ref, '/')+1:]
	for name, to := range by.Member("mapping").Members() {
		if to.Text() == ref || to.Text() == tag {
			tag = name
			break
		}
	}
	tags := maps.Clone(v.tags)
	if tags == nil {
		tags = map[string]string{}
	}
	tags[property] = tag
	v.tags = tags
	return v
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

// all returns the values of a keyword in all schemas that have it.
func (v view) all(name string) []*openapi.Node {
	var out []*openapi.Node
	for _, schema := range v.schemas {
		if n := schema.Member(name); n != nil {
			out = append(out, n)
		}
	}
	return out
}

// intricate reports whether a value of the view may turn out not to fit it, although it was made by its keywords.
func (v view) intricate() bool {
	for _, name := range []string{
		"not", "oneOf", "anyOf", "if", "contains", "uniqueItems", "pattern", "multipleOf", "enum", "const", "propertyNames",
		"patternProperties", "minProperties", "maxProperties", "dependentRequired", "dependentSchemas", "unevaluatedProperties",
		"unevaluatedItems", "minLength", "maxLength",
	} {
		if v.keyword(name) != nil {
			return true
		}
	}
	return len(v.schemas) > 1
}
