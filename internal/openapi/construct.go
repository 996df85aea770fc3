package openapi

import (
	"encoding/json"
	"slices"
)

// Value returns the string s, or null, true and false by their kinds.
func Value(kind Kind, s string) *Node { return &Node{kind: kind, text: s} }

// NumberOf returns the number that a text is the literal of; false where it is none, or out of range.
func NumberOf(literal string) (*Node, bool) {
	if literal == "" || literal[0] != '-' && (literal[0] < '0' || literal[0] > '9') {
		return nil, false
	}
	if !json.Valid([]byte(literal)) || !finite(literal) {
		return nil, false
	}
	return &Node{kind: Number, text: literal}, true
}

// ListOf returns an array.
func ListOf(items ...*Node) *Node { return &Node{kind: Array, items: items} }

// MapOf returns an object of members in the order given. Of a name that is there twice the first counts.
func MapOf(names []string, values []*Node) *Node {
	n := &Node{kind: Object}
	for i, name := range names {
		if n.index != nil && n.Member(name) != nil || n.index == nil && slices.Contains(n.names, name) {
			continue
		}
		n.add(name, values[i])
	}
	return n
}
