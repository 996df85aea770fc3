package openapi

import (
	"slices"
	"strings"
)

// paths checks the templates of the paths, with the parameters that they name.
func (s *structure) paths(n *Node) {
	claimed := map[string]string{}
	for template, item := range n.Members() {
		if isExtension(template) {
			continue
		}
		where := "paths." + template
		if !strings.HasPrefix(template, "/") {
			s.refuse(item, where, "a path must begin with a slash")
			continue
		}
		if strings.ContainsAny(template, "?#") {
			s.refuse(item, where, "a path has no query and no fragment: declare parameters (in: query)")
			continue
		}
		names, plain, ok := parseTemplate(template)
		if !ok {
			s.refuse(item, where, "the braces of the path do not match")
			continue
		}
		s.parameters(item.Member("parameters"), where)
		for _, method := range Methods() {
			op := item.Member(method)
			if op.Kind() != Object {
				continue
			}
			if first, taken := claimed[method+plain]; taken {
				s.refuse(op, where+"."+method, "the path %s claims the same requests", first)
			}
			claimed[method+plain] = template
			s.templated(op, item, names, where+"."+method)
		}
	}
}

// parseTemplate returns the names in the braces of a path, and the path without them.
func parseTemplate(template string) (names []string, plain string, ok bool) {
	var b strings.Builder
	for rest := template; ; {
		before, after, open := strings.Cut(rest, "{")
		b.WriteString(before)
		if strings.Contains(before, "}") {
			return nil, "", false
		}
		if !open {
			return names, b.String(), true
		}
		name, behind, closed := strings.Cut(after, "}")
		if !closed || strings.ContainsAny(name, "{/") {
			return nil, "", false
		}
		names = append(names, name)
		b.WriteString("{}")
		rest = behind
	}
}

// templated checks that the names in a path are those of the parameters in the path.
func (s *structure) templated(op, item *Node, names []string, where string) {
	var declared []string
	for _, list := range []*Node{item.Member("parameters"), op.Member("parameters")} {
		for _, p := range list.Elements() {
			p = s.root.deref(p)
			if p.Member("in").Text() == "path" {
				declared = append(declared, p.Member("name").Text())
			}
		}
	}
	for _, name := range names {
		if !slices.Contains(declared, name) {
			s.refuse(op, where, "the path has {%s}, and no parameter of it is declared (in: path)", name)
		}
	}
	for _, name := range declared {
		if !slices.Contains(names, name) {
			s.refuse(op, where, "the parameter %q is declared in the path, which has no {%s}", name, name)
		}
	}
}

// parameters checks that no parameter is declared twice in one list.
func (s *structure) parameters(list *Node, where string) {
	seen := map[string]bool{}
	for _, p := range list.Elements() {
		d := s.root.deref(p)
		key := d.Member("in").Text() + " " + d.Member("name").Text()
		if seen[key] {
			s.refuse(p, where, "the parameter %q (in: %s) is declared twice", d.Member("name").Text(), d.Member("in").Text())
		}
		seen[key] = true
	}
}

// deref follows references from n to a value. n is the document's root.
func (n *Node) deref(v *Node) *Node {
	for range maxChain {
		ref := v.Member("$ref")
		if ref.Kind() != String {
			break
		}
		v = n.Resolve(ref.text)
	}
	return v
}

// nearest returns the name that name is most likely meant to be; empty where none is near.
func nearest(name string, known map[string]field) string {
	const far = 3
	best, least := "", far
	for candidate := range known {
		if d := distance(strings.ToLower(name), strings.ToLower(candidate)); d < least || d == least && best > candidate && d < far {
			best, least = candidate, d
		}
	}
	return best
}

// distance is how many characters have to be put in, taken out or replaced to make a of b.
func distance(a, b string) int {
	const longest = 40
	if len(a) > longest || len(b) > longest {
		return longest
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
