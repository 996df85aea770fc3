package mock

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/tidelock/tidelock/internal/openapi"
)

// Where parameters stand.
const (
	inPath   = "path"
	inQuery  = "query"
	inHeader = "header"
	inCookie = "cookie"
	inBody   = "body"
)

// parameter is one parameter of an operation (OpenAPI 3.1, section 4.8.12).
type parameter struct {
	in, name   string
	required   bool
	allowEmpty bool
	format     format
	place      place // where in is path
}

// format says how a value is written.
type format struct {
	style   string
	explode bool
	json    bool // content: application/json
	opaque  bool // content of another type
	schema  *openapi.Node
	types   types
}

// place is where a parameter stands in a path template.
type place struct {
	segment  int
	literals []string // around the parameters of the segment
	index    int      // among them
}

// parameter compiles a parameter; one without a name where it says nothing about requests.
func (c *compiler) parameter(template string, declared *openapi.Node) (parameter, error) {
	p := parameter{
		in: declared.Member("in").Text(), name: declared.Member("name").Text(),
		required: declared.Member("required").IsTrue(), allowEmpty: declared.Member("allowEmptyValue").IsTrue(),
	}
	p.format = c.format(declared, defaultStyle(p.in))
	switch p.in {
	case inPath:
		at, ok := placeOf(template, p.name)
		if !ok {
			return p, fmt.Errorf("path parameter %s does not stand in the path", p.name)
		}
		p.place, p.required = at, true
	case inHeader:
		if ignored := http.CanonicalHeaderKey(p.name); ignored == "Accept" || ignored == "Content-Type" || ignored == "Authorization" {
			return parameter{}, nil // the specification: such a parameter is ignored
		}
	}
	return p, nil
}

func defaultStyle(in string) string {
	if in == inPath || in == inHeader {
		return "simple"
	}
	return "form"
}

// format compiles how a parameter, or a property of a form, is written.
func (c *compiler) format(declared *openapi.Node, style string) format {
	f := format{style: style, schema: declared.Member("schema")}
	if s := declared.Member("style").Text(); s != "" {
		f.style = s
	}
	f.explode = f.style == "form" || f.style == "deepObject"
	if e := declared.Member("explode"); e != nil {
		f.explode = e.IsTrue() || f.style == "deepObject"
	}
	for name, media := range declared.Member("content").Members() { // there is only one
		f.schema = c.root.Follow(media).Member("schema")
		f.json, f.opaque = openapi.IsJSON(name), !openapi.IsJSON(name)
	}
	f.types = typesIn(c.root, f.schema, 0)
	return f
}

// placeOf finds a parameter in a path template.
func placeOf(template, name string) (place, bool) {
	i := 0
	for part := range strings.SplitSeq(strings.TrimPrefix(template, "/"), "/") {
		index := 0
		for rest := part; ; index++ {
			_, behind, ok := strings.Cut(rest, "{")
			if !ok {
				break
			}
			var have string
			if have, rest, ok = strings.Cut(behind, "}"); !ok {
				break
			}
			if have == name {
				return place{segment: i, literals: split(part), index: index}, true
			}
		}
		i++
	}
	return place{}, false
}

func (r *rules) checkParameters(k *check, req *http.Request, at *base) {
	if r.queries && req.URL.RawQuery != "" {
		k.query = pairsOf(k.query, req.URL.RawQuery)
	}
	path := ""
	for i := range r.parameters {
		p := &r.parameters[i]
		switch p.in {
		case inPath:
			if path == "" {
				path = req.URL.EscapedPath()
			}
			p.checkText(k, p.place.in(path, at.depth), true, unescapePath)
		case inQuery:
			r.checkQuery(k, p)
		case inHeader:
			text, there := headerText(req, p.name)
			p.checkText(k, text, there, trimmed)
		case inCookie:
			p.checkCookie(k, req)
		}
	}
}

func headerText(req *http.Request, name string) (string, bool) {
	if strings.EqualFold(name, "Host") {
		return req.Host, req.Host != ""
	}
	lines := req.Header[http.CanonicalHeaderKey(name)]
	if len(lines) == 1 {
		return lines[0], true
	}
	return strings.Join(lines, ","), lines != nil
}

// checkText checks a value that is one text: in a path, a header, a cookie.
func (p *parameter) checkText(k *check, raw string, there bool, decode decoder) {
	if !there {
		p.missing(k)
		return
	}
	candidates, err := p.format.parse(k, p.name, raw, decode)
	if err != nil {
		k.violation(p.in, p.name, "", err.Error())
		return
	}
	k.fits(p.in, p.name, p.format.schema, candidates)
}

func (p *parameter) checkCookie(k *check, req *http.Request) {
	if p.format.style == "form" && p.format.explode && p.format.types == isObject {
		return // its properties cannot be told from other cookies
	}
	cookies := req.CookiesNamed(p.name)
	if len(cookies) == 0 {
		p.missing(k)
		return
	}
	raws := make([]string, len(cookies))
	for i, cookie := range cookies {
		raws[i] = cookie.Value
	}
	p.checkValues(k, raws, unescapeCookie)
}

func (p *parameter) missing(k *check) {
	if p.required {
		k.violation(p.in, p.name, "", "is required")
	}
}

// in returns the raw text of the parameter in a path, which has depth segments before those of the template.
func (p *place) in(path string, depth int) string {
	path = strings.TrimPrefix(path, "/")
	for range depth + p.segment {
		_, path, _ = strings.Cut(path, "/")
	}
	part, _, _ := strings.Cut(path, "/")
	if len(p.literals) == 2 && p.literals[0] == "" && p.literals[1] == "" {
		return part
	}
	return p.within(part)
}

// within returns the raw text of the parameter in a segment that is a template in part.
func (p *place) within(part string) string {
	part = normalize(part)
	rest := strings.TrimPrefix(part, p.literals[0])
	for i, literal := range p.literals[1:] {
		end := len(rest) - len(literal)
		if i < len(p.literals)-2 {
			end = strings.Index(rest[min(1, len(rest)):], literal) + 1
		}
		if end <= 0 || end > len(rest) {
			return ""
		}
		if i == p.index {
			return rest[:end] // normalize has left only %2F and %25
		}
		rest = rest[end+len(literal):]
	}
	return ""
}
