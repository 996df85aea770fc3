package openapi

import "strconv"

// trail is the way to a value within what is checked; nil for the whole. It becomes a pointer only where something is wrong.
type trail struct {
	up    *trail
	name  string // of a member
	place int    // of an element, where name is empty and element is set
	// element says that it is one of a list.
	element bool
}

// to is the way to a member of a value; at is the way to an element.
func (t *trail) to(name string) *trail { return &trail{up: t, name: name} }
func (t *trail) at(i int) *trail       { return &trail{up: t, place: i, element: true} }

// pointer returns the JSON pointer (RFC 6901).
func (t *trail) pointer() string {
	switch {
	case t == nil:
		return ""
	case t.element:
		return t.up.pointer() + "/" + strconv.Itoa(t.place)
	default:
		return t.up.pointer() + "/" + escapePointer(t.name)
	}
}
