package openapi

import (
	"context"
	"fmt"
	"mime"
	"slices"
	"strings"
)

// checkExamples checks every example of the document against its schema, until ctx ends. A default is not checked: it may
// be {} where the properties have defaults of their own, and is answered only where it fits. Warnings tell of examples of
// requests that break a format: a mock will refuse them.
func checkExamples(ctx context.Context, root *Node) (errs, warnings Errors) {
	e := exampleChecker{root: root, validator: NewValidator(root)}
	visit(root, func(s spot) {
		if ctx.Err() == nil {
			e.spot(s)
		}
	})
	return e.errs, e.warnings
}

type exampleChecker struct {
	root      *Node
	validator *Validator
	errs      Errors
	warnings  Errors
}

func (e *exampleChecker) spot(s spot) {
	if s.class == schema {
		e.check(s, s.node, s.node.Member("example"), " example")
		for _, x := range s.node.Member("examples").Elements() {
			e.check(s, s.node, x, " examples")
		}
		return
	}
	if !slices.Contains([]class{mediaType, parameter, header}, s.class) {
		return
	}
	of := s.node.Member("schema")
	e.check(s, of, s.node.Member("example"), " example")
	for name, x := range s.node.Member("examples").Members() {
		e.check(s, of, e.root.deref(x).Member("value"), " examples."+name)
	}
}

// check checks one example. The text of a media type that is not JSON is written as it is sent, so a schema of what it
// stands for says nothing about it.
func (e *exampleChecker) check(s spot, of, value *Node, what string) {
	if of == nil || value == nil || s.class == mediaType && value.Kind() == String && !IsJSON(s.key) {
		return
	}
	wrong := e.validator.Validate(of, value, s.use)
	e.errs = append(e.errs, told(s.where+what, wrong)...)
	if wrong == nil && (s.class == schema || s.use == InRequest) {
		e.warnings = append(e.warnings, told(s.where+what, e.validator.run(of, value, s.use, true))...)
	}
}

// told says what is wrong with one example: not all of it, where that is much, since there may be other examples.
func told(what string, wrong []Violation) Errors {
	const most = 5
	var out Errors
	for i, v := range wrong {
		path, line := v.Value.Place()
		text := what + ": " + v.String()
		if more := len(wrong) - i; i == most && more > 1 {
			return append(out, Error{Path: path, Line: line, Text: fmt.Sprintf("%s: and %d more", what, more)})
		}
		out = append(out, Error{Path: path, Line: line, Text: text})
	}
	return out
}

// IsJSON reports whether a body of the media type is JSON, by its name.
func IsJSON(mediaType string) bool {
	name, _, err := mime.ParseMediaType(mediaType)
	if err != nil {
		name = strings.ToLower(mediaType)
	}
	switch name {
	case "application/json", "text/json", "application/*", "*/*":
		return true
	}
	return strings.HasSuffix(name, "+json")
}
