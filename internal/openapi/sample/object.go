package sample

import (
	"slices"
	"strconv"
	"strings"

	"github.com/tidelock/tidelock/internal/openapi"
)

// property is what the schemas of a view say about one property of an object.
type property struct {
	name     string
	schemas  []*openapi.Node
	required bool
}

// properties returns the properties that the schemas of a view name, in the order written.
func (g *generator) properties(v view) []property {
	var out []property
	index := map[string]int{}
	at := func(name string) *property {
		i, ok := index[name]
		if !ok {
			i = len(out)
			index[name] = i
			out = append(out, property{name: name})
		}
		return &out[i]
	}
	for _, properties := range v.all("properties") {
		for name, s := range properties.Members() {
			p := at(name)
			p.schemas = append(p.schemas, s)
		}
	}
	for _, names := range v.all("required") {
		for _, name := range names.Elements() {
			at(name.Text()).required = true
		}
	}
	for _, dependent := range v.all("dependentRequired") {
		for name, others := range dependent.Members() {
			for _, other := range others.Elements() {
				if i, ok := index[name]; ok {
					required := out[i].required
					p := at(other.Text())
					p.required = p.required || required
				}
			}
		}
	}
	for i := range out {
		out[i].schemas = append(out[i].schemas, g.further(v, out[i].name)...)
	}
	return slices.DeleteFunc(out, func(p property) bool { return g.otherSide(p.schemas) })
}

// further returns the schemas that apply to a property by its pattern, and by not being named elsewhere.
func (g *generator) further(v view, name string) []*openapi.Node {
	var out []*openapi.Node
	for _, schema := range v.schemas {
		known := schema.Member("properties").Member(name) != nil
		for expr, s := range schema.Member("patternProperties").Members() {
			if re, err := openapi.CompilePattern(expr); err == nil && re.MatchString(name) {
				known = true
				out = append(out, s)
			}
		}
		if more := schema.Member("additionalProperties"); !known && more != nil && !more.IsTrue() {
			out = append(out, more)
		}
	}
	return out
}

func (g *generator) object(b []byte, v view) ([]byte, bool) {
	b = append(b, '{')
	w := objectWriter{g: g, v: v, start: len(b)}
	properties := g.properties(v)
	w.least, w.most = v.limits("minProperties", "maxProperties")
	for _, p := range properties {
		if p.required {
			w.owed++
		}
	}
	for _, p := range properties {
		if !p.required && ((g.sparse || g.lean(b)) && w.made+w.owed >= w.least || w.most >= 0 && w.made+w.owed >= w.most) {
			continue
		}
		if p.required {
			w.owed--
		}
		var ok bool
		if b, ok = w.add(b, p); !ok {
			return b, false
		}
	}
	b, ok := w.fill(b)
	return append(b, '}'), ok
}

// objectWriter appends the members of one object.
type objectWriter struct {
	g           *generator
	v           view
	start       int // where the first member begins
	made, owed  int // members that are there, and those that are required and are not yet
	least, most int
}

// add appends one member. It says false where one that is required cannot be made; another is left out.
func (w *objectWriter) add(b []byte, p property) ([]byte, bool) {
	mark := len(b)
	if mark > w.start {
		b = append(b, ',')
	}
	b = append(openapi.AppendString(b, p.name), ':')
	var ok bool
	if tag, is := w.v.tags[p.name]; is {
		var value []byte
		if value = openapi.AppendString(nil, tag); w.g.proven(view{schemas: p.schemas}, value) {
			w.made++
			return append(b, value...), true
		}
	}
	w.g.at = append(w.g.at, p.name)
	if p.required {
		b, ok = w.g.orNull(b, p.schemas...)
	} else {
		b, ok = w.g.value(b, p.schemas...)
	}
	if !ok && p.required && w.g.failed == "" {
		w.g.failed = " (/" + strings.Join(w.g.at, "/") + ")"
	}
	w.g.at = w.g.at[:len(w.g.at)-1]
	switch {
	case ok:
		w.made++
		return b, true
	case p.required || w.g.over:
		return b, false
	}
	return b[:mark], true
}

// fill appends members that no schema names, until there are as many as there must be.
func (w *objectWriter) fill(b []byte) ([]byte, bool) {
	const most = 1000
	for i := 1; w.made < w.least && i <= most; i++ {
		name := w.newName(i)
		if len(w.v.propertySchemas(name)) > 0 {
			continue
		}
		var ok bool
		if b, ok = w.add(b, property{name: name, schemas: w.g.further(w.v, name), required: true}); !ok {
			return b, false
		}
	}
	return b, w.made >= w.least
}

// newName returns the i-th name of a member that no schema names.
func (w *objectWriter) newName(i int) string {
	if names := w.v.keyword("propertyNames"); names != nil {
		before := w.g.variant
		w.g.variant += i
		made, ok := w.g.value(nil, names)
		w.g.variant = before
		if text, err := openapi.Parse(made); ok && err == nil && text.Kind() == openapi.String {
			return text.Text()
		}
	}
	for expr := range w.v.keyword("patternProperties").Members() {
		if name, ok := matching(expr, i-1); ok {
			return name
		}
	}
	return "property" + strconv.Itoa(i)
}

// limits returns the strictest of two keywords that count; -1 where there is no upper one.
func (v view) limits(least, most string) (low, high int) {
	high = -1
	for _, n := range v.all(least) {
		low = max(low, count(n, 0))
	}
	for _, n := range v.all(most) {
		if c := count(n, -1); c >= 0 && (high < 0 || c < high) {
			high = c
		}
	}
	return low, high
}
