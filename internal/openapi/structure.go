package openapi

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// structure checks that the objects of a document are what the specification says: the kinds of their values, what must
// be there, and what must agree.
type structure struct {
	root       *Node
	v31        bool
	grammar    grammar
	vocabulary vocabulary
	operations map[string]string // where an operationId was given
	errs       Errors
	warnings   Errors
}

// checkStructure returns what is wrong with a document, and what is odd about it but leaves no doubt about its meaning.
func checkStructure(root *Node) (errs, warnings Errors) {
	v31 := root.Member("openapi").Text() >= "3.1"
	g := newGrammar()
	s := structure{
		root: root, v31: v31, grammar: g, vocabulary: newVocabulary(g, v31), operations: map[string]string{},
	}
	visit(root, s.spot)
	s.security(root, "")
	s.paths(root.Member("paths"))
	return s.errs, s.warnings
}

func (s *structure) refuse(n *Node, where, format string, args ...any) {
	s.errs = append(s.errs, problem(n, where, format, args...))
}

func (s *structure) warn(n *Node, where, format string, args ...any) {
	s.warnings = append(s.warnings, problem(n, where, format, args...))
}

func problem(n *Node, where, format string, args ...any) Error {
	path, line := n.Place()
	text := fmt.Sprintf(format, args...)
	if where != "" {
		text = where + ": " + text
	}
	return Error{Path: path, Line: line, Text: text}
}

func (s *structure) spot(at spot) {
	n := at.node
	switch {
	case at.class == anything:
		return
	case n.Kind() == Null && at.class != schema && at.class != response:
		return // nothing behind the colon
	case at.class == schema && n.Kind() == Bool:
		if !s.v31 && !strings.HasSuffix(at.where, ".additionalProperties") {
			s.refuse(n, at.where, "a schema of OpenAPI 3.0 must be a map, and is a boolean")
		}
		return
	case n.Kind() != Object:
		s.refuse(n, at.where, "must be a map, and is %s", n.Kind().article())
		return
	case n.Member("$ref").Kind() == String && at.class.referable():
		if at.class != schema || !s.v31 {
			return
		}
	}
	s.fields(at)
	further := map[class]func(spot){schema: s.schema, operation: s.operation, parameter: s.parameter, server: s.server}
	if check, ok := further[at.class]; ok {
		check(at)
	}
}

// fields checks the fields of one object, each by itself.
func (s *structure) fields(at spot) {
	known, ok := s.vocabulary[at.class]
	if !ok {
		return
	}
	for name, value := range at.node.Members() {
		f, ok := known[name]
		switch {
		case ok && value.Kind() == Null && !f.needed: // nothing behind the colon
		case ok:
			s.kind(value, within(at.where, name), f.form)
			s.shape(value, within(at.where, name), s.grammar[at.class][name])
		case !isExtension(name):
			s.unknown(at, name, value)
		}
	}
	for name, f := range known {
		if f.needed && at.node.Member(name) == nil {
			s.refuse(at.node, at.where, "the field %q is missing", name)
		}
	}
}

// within names a field of an object, in full.
func within(where, name string) string {
	if where == "" {
		return name
	}
	return where + "." + name
}

// unknown tells of a field that the specification does not have. Nothing is read from it, so it says nothing wrong.
func (s *structure) unknown(at spot, name string, value *Node) {
	if at.class == schema && s.v31 {
		return // JSON Schema lets schemas have words of their own
	}
	hint := ""
	if near := nearest(name, s.vocabulary[at.class]); near != "" {
		hint = fmt.Sprintf(": did you mean %q?", near)
	}
	s.warn(value, at.where, "OpenAPI %.3s has no field %q here, so nothing is read from it%s", s.root.Member("openapi").Text(), name, hint)
}

// shape checks that what holds objects is a map or a list, as the grammar says. The objects are visited by themselves.
func (s *structure) shape(n *Node, where string, r rule) {
	switch {
	case r.class == anything || r.shape == one:
	case r.shape == list && n.Kind() != Array:
		s.refuse(n, where, "must be a list, and is %s", n.Kind().article())
	case r.shape != list && n.Kind() != Object:
		s.refuse(n, where, "must be a map, and is %s", n.Kind().article())
	}
}

// kind checks a value that holds no objects of the specification.
func (s *structure) kind(n *Node, where string, want form) {
	var ok bool
	words := ""
	switch want {
	case asAnything:
		return
	case asText:
		ok, words = n.Kind() == String, "a text: quote it"
		if n.Kind() != Number && n.Kind() != Bool {
			words = "a text"
		}
	case asFlag:
		ok, words = n.Kind() == Bool, "true or false"
	case asNumber:
		ok, words = n.Kind() == Number, "a number"
	case asCount:
		ok, words = n.Kind() == Number && rational(n).IsInt() && rational(n).Sign() >= 0, "a whole number from 0"
	case asMap:
		ok, words = n.Kind() == Object, "a map"
	case asList:
		ok, words = n.Kind() == Array, "a list"
	case asTexts:
		ok, words = n.Kind() == Array && allTexts(n.items), "a list of texts"
	case asTypes:
		ok, words = n.Kind() == String, "a text (lists of types came with OpenAPI 3.1)"
		if s.v31 {
			ok, words = ok || n.Kind() == Array && allTexts(n.items), "a text or a list of texts"
		}
	case asLimit:
		ok, words = n.Kind() == Bool, "true or false in OpenAPI 3.0, beside the limit itself"
		if s.v31 {
			ok, words = n.Kind() == Number, "a number, the limit itself, from OpenAPI 3.1 on"
		}
	}
	if !ok {
		s.refuse(n, where, "must be %s, and is %s", words, n.Kind().article())
	}
}

