package mock

import (
	"errors"
	"strings"

	"github.com/tidelock/tidelock/internal/openapi"
)

// parse reads the text of a path, a header or a cookie: the values that it may stand for, the likeliest first.
func (f *format) parse(k *check, name, raw string, decode decoder) ([]*openapi.Node, error) {
	separator := ","
	switch f.style {
	case "label":
		rest, ok := strings.CutPrefix(raw, ".")
		if !ok {
			return nil, errors.New("want a dot before it (style label)")
		}
		raw = rest
		if f.explode || !strings.Contains(raw, ",") { // OpenAPI 3.0.3 itself has dots in both cases
			separator = "."
		}
	case "matrix":
		return f.parseMatrix(k, name, raw, decode)
	}
	if f.json || f.opaque {
		return f.content(raw, decode)
	}
	return f.parts(k, raw, separator, f.explode, decode)
}

// parts reads a text as what the schema wants: its parts as a list or an object, or the whole as a scalar.
func (f *format) parts(k *check, raw, separator string, explode bool, decode decoder) ([]*openapi.Node, error) {
	var out []*openapi.Node
	if f.types&isObject != 0 && f.types != isAny {
		v, err := k.object(f.schema, splitParts(raw, separator), explode, decode)
		if err != nil && f.types == isObject {
			return nil, err
		}
		if err == nil {
			out = append(out, v)
		}
	}
	if f.types&isArray != 0 && f.types != isAny {
		v, err := k.list(f.schema, splitParts(raw, separator), decode)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	if f.types&isScalar != 0 || out == nil {
		text, err := decode(raw)
		if err != nil {
			return nil, err
		}
		out = append(out, scalars(f.types, text)...)
	}
	return out, nil
}

// splitParts splits a list; an empty text has no parts.
func splitParts(raw, separator string) []string {
	if raw == "" {
		return nil
	}
	return strings.Split(raw, separator)
}

// parseMatrix reads ;name=value (RFC 6570, section 3.2.7).
func (f *format) parseMatrix(k *check, name, raw string, decode decoder) ([]*openapi.Node, error) {
	rest, ok := strings.CutPrefix(raw, ";")
	if !ok {
		return nil, errors.New("want ;" + name + "=value (style matrix)")
	}
	parts := strings.Split(rest, ";")
	if f.explode && f.types&isObject != 0 && f.types != isAny {
		v, err := k.object(f.schema, parts, true, decode)
		return []*openapi.Node{v}, err
	}
	values := make([]string, len(parts))
	for i, part := range parts {
		have, value, _ := strings.Cut(part, "=")
		if have != name {
			return nil, errors.New("want ;" + name + "=value (style matrix)")
		}
		values[i] = value
	}
	if len(values) == 1 && !(f.explode && f.types == isArray) {
		return f.parts(k, values[0], ",", false, decode)
	}
	v, err := k.list(f.schema, values, decode)
	return []*openapi.Node{v}, err
}

// parseValues reads the values that a name has in a query, a form or a cookie.
func (f *format) parseValues(k *check, raws []string, decode decoder) ([]*openapi.Node, error) {
	if f.json || f.opaque {
		return f.content(raws[0], decode)
	}
	if f.explode {
		return f.spread(k, raws, decode)
	}
	if len(raws) > 1 {
		return nil, errors.New("must be there once, its parts separated by " + f.separatorName())
	}
	raw := raws[0]
	if separator := f.separator(); separator != "," {
		text, err := decode(raw) // a space or a bar never stands there as it is
		if err != nil {
			return nil, err
		}
		return f.parts(k, text, separator, false, verbatim)
	}
	out, err := f.parts(k, raw, ",", false, decode)
	if err == nil && f.types&(isArray|isObject) != 0 && strings.Contains(strings.ToUpper(raw), "%2C") {
		// Many clients escape all commas, those between parts too.
		if text, wrong := decode(raw); wrong == nil {
			if more, wrong := f.parts(k, text, ",", false, verbatim); wrong == nil {
				out = append(out, more...)
			}
		}
	}
	return out, err
}

// spread reads the values of a list that is written with its name before each item.
func (f *format) spread(k *check, raws []string, decode decoder) ([]*openapi.Node, error) {
	if f.types&isArray != 0 && f.types != isAny {
		list, err := k.list(f.schema, raws, decode)
		if err != nil || f.types&isScalar == 0 || len(raws) > 1 {
			return []*openapi.Node{list}, err
		}
		text, err := decode(raws[0])
		return append([]*openapi.Node{list}, scalars(f.types, text)...), err
	}
	if len(raws) > 1 {
		return nil, errors.New("must be there once")
	}
	text, err := decode(raws[0])
	if err != nil {
		return nil, err
	}
	return scalars(f.types, text), nil
}

func (f *format) separator() string {
	switch f.style {
	case "spaceDelimited":
		return " "
	case "pipeDelimited":
		return "|"
	}
	return ","
}

func (f *format) separatorName() string {
	switch f.style {
	case "spaceDelimited":
		return "spaces"
	case "pipeDelimited":
		return "bars"
	}
	return "commas"
}

// content reads a value that is written in a media type.
func (f *format) content(raw string, decode decoder) ([]*openapi.Node, error) {
	text, err := decode(raw)
	if err != nil || f.opaque {
		return nil, err
	}
	v, err := openapi.Parse([]byte(text))
	if err != nil {
		return nil, errors.New("is no JSON")
	}
	return []*openapi.Node{v}, nil
}
