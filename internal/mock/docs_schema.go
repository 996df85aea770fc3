package mock

import (
	"strconv"
	"strings"

	"github.com/tidelock/tidelock/internal/openapi"
	"github.com/tidelock/tidelock/internal/openapi/sample"
)

// typeText is a part of a type's name; where ID is set it leads to that schema.
type typeText struct{ Text, ID string }

// Bounds of a schema's table.
const (
	maxRows  = 200
	maxInner = 3
)

// rows are the properties of a schema, those of objects within it below them. What has a name of its own is only named.
func (v *viewer) rows(schema *openapi.Node) []fieldView {
	if schema == nil {
		return nil
	}
	var out []fieldView
	v.properties(&out, schema, 0, 0)
	if out == nil {
		return []fieldView{v.field("", schema, false, 0)}
	}
	return out
}

// properties adds the rows of a schema's properties: its own, and those of what it is made of.
func (v *viewer) properties(out *[]fieldView, schema *openapi.Node, depth, nested int) {
	const deepest = 16
	schema = v.root.Follow(schema)
	if depth > maxInner || nested > deepest {
		return
	}
	for _, part := range schema.Member("allOf").Elements() {
		v.properties(out, part, depth, nested+1)
	}
	if items := schema.Member("items"); items != nil && items.Member("$ref") == nil && depth == 0 {
		v.properties(out, items, depth, nested+1)
	}
	for name, p := range schema.Member("properties").Members() {
		if len(*out) >= maxRows {
			return
		}
		required := false
		for _, r := range schema.Member("required").Elements() {
			required = required || r.Text() == name
		}
		*out = append(*out, v.field(name, p, required, depth))
		if inner := p; inner.Member("$ref") == nil {
			if items := p.Member("items"); items != nil && items.Member("$ref") == nil {
				inner = items
			}
			v.properties(out, inner, depth+1, nested+1)
		}
	}
}

func (v *viewer) field(name string, schema *openapi.Node, required bool, depth int) fieldView {
	f := fieldView{Name: name, Required: required, Depth: depth, Type: v.typeText(schema, 0)}
	f.Type = append(f.Type, constraints(v.root.Follow(schema))...)
	f.Description = prose(schema.Member("description").Text())
	return f
}

// typeText names the type of a schema: "array of Pet".
func (v *viewer) typeText(schema *openapi.Node, depth int) []typeText {
	const deepest = 4
	if schema == nil || depth > deepest {
		return []typeText{{Text: "any"}}
	}
	if name, ok := strings.CutPrefix(schema.Member("$ref").Text(), "#/components/schemas/"); ok {
		name = strings.NewReplacer("~1", "/", "~0", "~").Replace(name)
		return []typeText{{Text: name, ID: schemaID(name)}}
	}
	for _, keyword := range []string{"oneOf", "anyOf"} {
		if list := schema.Member(keyword).Elements(); len(list) > 0 {
			return v.joined(list, " or ", depth)
		}
	}
	types := strings.Join(schema.Types(), " or ")
	if list := schema.Member("allOf").Elements(); len(list) > 0 && types == "" {
		return v.joined(list, " and ", depth)
	}
	switch {
	case strings.Contains(types, "array") || types == "" && schema.Member("items") != nil:
		return append([]typeText{{Text: "array of "}}, v.typeText(schema.Member("items"), depth+1)...)
	case types == "" && schema.Member("properties") != nil:
		types = "object"
	case types == "":
		types = "any"
	}
	if format := schema.Member("format").Text(); format != "" {
		types += " (" + format + ")"
	}
	if schema.Member("nullable").IsTrue() {
		types += " or null"
	}
	return []typeText{{Text: types}}
}

func (v *viewer) joined(list []*openapi.Node, word string, depth int) []typeText {
	const most = 8
	var out []typeText
	for i, s := range list[:min(most, len(list))] {
		if i > 0 {
			out = append(out, typeText{Text: word})
		}
		out = append(out, v.typeText(s, depth+1)...)
	}
	if len(list) > most {
		out = append(out, typeText{Text: word + "others"})
	}
	return out
}

