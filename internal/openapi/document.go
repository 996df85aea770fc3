package openapi

import (
	"errors"
	"fmt"
	"strings"
)

// What a description may be at most. A document travels in a ConfigMap, which holds 1 MiB.
const (
	// MaxSource is the size in bytes of all files of a description together.
	MaxSource = 16 << 20
	// MaxDocument is the size in bytes of the bundled JSON: the largest known description, GitHub's, has 7 MB.
	MaxDocument = 12 << 20
	// MaxPacked is the size in bytes of the packed document.
	MaxPacked = 1 << 20
)

// Document is a self-contained OpenAPI document.
type Document struct {
	// JSON is the whole document, compact. Members are in the order in which they were written, numbers have the digits
	// that were written, and every $ref is "#/components/<section>/<name>".
	JSON []byte
	// Title and Version are those of the description's info.
	Title   string
	Version string
	// OpenAPI is the version of the specification, "3.0.3".
	OpenAPI string
	// Operations is how many operations the paths declare.
	Operations int
	// Warnings tell of what is odd about the description, but leaves no doubt about its meaning; by file and line. They are
	// of Bundle only: a packed document does not carry them.
	Warnings Errors

	root *Node // as it was bundled: each value knows where it was written
}

// Root returns the document as values. Those of a document that Bundle returned know the file and the line where they were
// written.
func (d Document) Root() (*Node, error) {
	if d.root != nil {
		return d.root, nil
	}
	return Parse(d.JSON)
}

// describe reads from a document what is told about it, and refuses what is not OpenAPI 3.0 or 3.1.
func describe(root *Node, text []byte) (Document, error) {
	version, err := checkVersion(root)
	if err != nil {
		return Document{}, err
	}
	info := root.Member("info")
	return Document{
		JSON:       text,
		Title:      info.Member("title").Text(),
		Version:    info.Member("version").Text(),
		OpenAPI:    version,
		Operations: countOperations(root),
		root:       root,
	}, nil
}

func checkVersion(root *Node) (string, error) {
	if root.Kind() != Object {
		return "", errors.New("not an OpenAPI document: the top level is not an object")
	}
	if v := root.Member("swagger"); v != nil {
		return "", fmt.Errorf("swagger %s is not supported: convert the document to OpenAPI 3.0 or 3.1, with swagger2openapi for one", v.Text())
	}
	v := root.Member("openapi")
	if v == nil {
		return "", errors.New(`not an OpenAPI document: the field "openapi" is missing`)
	}
	version := v.Text()
	if v.Kind() != String || !strings.HasPrefix(version, "3.0.") && !strings.HasPrefix(version, "3.1.") {
		return "", fmt.Errorf("OpenAPI version %s is not supported: write one of 3.0.x or 3.1.x as text, \"3.0.3\"", v.JSON())
	}
	return version, nil
}

// Methods are the operations that a path item may hold, in the order in which they are shown.
func Methods() []string {
	return []string{"get", "head", "post", "put", "patch", "delete", "options", "trace"}
}

func countOperations(root *Node) int {
	n := 0
	for _, item := range root.Member("paths").Members() {
		for _, method := range Methods() {
			if item.Member(method).Kind() == Object {
				n++
			}
		}
	}
	return n
}
