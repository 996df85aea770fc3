package openapi

import (
	"bytes"
	"maps"
	"slices"
	"strings"
)

// parse reads a file: JSON where it is JSON or is named so, else YAML.
func parse(src *source, text []byte) (*Node, error) {
	text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
	if strings.HasSuffix(src.path, ".json") || isJSON(text) {
		return parseJSON(src, text)
	}
	return parseYAML(src, text)
}

// clone returns a copy of n that shares what it holds.
func (n *Node) clone() *Node {
	out := *n
	out.names, out.items, out.index = slices.Clone(n.names), slices.Clone(n.items), maps.Clone(n.index)
	return &out
}

// with returns n with one member replaced, or appended.
func (n *Node) with(name string, value *Node) *Node {
	out := n.clone()
	if i := slices.Index(out.names, name); i >= 0 {
		out.items[i] = value
		return out
	}
	out.add(name, value)
	return out
}
