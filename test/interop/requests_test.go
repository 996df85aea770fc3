//go:build interop

package interop_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"

	"github.com/tidelock/tidelock/internal/openapi"
	"github.com/tidelock/tidelock/internal/openapi/sample"
)

// request makes a request that fits an operation, of samples of its schemas.
func (c *caller) request(ctx context.Context, template, method string, item, op *openapi.Node) (*http.Request, error) {
	bases, err := openapi.BasePaths(c.root, item, op)
	if err != nil {
		return nil, err
	}
	path, query, header := bases[0]+template, url.Values{}, http.Header{}
	for _, p := range c.parameters(item, op) {
		name := p.Member("name").Text()
		value, err := c.parameter(p)
		if err != nil {
			if p.Member("required").IsTrue() {
				return nil, fmt.Errorf("parameter %s: %w", name, err)
			}
			continue
		}
		switch p.Member("in").Text() {
		case "path":
			path = strings.ReplaceAll(path, "{"+name+"}", url.PathEscape(flat(value)))
		case "query":
			intoQuery(query, p, value)
		case "header":
			header.Set(name, flat(value))
		case "cookie":
			header.Add("Cookie", (&http.Cookie{Name: name, Value: url.QueryEscape(flat(value))}).String())
		}
	}
	contentType, body, err := c.body(c.resolve(op.Member("requestBody")))
	if err != nil {
		return nil, err
	}
	c.credentials(op, query, header)
	target := path
	if len(query) > 0 {
		target += "?" + query.Encode()
	}
	r := httptest.NewRequestWithContext(ctx, strings.ToUpper(method), target, strings.NewReader(string(body)))
	r.Header = header
	if contentType != "" {
		r.Header.Set("Content-Type", contentType)
	}
	return r, nil
}

// parameters returns those of the operation, and those of its path that it does not replace.
func (c *caller) parameters(item, op *openapi.Node) []*openapi.Node {
	var out []*openapi.Node
	seen := map[string]bool{}
	for _, list := range []*openapi.Node{op.Member("parameters"), item.Member("parameters")} {
		for _, p := range list.Elements() {
			p = c.resolve(p)
			key := p.Member("in").Text() + " " + p.Member("name").Text()
			if !seen[key] {
				out = append(out, p)
			}
			seen[key] = true
		}
	}
	return out
}

// parameter returns a value of a parameter: its example where that fits, else one that is made.
func (c *caller) parameter(p *openapi.Node) (*openapi.Node, error) {
	schema := p.Member("schema")
	for _, media := range p.Member("content").Members() {
		schema = media.Member("schema")
	}
	text, err := sample.Of(c.root, schema, openapi.InRequest, 0)
	if err != nil {
		return nil, err
	}
	value, err := openapi.Parse(text)
	if err != nil {
		return nil, err
	}
	if p.Member("content").Len() > 0 { // its text is JSON
		return openapi.Parse(openapi.AppendString(nil, string(text)))
	}
	if value.Kind() == openapi.String && value.Text() == "" && p.Member("in").Text() == "path" {
		return nil, fmt.Errorf("an empty text is no part of a path")
	}
	return value, nil
}

// flat writes a value in style simple.
func flat(value *openapi.Node) string {
	var parts []string
	for name, item := range value.Members() {
		parts = append(parts, name, flat(item))
	}
	for _, item := range value.Elements() {
		parts = append(parts, flat(item))
	}
	if parts == nil {
		return value.Text()
	}
	return strings.Join(parts, ",")
}

// intoQuery writes a value in the style of its parameter.
func intoQuery(query url.Values, p, value *openapi.Node) {
	name, style := p.Member("name").Text(), p.Member("style").Text()
	explode := style == "" || style == "form"
	if e := p.Member("explode"); e != nil {
		explode = e.IsTrue()
	}
	switch {
	case value.Kind() == openapi.Object && style == "deepObject":
		for key, item := range value.Members() {
			query.Set(name+"["+key+"]", flat(item))
		}
	case value.Kind() == openapi.Object && explode:
		for key, item := range value.Members() {
			query.Set(key, flat(item))
		}
	case value.Kind() == openapi.Array && explode:
		for _, item := range value.Elements() {
			query.Add(name, flat(item))
		}
	case value.Kind() == openapi.Array && style == "pipeDelimited":
		query.Set(name, strings.ReplaceAll(flat(value), ",", "|"))
	case value.Kind() == openapi.Array && style == "spaceDelimited":
		query.Set(name, strings.ReplaceAll(flat(value), ",", " "))
	default:
		query.Set(name, flat(value))
	}
}

// body returns a body of the first media type that is JSON, or a form.
func (c *caller) body(declared *openapi.Node) (contentType string, body []byte, err error) {
	for name, media := range declared.Member("content").Members() {
		schema := media.Member("schema")
		switch {
		case openapi.IsJSON(name):
			body, err = sample.Of(c.root, schema, openapi.InRequest, 0)
			return strings.Replace(name, "*/*", "application/json", 1), body, err
		case strings.HasPrefix(name, "application/x-www-form-urlencoded"):
			if body, err = sample.Of(c.root, schema, openapi.InRequest, 0); err != nil {
				return "", nil, err
			}
			value, err := openapi.Parse(body)
			if err != nil {
				return "", nil, err
			}
			form := url.Values{}
			for key, item := range value.Members() {
				intoForm(form, key, media.Member("encoding").Member(key).Member("style").Text() == "deepObject", item)
			}
			return name, []byte(form.Encode()), nil
		}
	}
	for name := range declared.Member("content").Members() {
		return name, []byte("text"), nil
	}
	return "", nil, nil
}

// intoForm writes a property: with brackets where its encoding says so; else an object as JSON, and a list as fields of one name.
func intoForm(form url.Values, key string, deep bool, item *openapi.Node) {
	switch {
	case deep && item.Kind() == openapi.Object:
		for name, part := range item.Members() {
			intoForm(form, key+"["+name+"]", deep, part)
		}
	case deep && item.Kind() == openapi.Array:
		for i, part := range item.Elements() {
			intoForm(form, fmt.Sprintf("%s[%d]", key, i), deep, part)
		}
	case item.Kind() == openapi.Object:
		form.Set(key, string(item.JSON()))
	case item.Kind() == openapi.Array:
		for _, part := range item.Elements() {
			form.Add(key, flat(part))
		}
	default:
		form.Set(key, item.Text())
	}
}

// credentials adds what the security of the operation asks for.
func (c *caller) credentials(op *openapi.Node, query url.Values, header http.Header) {
	security := op.Member("security")
	if security == nil {
		security = c.root.Member("security")
	}
	if first := security.Elements(); len(first) > 0 { // any one of them will do
		for name := range first[0].Members() {
			scheme := c.resolve(c.root.Member("components").Member("securitySchemes").Member(name))
			switch {
			case scheme.Member("type").Text() != "apiKey":
				kind := "Bearer t"
				if strings.EqualFold(scheme.Member("scheme").Text(), "basic") {
					kind = "Basic dTpw"
				}
				header.Set("Authorization", kind)
			case scheme.Member("in").Text() == "query":
				query.Set(scheme.Member("name").Text(), "k")
			case scheme.Member("in").Text() == "header":
				header.Set(scheme.Member("name").Text(), "k")
			default:
				header.Add("Cookie", scheme.Member("name").Text()+"=k")
			}
		}
	}
}
