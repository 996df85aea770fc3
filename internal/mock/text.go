package mock

import (
	"errors"
	"slices"
	"strings"

	"github.com/tidelock/tidelock/internal/openapi"
)

// types is a set of JSON types.
type types uint8

const (
	isText types = 1 << iota
	isNumber
	isBool
	isNull
	isArray
	isObject

	isScalar = isText | isNumber | isBool | isNull
	isAny    = isScalar | isArray | isObject
)

// typesIn returns the types that a schema allows: text is read as one of them.
func typesIn(root, schema *openapi.Node, depth int) types {
	const deepest = 16
	if schema.Kind() != openapi.Object || depth > deepest {
		return isAny
	}
	out := isAny
	if ref := schema.Member("$ref"); ref.Kind() == openapi.String {
		out = typesIn(root, root.Resolve(ref.Text()), depth+1)
	}
	if declared := schema.Types(); declared != nil {
		own := types(0)
		for _, t := range declared {
			own |= typeBit(t)
		}
		if schema.Member("nullable").IsTrue() {
			own |= isNull
		}
		out &= own
	}
	for _, part := range schema.Member("allOf").Elements() {
		out &= typesIn(root, part, depth+1)
	}
	for _, keyword := range []string{"oneOf", "anyOf"} {
		some := types(0)
		for _, part := range schema.Member(keyword).Elements() {
			some |= typesIn(root, part, depth+1)
		}
		if some != 0 {
			out &= some
		}
	}
	if out == isAny {
		out = impliedTypes(schema)
	}
	return out
}

// impliedTypes are those of a schema that names none.
func impliedTypes(schema *openapi.Node) types {
	values := schema.Member("enum").Elements()
	if c := schema.Member("const"); c != nil {
		values = append(slices.Clip(values), c)
	}
	out := types(0)
	for _, v := range values {
		switch v.Kind() {
		case openapi.String:
			out |= isText
		case openapi.Number:
			out |= isNumber
		case openapi.Bool:
			out |= isBool
		case openapi.Null, openapi.Absent:
			out |= isNull
		case openapi.Array:
			out |= isArray
		case openapi.Object:
			out |= isObject
		}
	}
	switch {
	case out != 0:
		return out
	case schema.Member("properties") != nil:
		return isObject
	case schema.Member("items") != nil:
		return isArray
	}
	return isAny
}

func typeBit(name string) types {
	switch name {
	case "string", "file":
		return isText
	case "number", "integer":
		return isNumber
	case "boolean":
		return isBool
	case "null":
		return isNull
	case "array":
		return isArray
	case "object":
		return isObject
	}
	return 0
}

// scalars are the values that a text may stand for, by the types wanted; at least one.
func scalars(want types, text string) []*openapi.Node {
	var out []*openapi.Node
	if want&isNumber != 0 {
		if n, ok := openapi.NumberOf(text); ok {
			out = append(out, n)
		}
	}
	if want&isBool != 0 && (text == "true" || text == "false") {
		out = append(out, openapi.Value(openapi.Bool, text))
	}
	if want&isNull != 0 && (text == "" || text == "null") {
		out = append(out, openapi.Value(openapi.Null, ""))
	}
	if want&isText != 0 || out == nil {
		out = append(out, openapi.Value(openapi.String, text))
	}
	return out
}

// member returns a keyword's value in a schema, or in what it refers to or is made of.
func member(root, schema *openapi.Node, find func(*openapi.Node) *openapi.Node, depth int) *openapi.Node {
	const deepest = 16
	if schema.Kind() != openapi.Object || depth > deepest {
		return nil
	}
	if v := find(schema); v != nil {
		return v
	}
	if ref := schema.Member("$ref"); ref.Kind() == openapi.String {
		if v := member(root, root.Resolve(ref.Text()), find, depth+1); v != nil {
			return v
		}
	}
	for _, keyword := range []string{"allOf", "anyOf", "oneOf"} {
		for _, part := range schema.Member(keyword).Elements() {
			if v := member(root, part, find, depth+1); v != nil {
				return v
			}
		}
	}
	return nil
}

// propertyOf returns the schema of a property; nil where there is none.
func propertyOf(root, schema *openapi.Node, name string) *openapi.Node {
	if p := declaredOf(root, schema, name); p != nil {
		return p
	}
	return member(root, schema, func(s *openapi.Node) *openapi.Node {
		if more := s.Member("additionalProperties"); more.Kind() == openapi.Object {
			return more
		}
		return nil
	}, 0)
}

// declaredOf returns the schema of a property that is named.
func declaredOf(root, schema *openapi.Node, name string) *openapi.Node {
	return member(root, schema, func(s *openapi.Node) *openapi.Node { return s.Member("properties").Member(name) }, 0)
}

func itemsOf(root, schema *openapi.Node) *openapi.Node {
	return member(root, schema, func(s *openapi.Node) *openapi.Node { return s.Member("items") }, 0)
}

// value reads texts as the value of a schema: several are an array.
func (k *check) value(schema *openapi.Node, raws []string, decode decoder) (*openapi.Node, error) {
	want := typesIn(k.root, schema, 0)
	if want&isArray != 0 && want&isScalar == 0 || len(raws) > 1 {
		return k.list(schema, raws, decode)
	}
	if len(raws) == 0 {
		return openapi.Value(openapi.Null, ""), nil
	}
	text, err := decode(raws[0])
	if err != nil {
		return nil, err
	}
	if want == isObject { // an object within a form is written as JSON
		if v, err := openapi.Parse([]byte(text)); err == nil {
			return v, nil
		}
	}
	return k.pick(schema, scalars(want, text)), nil
}

// list reads each text as an item of the schema.
func (k *check) list(schema *openapi.Node, raws []string, decode decoder) (*openapi.Node, error) {
	items := itemsOf(k.root, schema)
	want := typesIn(k.root, items, 0)
	values := make([]*openapi.Node, len(raws))
	for i, raw := range raws {
		text, err := decode(raw)
		if err != nil {
			return nil, err
		}
		values[i] = k.pick(items, scalars(want, text))
	}
	return openapi.ListOf(values...), nil
}

// object reads names and values by turns, or name=value each.
func (k *check) object(schema *openapi.Node, parts []string, explode bool, decode decoder) (*openapi.Node, error) {
	var names []string
	var values []*openapi.Node
	for i := 0; i < len(parts); i++ {
		name, raw, ok := strings.Cut(parts[i], "=")
		if !explode {
			name = parts[i]
			if i++; i < len(parts) {
				raw, ok = parts[i], true
			}
		}
		if !ok {
			return nil, errors.New("is no object: a property has no value")
		}
		name, err := decode(name)
		if err != nil {
			return nil, err
		}
		v, err := k.value(propertyOf(k.root, schema, name), []string{raw}, decode)
		if err != nil {
			return nil, err
		}
		names, values = append(names, name), append(values, v)
	}
	return openapi.MapOf(names, values), nil
}
