package openapi

import (
	"strconv"
	"strings"
)

// step leads to a member of an object, or to an element of an array.
type step struct {
	name    string
	place   int
	element bool
}

// within applies a schema to a value one step further down.
func (r *run) within(s step, schema, value *Node) {
	r.way = append(r.way, s)
	r.check(schema, value)
	r.way = r.way[:len(r.way)-1]
}

// pointer returns the JSON pointer (RFC 6901) of the value that is checked. It is made only where something is wrong.
func (r *run) pointer() string {
	var b strings.Builder
	for _, s := range r.way {
		b.WriteByte('/')
		if s.element {
			b.WriteString(strconv.Itoa(s.place))
		} else {
			b.WriteString(escapePointer(s.name))
		}
	}
	return b.String()
}
