package mock

import (
	"errors"
	"net/url"
	"strconv"
	"strings"

	"github.com/tidelock/tidelock/internal/openapi"
)

// pair is one name and value of a query or a form; the value is as it was sent.
type pair struct {
	name, raw string
}

// errEscape is what is wrong with %zz.
var errEscape = errors.New("has a percent sign that is no escape")

// pairsOf splits a query. A name that cannot be decoded is none of the document's.
func pairsOf(out []pair, query string) []pair {
	const most = 10_000
	for query != "" && len(out) < most {
		var item string
		item, query, _ = strings.Cut(query, "&")
		if item == "" {
			continue
		}
		name, raw, _ := strings.Cut(item, "=")
		if strings.ContainsAny(name, "%+") {
			var err error
			if name, err = url.QueryUnescape(name); err != nil {
				continue
			}
		}
		out = append(out, pair{name: name, raw: raw})
	}
	return out
}

// decoder turns a text as it was sent into what is meant.
type decoder func(raw string) (string, error)

func verbatim(raw string) (string, error) { return raw, nil }

// trimmed is for the items of a list in a header, around which there may be spaces (RFC 9110, section 5.6.1).
func trimmed(raw string) (string, error) { return strings.TrimSpace(raw), nil }

func unescapeQuery(raw string) (string, error) {
	if strings.IndexByte(raw, '%') < 0 && strings.IndexByte(raw, '+') < 0 {
		return raw, nil
	}
	s, err := url.QueryUnescape(raw)
	if err != nil {
		return "", errEscape
	}
	return s, nil
}

func unescapePath(raw string) (string, error) {
	if strings.IndexByte(raw, '%') < 0 {
		return raw, nil
	}
	s, err := url.PathUnescape(raw)
	if err != nil {
		return "", errEscape
	}
	return s, nil
}

// unescapeCookie takes a percent sign that is no escape for itself: cookies need no escapes.
func unescapeCookie(raw string) (string, error) {
	if s, err := url.PathUnescape(raw); err == nil {
		return s, nil
	}
	return raw, nil
}

func (r *rules) checkQuery(k *check, p *parameter) {
	f := &p.format
	switch {
	case f.json || f.opaque:
		p.checkValues(k, k.valuesOf(p.name), unescapeQuery)
	case f.style == "deepObject":
		p.checkDeep(k)
	case f.explode && f.types&isObject != 0 && f.types&(isArray|isScalar) == 0:
		r.checkSpread(k, p)
	default:
		p.checkValues(k, k.valuesOf(p.name), unescapeQuery)
	}
}

// valuesOf returns the raw values of a name.
func (k *check) valuesOf(name string) []string {
	var out []string
	for i := range k.query {
		if k.query[i].name == name {
			out = append(out, k.query[i].raw)
		}
	}
	return out
}

// checkValues checks the values that the parameter's name has in a query, or among the cookies.
func (p *parameter) checkValues(k *check, raws []string, decode decoder) {
	switch {
	case len(raws) == 0:
		p.missing(k)
	case p.allowEmpty && len(raws) == 1 && raws[0] == "":
	default:
		candidates, err := p.format.parseValues(k, raws, decode)
		if err != nil {
			k.violation(p.in, p.name, "", err.Error())
			return
		}
		k.fits(p.in, p.name, p.format.schema, candidates)
	}
}

// checkSpread checks an object whose properties are parameters themselves (form, explode). Those that another parameter
// declares are not its own.
func (r *rules) checkSpread(k *check, p *parameter) {
	var names []string
	var values []*openapi.Node
	for i := range k.query {
		name := k.query[i].name
		if r.declares(name) {
			continue
		}
		schema := propertyOf(k.root, p.format.schema, name)
		if schema == nil {
			continue
		}
		v, err := k.value(schema, k.valuesOf(name), unescapeQuery)
		if err != nil {
			k.violation(p.in, p.name, "/"+name, err.Error())
			return
		}
		names, values = append(names, name), append(values, v)
	}
	if names == nil {
		p.missing(k)
		return
	}
	k.fits(p.in, p.name, p.format.schema, []*openapi.Node{openapi.MapOf(names, values)})
}

func (r *rules) declares(name string) bool {
	for i := range r.parameters {
		if r.parameters[i].in == inQuery && r.parameters[i].name == name {
			return true
		}
	}
	return false
}

// checkDeep checks an object that is written as name[property]=value.
func (p *parameter) checkDeep(k *check) {
	tree := &deep{}
	for i := range k.query {
		rest, ok := strings.CutPrefix(k.query[i].name, p.name)
		if !ok || !strings.HasPrefix(rest, "[") {
			continue
		}
		text, err := unescapeQuery(k.query[i].raw)
		if err == nil {
			err = tree.add(rest, text)
		}
		if err != nil {
			k.violation(p.in, p.name, "", err.Error())
			return
		}
	}
	if tree.names == nil {
		p.missing(k)
		return
	}
	k.fits(p.in, p.name, p.format.schema, []*openapi.Node{tree.node(k, p.format.schema)})
}

// deep is an object written with brackets: names in the order of their first use.
type deep struct {
	texts    []string
	names    []string
	children []*deep
}

// add puts a text at [a][b], within bounds; [] is the next element of a list.
func (d *deep) add(brackets, text string) error {
	const deepest, widest = 8, 1000
	for depth := 0; brackets != ""; depth++ {
		name, rest, ok := strings.Cut(strings.TrimPrefix(brackets, "["), "]")
		if !ok || brackets[0] != '[' || depth >= deepest {
			return errors.New("want name[property]=value")
		}
		brackets = rest
		if name == "" {
			continue
		}
		next := d.child(name)
		if next == nil {
			if len(d.names) >= widest {
				return errors.New("has too many properties")
			}
			next = &deep{}
			d.names, d.children = append(d.names, name), append(d.children, next)
		}
		d = next
	}
	d.texts = append(d.texts, text)
	return nil
}

func (d *deep) child(name string) *deep {
	for i, have := range d.names {
		if have == name {
			return d.children[i]
		}
	}
	return nil
}

// node returns the value, typed as the schema wants it.
func (d *deep) node(k *check, schema *openapi.Node) *openapi.Node {
	if d.names == nil {
		v, _ := k.value(schema, d.texts, verbatim) // a text that is as it is can always be read
		return v
	}
	list := d.isList() && typesIn(k.root, schema, 0)&isArray != 0
	values := make([]*openapi.Node, len(d.names))
	for i, name := range d.names {
		child := itemsOf(k.root, schema)
		if !list {
			child = propertyOf(k.root, schema, name)
		}
		values[i] = d.children[i].node(k, child)
	}
	if list {
		return openapi.ListOf(values...)
	}
	return openapi.MapOf(d.names, values)
}

// isList reports whether the names are the places in a list: [0], [1], in their order.
func (d *deep) isList() bool {
	for i, name := range d.names {
		if name != strconv.Itoa(i) {
			return false
		}
	}
	return true
}