func allTexts(items []*Node) bool {
	return !slices.ContainsFunc(items, func(n *Node) bool { return n.Kind() != String })
}

// article returns the kind in words: "a number".
func (k Kind) article() string {
	switch k {
	case Absent, Null:
		return "null"
	case Bool:
		return "a boolean"
	case Number:
		return "a number"
	case String:
		return "a text"
	case Array:
		return "a list"
	case Object:
	}
	return "a map"
}

func (s *structure) schema(at spot) {
	if ref := at.node.Member("$dynamicRef"); s.v31 && ref != nil {
		s.refuse(ref, at.where, "$dynamicRef is not supported: write $ref, with a JSON pointer")
	}
	types := []string{"string", "number", "integer", "boolean", "array", "object"}
	if s.v31 {
		types = append(types, "null")
	}
	for _, t := range texts(at.node.Member("type")) {
		switch {
		case slices.Contains(types, t):
		case t == "null":
			s.refuse(at.node.Member("type"), within(at.where, "type"), `OpenAPI 3.0 has no type "null": write nullable: true`)
		default:
			s.refuse(at.node.Member("type"), within(at.where, "type"), "must be one of %s, and is %.40q", strings.Join(types, ", "), t)
		}
	}
	if p := at.node.Member("pattern"); p.Kind() == String {
		if _, err := CompilePattern(p.text); err != nil {
			s.warn(p, within(at.where, "pattern"), "%s is not checked: lookahead, backreferences and counts over 1000 are not supported", short(p))
		}
	}
	if m := at.node.Member("multipleOf"); m.Kind() == Number && rational(m).Sign() <= 0 {
		s.refuse(m, within(at.where, "multipleOf"), "must be more than 0")
	}
}

func texts(n *Node) []string {
	if n.Kind() == String {
		return []string{n.text}
	}
	var out []string
	for _, item := range n.Elements() {
		out = append(out, item.Text())
	}
	return out
}

// statusKey is what the responses of an operation are listed under.
var statusKey = regexp.MustCompile(`^([1-5](\d\d|XX|xx)|default)$`)

func (s *structure) operation(at spot) {
	if id := at.node.Member("operationId"); id.Kind() == String {
		if first, ok := s.operations[id.text]; ok {
			s.refuse(id, at.where, "the operationId %q is that of %s already", id.text, first)
		} else {
			s.operations[id.text] = at.where
		}
	}
	for code, r := range at.node.Member("responses").Members() {
		if !isExtension(code) && !statusKey.MatchString(code) {
			s.refuse(r, at.where, "responses: %.40q is no status: want one as \"200\", \"2XX\" or \"default\"", code)
		}
	}
	s.parameters(at.node.Member("parameters"), at.where)
	s.security(at.node, at.where)
}

// security tells of schemes that are not there: a mock cannot ask for them.
func (s *structure) security(n *Node, where string) {
	for _, requirement := range n.Member("security").Elements() {
		for name := range requirement.Members() {
			if s.root.Member("components").Member("securitySchemes").Member(name) == nil {
				s.warn(requirement, within(where, "security"), "no scheme %.40q is in components.securitySchemes, so it is not asked for", name)
			}
		}
	}
}

// server tells of a URL that lacks its scheme: by RFC 3986 its host is then the first part of a path. And of variables in
// its path that nobody declares.
func (s *structure) server(at spot) {
	u := at.node.Member("url")
	for _, name := range unknownVariables(at.node) {
		s.warn(u, within(at.where, "url"), "{%.40s} is no variable of the server, so it stands for itself", name)
	}
	first, _, _ := strings.Cut(u.Text(), "/")
	if strings.Trim(first, ".") != "" && strings.ContainsAny(first, ".:") && !strings.Contains(u.Text(), "://") {
		s.warn(u, within(at.where, "url"), "%.100q is a path, since it has no scheme: write %.100q if its first part is a host", u.text, "https://"+u.text)
	}
}

func (s *structure) parameter(at spot) {
	n := at.node
	in := n.Member("in").Text()
	switch {
	case n.Member("in").Kind() != String:
		return // told already
	case !slices.Contains([]string{"path", "query", "header", "cookie"}, in):
		s.refuse(n.Member("in"), within(at.where, "in"), "must be one of path, query, header, cookie, and is %.40q", in)
	case in == "path" && !n.Member("required").IsTrue():
		s.refuse(n, at.where, "a parameter in the path must have required: true")
	}
	if n.Member("schema") == nil && n.Member("content") == nil {
		s.refuse(n, at.where, "one of schema and content must be there")
	}
}
