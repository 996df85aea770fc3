package openapi

import (
	"context"
	"mime"
	"slices"
	"strings"
)

// checkExamples checks every example of the document against its schema, until ctx ends. A default is not checked: it may
// be {} where the properties have defaults of their own, and is answered only where it fits.
func checkExamples(ctx context.Context, root *Node) Errors {
	e := exampleChecker{root: root, validator: NewValidator(root)}
	visit(root, func(s spot) {
		if ctx.Err() == nil {
			e.spot(s)
		}
	})
	return e.errs
}

type exampleChecker struct {
	root      *Node
	validator *Validator
	errs      Errors
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
	for _, v := range e.validator.Validate(of, value, s.use) {
		path, line := v.Value.Place()
		e.errs = append(e.errs, Error{Path: path, Line: line, Text: s.where + what + ": " + v.String()})
	}
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
