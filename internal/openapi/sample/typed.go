package sample

import (
	"slices"

	"github.com/tidelock/tidelock/internal/openapi"
)

// types returns the types that all schemas allow, in the order to try them: null comes last. Where none says anything it
// is the type that the keywords are about.
func (v view) types() []string {
	var allowed []string
	said := false
	for _, schema := range v.schemas {
		types := schema.Types()
		switch {
		case types == nil:
		case !said:
			allowed, said = types, true
		default:
			allowed = common(allowed, types)
		}
	}
	if !said {
		return v.implied()
	}
	out := slices.DeleteFunc(slices.Clone(allowed), func(t string) bool { return t == "null" })
	if len(out) < len(allowed) {
		out = append(out, "null")
	}
	return out
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

// implied returns the types that the keywords of schemas without a type are about, and others where they exclude that.
func (v view) implied() []string {
	all := []string{"object", "array", "string", "number", "boolean", "null"}
	for _, schema := range v.schemas {
		for name := range schema.Members() {
			about := ""
			switch name {
			case "items", "prefixItems", "minItems", "maxItems", "uniqueItems", "contains", "unevaluatedItems":
				about = "array"
			case "pattern", "minLength", "maxLength", "format":
				about = "string"
			case "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf":
				about = "number"
			default:
				continue
			}
			return append([]string{about}, slices.DeleteFunc(all, func(t string) bool { return t == about })...)
		}
	}
	return all
}

// typed appends a value of one of the types that are allowed: the first that leads to one that fits.
func (g *generator) typed(b []byte, v view) ([]byte, bool) {
	mark := len(b)
	doubtful := v.intricate()
	variants := 1
	if doubtful {
		variants = 3
	}
	before := g.variant
	defer func() { g.variant = before }()
	for _, t := range v.types() {
		for i := range variants {
			g.variant = before + i
			out, ok := g.ofType(b[:mark], v, t)
			if ok && (!doubtful || g.proven(v, out[mark:])) {
				return out, true
			}
			b = out
			if g.over || !ok {
				break // another variant would not be there either
			}
		}
	}
	return b[:mark], false
}

func (g *generator) ofType(b []byte, v view, t string) ([]byte, bool) {
	switch t {
	case "object":
		return g.object(b, v)
	case "array":
		return g.array(b, v)
	case "string":
		s, ok := g.text(v)
		return openapi.AppendString(b, s), ok
	case "integer", "number":
		s, ok := g.number(v, t == "integer")
		return append(b, s...), ok
	case "boolean":
		if g.pick()%2 == 0 {
			return append(b, "true"...), true
		}
		return append(b, "false"...), true
	case "null":
		return append(b, "null"...), true
	}
	return b, false
}
