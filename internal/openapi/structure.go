package openapi

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
)

// checkStructure has kin-openapi read and validate the document. It must not take us down with a document that it cannot
// deal with.
func checkStructure(ctx context.Context, name string, root *Node, text []byte) (errs Errors) {
	defer func() {
		if r := recover(); r != nil {
			errs = Errors{{Path: name, Text: fmt.Sprintf("the document cannot be validated: %v", r)}}
		}
	}()
	loader := openapi3.NewLoader()
	loader.Context = ctx
	doc, err := loader.LoadFromData(text)
	if err != nil {
		return loadErrors(name, root, err)
	}
	// Examples, defaults and patterns are checked by us: exactly, within bounds, and with the place.
	err = doc.Validate(ctx, openapi3.EnableMultiError(), openapi3.DisableExamplesValidation(),
		openapi3.DisableSchemaDefaultsValidation(), openapi3.DisableSchemaPatternValidation())
	for _, e := range flatten(err) {
		errs = append(errs, placed(name, root, e))
	}
	return errs
}

func flatten(err error) []error {
	if err == nil {
		return nil
	}
	multi, ok := errors.AsType[openapi3.MultiError](err)
	if !ok {
		return []error{err}
	}
	var out []error
	for _, e := range multi {
		out = append(out, flatten(e)...)
	}
	return out
}

// wrongType is how the library's YAML reader says that a value has another type than the specification wants.
var wrongType = regexp.MustCompile(`(?:cannot construct|cannot unmarshal) [^;]*? in (/[^ ;\n]*)`)

// loadErrors turns the library's error of reading a document into ours: it names values by JSON pointer.
func loadErrors(name string, root *Node, err error) Errors {
	var errs Errors
	for _, m := range wrongType.FindAllStringSubmatch(err.Error(), -1) {
		n := root
		var names []string
		for token := range strings.SplitSeq(m[1][1:], "/") {
			names = append(names, unescapePointer(token))
			if next := n.step(unescapePointer(token)); next != nil {
				n = next
			}
		}
		path, line := n.Place()
		errs = append(errs, Error{Path: path, Line: line, Text: strings.Join(names, ".") + ": " + n.kind.article() + " cannot stand here"})
	}
	if errs == nil {
		errs = Errors{{Path: name, Text: err.Error()}}
	}
	return errs
}

// article returns the kind in words: "a number".
func (k Kind) article() string {
	switch k {
	case Absent, Null:
		return "null"
	case Bool:
		return "a boolean"
	case Number:
		return "a number"
	case String:
		return "a text"
	case Array:
		return "a list"
	case Object:
	}
	return "a map"
}

// placed finds what an error of the library is about, by the wrappers around it, and so file and line.
func placed(name string, root *Node, err error) Error {
	at := where{node: root, cause: err}
	for e := err; e != nil; e = errors.Unwrap(e) {
		at.enter(root, e)
	}
	path, line := at.node.Place()
	if path == "" {
		path = name
	}
	text := at.cause.Error()
	if len(at.names) > 0 {
		text = strings.Join(at.names, ".") + ": " + text
	}
	return Error{Path: path, Line: line, Text: text}
}

// where is the place of an error of the library: the innermost value that is known, the names that lead to it, and the
// error without them.
type where struct {
	node  *Node
	names []string
	cause error
}

func (w *where) enter(root *Node, err error) {
	switch e := err.(type) { //nolint:errorlint // the chain is walked link by link
	case *openapi3.SectionValidationError:
		w.step(e.Section, e.Cause)
	case *openapi3.PathValidationError:
		w.step(e.Path, e.Cause)
	case *openapi3.OperationValidationError:
		w.step(strings.ToLower(e.Method), e.Cause)
	case *openapi3.WebhookValidationError:
		w.step(e.Name, e.Cause)
	case *openapi3.ComponentValidationError:
		w.step(sectionOf(e.Section), nil)
		w.step(e.Name, e.Cause)
	case *openapi3.PathParametersError:
		if n := root.Member("paths").Member(e.Path).Member(strings.ToLower(e.Method)); n != nil {
			w.node = n
		}
	}
}

func (w *where) step(name string, cause error) {
	if next := w.node.Member(name); next != nil {
		w.node = next
	}
	w.names = append(w.names, name)
	if cause != nil {
		w.cause = cause
	}
}

// sectionOf returns the section of components that the library names in words: "request body".
func sectionOf(words string) string {
	switch words {
	case "request body":
		return "requestBodies"
	case "security scheme":
		return "securitySchemes"
	}
	return words + "s"
}
