package openapi

import (
	"encoding/json"
	"iter"
)

// Kind is the type of a JSON value.
type Kind uint8

// The kinds. Absent is the kind of a nil Node.
const (
	Absent Kind = iota
	Null
	Bool
	Number
	String
	Array
	Object
)

// Node is one JSON value. Unlike a Go map it keeps the order of members, and unlike a float64 the digits of a number. It
// also knows the file and the line where it was written. Nodes may be shared; they are not changed once bundled.
//
// All methods work on a nil Node, as on a value that is not there.
type Node struct {
	kind   Kind
	text   string   // String: its value; Number: its JSON literal; Bool: "true" or "false"
	names  []string // Object: the names of items, in the order written
	items  []*Node  // Array and Object
	index  map[string]int
	source *source
	line   int
}

// indexFrom is how many members an object has at least for a lookup by map to be worth it.
const indexFrom = 12

// Kind returns the type of the value.
func (n *Node) Kind() Kind {
	if n == nil {
		return Absent
	}
	return n.kind
}

// Text returns the value of a string, the literal of a number or a boolean, and nothing else.
func (n *Node) Text() string {
	if n == nil {
		return ""
	}
	return n.text
}

// IsTrue reports whether the value is the boolean true.
func (n *Node) IsTrue() bool { return n.Kind() == Bool && n.text == "true" }

// Len returns the number of members or elements.
func (n *Node) Len() int {
	if n == nil {
		return 0
	}
	return len(n.items)
}

// Member returns the member of an object by name, nil where there is none.
func (n *Node) Member(name string) *Node {
	if n.Kind() != Object {
		return nil
	}
	if n.index != nil {
		if i, ok := n.index[name]; ok {
			return n.items[i]
		}
		return nil
	}
	for i, have := range n.names {
		if have == name {
			return n.items[i]
		}
	}
	return nil
}

// Members returns names and values of an object in the order written.
func (n *Node) Members() iter.Seq2[string, *Node] {
	return func(yield func(string, *Node) bool) {
		if n.Kind() != Object {
			return
		}
		for i, name := range n.names {
			if !yield(name, n.items[i]) {
				return
			}
		}
	}
}

// Elements returns the elements of an array.
func (n *Node) Elements() []*Node {
	if n.Kind() != Array {
		return nil
	}
	return n.items
}

// Place returns the file and the line where the value was written; "" and 0 where that is not known.
func (n *Node) Place() (path string, line int) {
	if n == nil || n.source == nil {
		return "", 0
	}
	return n.source.path, n.line
}

// JSON returns the value as compact JSON.
func (n *Node) JSON() []byte { return n.appendJSON(nil) }

func (n *Node) appendJSON(b []byte) []byte {
	switch n.Kind() {
	case Absent, Null:
		return append(b, "null"...)
	case Bool, Number:
		return append(b, n.text...)
	case String:
		return AppendString(b, n.text)
	case Array:
		b = append(b, '[')
		for i, item := range n.items {
			if i > 0 {
				b = append(b, ',')
			}
			b = item.appendJSON(b)
		}
		return append(b, ']')
	case Object:
	}
	b = append(b, '{')
	for i, name := range n.names {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(AppendString(b, name), ':')
		b = n.items[i].appendJSON(b)
	}
	return append(b, '}')
}

// AppendString appends s as a JSON string, without the escapes of HTML, which encoding/json makes by default: a mock answers what
// was written.
func AppendString(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' || c >= 0x80 {
			return appendEscaped(b, s)
		}
	}
	b = append(b, '"')
	b = append(b, s...)
	return append(b, '"')
}

func appendEscaped(b []byte, s string) []byte {
	w := jsonWriter{buf: b}
	enc := json.NewEncoder(&w)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // a string is always encodable
	return w.buf[:len(w.buf)-1]
}

type jsonWriter struct{ buf []byte }

func (w *jsonWriter) Write(p []byte) (int, error) {
	w.buf = append(w.buf, p...)
	return len(p), nil
}
