package openapi

import "strconv"

// anchor returns the JSON pointer of the schema that has a name by $anchor (JSON Schema 2020-12 Core, section 8.2.2).
func (s *source) anchor(name string) (pointer string, ok bool) {
	if s.anchors == nil {
		s.anchors = map[string]string{}
		s.root.collectAnchors("", s.anchors)
	}
	pointer, ok = s.anchors[name]
	return pointer, ok
}

// collectAnchors notes all anchors below n, which stands at a pointer. Of two that are equal the first counts.
func (n *Node) collectAnchors(pointer string, into map[string]string) {
	if name := n.Member("$anchor"); name.Kind() == String {
		if _, taken := into[name.text]; !taken {
			into[name.text] = pointer
		}
	}
	for name, item := range n.Members() {
		item.collectAnchors(pointer+"/"+escapePointer(name), into)
	}
	for i, item := range n.Elements() {
		item.collectAnchors(pointer+"/"+strconv.Itoa(i), into)
	}
}