// constraints says in words what a schema asks of a value beyond its type.
func constraints(schema *openapi.Node) []typeText {
	const most = 12
	var out []string
	add := func(keyword, words string) {
		if n := schema.Member(keyword); n.Kind() == openapi.Number || n.Kind() == openapi.String {
			out = append(out, words+" "+short(n.Text(), 80))
		}
	}
	add("minimum", "at least")
	add("exclusiveMinimum", "more than")
	add("maximum", "at most")
	add("exclusiveMaximum", "less than")
	add("multipleOf", "a multiple of")
	add("minLength", "characters at least")
	add("maxLength", "characters at most")
	add("pattern", "matches")
	add("minItems", "items at least")
	add("maxItems", "items at most")
	add("default", "default")
	if schema.Member("readOnly").IsTrue() {
		out = append(out, "read-only")
	}
	if schema.Member("writeOnly").IsTrue() {
		out = append(out, "write-only")
	}
	var values []string
	for i, e := range schema.Member("enum").Elements() {
		if i == most {
			values = append(values, "and "+strconv.Itoa(schema.Member("enum").Len()-most)+" more")
			break
		}
		values = append(values, short(e.Text(), 80))
	}
	if values != nil {
		out = append(out, "one of "+strings.Join(values, ", "))
	}
	if out == nil {
		return nil
	}
	return []typeText{{Text: " · " + strings.Join(out, " · ")}}
}

// curl is a command that asks for the operation, with what it requires.
func (v *viewer) curl(method, path string, parameters []*openapi.Node, body *openapi.Node, s security) string {
	var query, lines []string
	for _, p := range parameters {
		name := p.Member("name").Text()
		value := v.sample(p)
		switch in := p.Member("in").Text(); {
		case in == inPath:
			path = strings.ReplaceAll(path, "{"+name+"}", anyEscape(value))
		case !p.Member("required").IsTrue():
		case in == inQuery:
			query = append(query, anyEscape(name)+"="+anyEscape(value))
		case in == inHeader:
			lines = append(lines, "-H "+quoted(name+": "+value))
		case in == inCookie:
			lines = append(lines, "-b "+quoted(name+"="+value))
		}
	}
	if s != nil {
		for _, x := range s[0] {
			switch {
			case x.kind == "apiKey" && x.in == inQuery:
				query = append(query, anyEscape(x.name)+"=KEY")
			case x.kind == "apiKey" && x.in == inCookie:
				lines = append(lines, "-b "+quoted(x.name+"=KEY"))
			case x.kind == "apiKey":
				lines = append(lines, "-H "+quoted(x.name+": KEY"))
			case x.kind == "basic":
				lines = append(lines, "-u user:password")
			case x.kind != "" && x.kind != "mutualTLS":
				lines = append(lines, "-H "+quoted("Authorization: "+x.kind+" TOKEN"))
			}
		}
	}
	for name, media := range body.Member("content").Members() {
		if !openapi.IsJSON(name) || !body.Member("required").IsTrue() {
			continue
		}
		lines = append(lines, "-H "+quoted("Content-Type: "+concrete(name)), "-d "+quoted(v.sampleBody(v.root.Follow(media))))
		break
	}
	at := "http://localhost:" + strconv.Itoa(int(v.port)) + path
	if query != nil {
		at += "?" + strings.Join(query, "&")
	}
	command := "curl"
	if method != "GET" {
		command += " -X " + method
	}
	return strings.Join(append([]string{command + " " + quoted(at)}, lines...), " \\\n  ")
}

func (v *viewer) sampleBody(media *openapi.Node) string {
	const longest = 2000
	if example := v.root.Example(media); example != nil {
		return short(string(example.JSON()), longest)
	}
	if schema := media.Member("schema"); schema != nil {
		if body, err := sample.Of(v.root, schema, openapi.InRequest, 0); err == nil {
			return short(string(body), longest)
		}
	}
	return "{}"
}

// sample is a value for a parameter.
func (v *viewer) sample(p *openapi.Node) string {
	name := p.Member("name").Text()
	return append(sendable(v.bodies.headerValues(name, p)), name)[0]
}
