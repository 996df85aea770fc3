package openapi

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Error is one thing that is wrong with a description, with the place where it stands.
type Error struct {
	// Path of the file as it was read, from the repository's root.
	Path string
	// Line in it, from 1; 0 where none is known.
	Line int
	// Text says what is wrong: "paths./pet.get 200 example: /id must be integer".
	Text string
}

// Error returns "api/openapi.yaml:12: paths./pet.get 200 example: /id must be integer".
func (e Error) Error() string {
	switch {
	case e.Path == "":
		return e.Text
	case e.Line == 0:
		return e.Path + ": " + e.Text
	default:
		return e.Path + ":" + strconv.Itoa(e.Line) + ": " + e.Text
	}
}

// Errors is everything that was found wrong, by file and line. It is what Bundle returns: errors.As finds it.
type Errors []Error

// Error returns one line an error.
func (es Errors) Error() string {
	lines := make([]string, len(es))
	for i, e := range es {
		lines[i] = e.Error()
	}
	return strings.Join(lines, "\n")
}

// maxErrors is how many errors are told at once: nobody mends more before looking again.
const maxErrors = 100

// err returns es sorted, each once and not too many, or nil where it is empty.
func (es Errors) err() error {
	if len(es) == 0 {
		return nil
	}
	out := es.sorted()
	if more := len(out) - maxErrors; more > 0 {
		out = append(out[:maxErrors], Error{Path: out[0].Path, Text: fmt.Sprintf("%d more errors are not shown", more)})
	}
	return out
}

// sorted returns es by place, each once.
func (es Errors) sorted() Errors {
	out := slices.Clone(es)
	slices.SortStableFunc(out, func(a, b Error) int {
		return cmp.Or(strings.Compare(a.Path, b.Path), cmp.Compare(a.Line, b.Line), strings.Compare(a.Text, b.Text))
	})
	return slices.Compact(out)
}
