package mock

import (
	"bytes"
	"errors"
	"io"
	"mime/multipart"
	"net/http"
	"slices"
	"strings"

	"github.com/tidelock/tidelock/internal/openapi"
)

// fields are the values of a form, by name, in the order of their first use.
type fields struct {
	names  []string
	values []*openapi.Node
}

func (f *fields) add(name string, value *openapi.Node) {
	f.names, f.values = append(f.names, name), append(f.values, value)
}

// checkForm checks application/x-www-form-urlencoded.
func (m *mediaRule) checkForm(k *check) {
	pairs := pairsOf(nil, k.body.String())
	var form fields
	done := map[string]bool{}
	for i := range pairs {
		name := m.property(k, pairs[i].name)
		if done[name] {
			continue
		}
		done[name] = true
		value, err := m.fieldOf(k, name, pairs[i:])
		if err != nil {
			k.violation(inBody, "", "/"+name, err.Error())
			return
		}
		form.add(name, value)
	}
	k.fits(inBody, "", m.schema, []*openapi.Node{openapi.MapOf(form.names, form.values)})
}

// property is the one that a field belongs to: itself, or the object or list that it is written into with brackets, as
// metadata[order]=7 and items[0][price]=9 are.
func (m *mediaRule) property(k *check, name string) string {
	base, _, bracketed := strings.Cut(name, "[")
	if !bracketed || declaredOf(k.root, m.schema, name) != nil {
		return name
	}
	if p := declaredOf(k.root, m.schema, base); p == nil || typesIn(k.root, p, 0)&(isObject|isArray) == 0 {
		return name
	}
	return base
}

// fieldOf returns the value of a property from the fields that belong to it.
func (m *mediaRule) fieldOf(k *check, name string, pairs []pair) (*openapi.Node, error) {
	var raws []string
	tree := &deep{}
	for _, p := range pairs {
		switch rest, _ := strings.CutPrefix(p.name, name); {
		case p.name == name:
			raws = append(raws, p.raw)
		case strings.HasPrefix(rest, "[") && m.property(k, p.name) == name:
			text, err := unescapeQuery(p.raw)
			if err == nil {
				err = tree.add(rest, text)
			}
			if err != nil {
				return nil, err
			}
		}
	}
	if raws == nil {
		return tree.node(k, propertyOf(k.root, m.schema, name)), nil
	}
	return m.field(k, name, raws)
}

// field reads the values of one name, as its encoding has it.
func (m *mediaRule) field(k *check, name string, raws []string) (*openapi.Node, error) {
	if e, ok := m.encoding[name]; ok {
		candidates, err := e.parseValues(k, raws, unescapeQuery)
		if err != nil {
			return nil, err
		}
		if len(candidates) > 0 {
			return k.pick(e.schema, candidates), nil
		}
	}
	return k.value(propertyOf(k.root, m.schema, name), raws, unescapeQuery)
}

// checkMultipart checks multipart/form-data: each part is a property, several of one name are an array.
func (m *mediaRule) checkMultipart(k *check, boundary string) (problem, bool) {
	if boundary == "" {
		return problem{status: http.StatusBadRequest, detail: "the body is multipart and its Content-Type has no boundary"}, false
	}
	const most = 1000
	parts := multipart.NewReader(bytes.NewReader(k.body.Bytes()), boundary)
	var order []string
	values := map[string][]*openapi.Node{}
	for n := 0; ; n++ {
		part, err := parts.NextRawPart()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil || n >= most {
			return problem{status: http.StatusBadRequest, detail: "the body is no multipart of at most 1000 parts"}, false
		}
		name := part.FormName()
		value, err := m.part(k, name, part)
		if err != nil {
			return problem{status: http.StatusBadRequest, detail: "the part " + word(name) + ": " + err.Error()}, false
		}
		if values[name] == nil {
			order = append(order, name)
		}
		values[name] = append(values[name], value)
	}
	var form fields
	for _, name := range order {
		form.add(name, m.joined(k, name, values[name]))
	}
	k.fits(inBody, "", m.schema, []*openapi.Node{openapi.MapOf(form.names, form.values)})
	return problem{}, true
}

// joined returns the value of the parts of one name.
func (m *mediaRule) joined(k *check, name string, values []*openapi.Node) *openapi.Node {
	schema := propertyOf(k.root, m.schema, name)
	if len(values) > 1 || typesIn(k.root, schema, 0)&(isArray|isScalar|isObject) == isArray && values[0].Kind() != openapi.Array {
		return openapi.ListOf(values...)
	}
	return values[0]
}

// part reads one part: JSON where it says so or its property is an object, else text.
func (m *mediaRule) part(k *check, name string, part *multipart.Part) (*openapi.Node, error) {
	text, err := io.ReadAll(part) // bounded, as the body is
	if err != nil {
		return nil, errors.New("it cannot be read to its end")
	}
	contentType := part.Header.Get("Content-Type")
	if e := m.encoding[name]; len(e.contentTypes) > 0 && contentType != "" && !matchesAny(e.contentTypes, contentType) {
		k.violation(inBody, "", "/"+name, "must have the Content-Type "+strings.Join(e.contentTypes, " or "))
	}
	schema := propertyOf(k.root, m.schema, name)
	want := typesIn(k.root, schema, 0)
	if openapi.IsJSON(contentType) && contentType != "" || contentType == "" && want == isObject {
		v, err := openapi.Parse(text)
		if err != nil {
			return nil, errors.New("it is no JSON: " + withoutPlace(err))
		}
		return v, nil
	}
	if want&isArray != 0 && want&isScalar == 0 {
		schema = itemsOf(k.root, schema)
		want = typesIn(k.root, schema, 0)
	}
	return k.pick(schema, scalars(want, string(text))), nil
}

// matchesAny reports whether a media type is one of those, which may be ranges.
func matchesAny(ranges []string, contentType string) bool {
	o := newOffer(contentType)
	return slices.ContainsFunc(ranges, func(r string) bool { return o.matches(strings.TrimSpace(r)) > bySuffix })
}
