package openapi

// cycleFinder looks for schemas that apply to themselves without going down into the value: {allOf: [itself]}. Nothing
// could ever be checked against one, or generated from it.
type cycleFinder struct {
	root *Node
	seen map[*Node]bool // false while it is being entered, true when it is done
	errs Errors
}

func checkCycles(root *Node) Errors {
	f := cycleFinder{root: root, seen: map[*Node]bool{}}
	visit(root, func(s spot) {
		if s.class == schema {
			f.enter(s.node, s.where)
		}
	})
	return f.errs
}

func (f *cycleFinder) enter(n *Node, where string) {
	done, entered := f.seen[n]
	if entered {
		if !done {
			path, line := n.Place()
			f.errs = append(f.errs, Error{Path: path, Line: line, Text: where + ": the schema applies to itself without end"})
		}
		return
	}
	f.seen[n] = false
	for _, next := range inPlace(f.root, n) {
		f.enter(next, where)
	}
	f.seen[n] = true
}

// inPlace returns the schemas that apply to the same value as n does.
func inPlace(root, n *Node) []*Node {
	var out []*Node
	if ref := n.Member("$ref"); ref.Kind() == String {
		out = append(out, root.Resolve(ref.text))
	}
	for _, keyword := range []string{"allOf", "anyOf", "oneOf"} {
		out = append(out, n.Member(keyword).Elements()...)
	}
	for _, keyword := range []string{"not", "if", "then", "else"} {
		if item := n.Member(keyword); item != nil {
			out = append(out, item)
		}
	}
	for _, item := range n.Member("dependentSchemas").Members() {
		out = append(out, item)
	}
	return out
}
