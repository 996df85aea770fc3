package openapi

import "strings"

// Resolve returns what a reference within the document leads to; nil where there is nothing. n is the document's root.
func (n *Node) Resolve(ref string) *Node {
	rest, ok := strings.CutPrefix(ref, "#/")
	if !ok {
		return nil
	}
	for token := range strings.SplitSeq(rest, "/") {
		if n = n.step(unescapePointer(token)); n == nil {
			return nil
		}
	}
	return n
}

// Follow returns what from refers to in the document n, through any number of references; from itself where it is none.
func (n *Node) Follow(from *Node) *Node {
	const longest = 100 // Bundle allows fewer
	for range longest {
		ref := from.Member("$ref")
		if ref.Kind() != String {
			break
		}
		from = n.Resolve(ref.Text())
	}
	return from
}

// Types returns the types that a schema allows; none where it does not say.
func (n *Node) Types() []string {
	t := n.Member("type")
	if t.Kind() == String {
		return []string{t.Text()}
	}
	var out []string
	for _, item := range t.Elements() {
		out = append(out, item.Text())
	}
	return out
}

// Example returns what a media type, a parameter or a header of the document n gives as its example: the one, else the
// first of several that has a value; nil where it gives none.
func (n *Node) Example(of *Node) *Node {
	if example := of.Member("example"); example != nil {
		return example
	}
	for _, named := range of.Member("examples").Members() {
		if value := n.Follow(named).Member("value"); value != nil {
			return value
		}
	}
	return nil
}

// spot is one object of a document, where it is written.
type spot struct {
	node  *Node
	class class
	// where names it for people: "paths./pet.get 200", "components.schemas.Pet.properties.id".
	where string
	// key is its name in the map that it stands in: the media type, for one.
	key string
	// use is what the values are used for that its schema describes.
	use Use
}

// visit calls f for every object of the document whose class is known; references are not followed.
func visit(root *Node, f func(spot)) {
	v := visitor{
		grammar: newGrammar(), f: f,
		uses: map[class]Use{requestBody: InRequest, parameter: InRequest, response: InResponse},
	}
	v.enter(spot{node: root, class: document})
}

type visitor struct {
	grammar grammar
	uses    map[class]Use // of the values that a class describes
	f       func(spot)
}

func (v *visitor) enter(s spot) {
	if use, ok := v.uses[s.class]; ok {
		s.use = use
	}
	v.f(s)
	for name, value := range s.node.Members() {
		r, ok := v.grammar[s.class][name]
		if !ok && !isExtension(name) {
			r = v.grammar[s.class][anyField]
		}
		if r.class != anything {
			v.field(spot{node: value, class: r.class, where: fieldName(s.where, s.class, name), use: s.use}, r.shape)
		}
	}
}

func (v *visitor) field(s spot, in shape) {
	switch in {
	case one:
		v.enter(s)
	case list:
		for _, item := range s.node.Elements() {
			v.enter(spot{node: item, class: s.class, where: elementName(s.where, s.class, item), use: s.use})
		}
	case named, pattern:
		for name, value := range s.node.Members() {
			if in == pattern && isExtension(name) {
				continue
			}
			where := entryName(s.where, s.class, name, s.node.Len())
			v.enter(spot{node: value, class: s.class, where: where, key: name, use: s.use})
		}
	}
}

// fieldName names a field the way people speak of it: what can be only one thing is left out.
func fieldName(where string, c class, name string) string {
	switch {
	case where == "":
		return name
	case c == operation && name == "responses", name == "content":
		return where
	case c == operation && name == "requestBody":
		return where + " request"
	case c == mediaType || c == parameter || c == header || c == response:
		return where + " " + name
	}
	return where + "." + name
}

func elementName(where string, c class, item *Node) string {
	if name := item.Member("name").Text(); c == parameter && name != "" {
		return where + "." + name
	}
	return where
}

func entryName(where string, c class, name string, of int) string {
	switch {
	case c == mediaType && of == 1:
		return where
	case c == mediaType, c == response && !strings.HasPrefix(where, "components."):
		return where + " " + name
	}
	return where + "." + name
}
