package render

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/tidelock/tidelock/api/v1alpha1"
	"github.com/tidelock/tidelock/internal/desired"
	"github.com/tidelock/tidelock/internal/openapi"
	"github.com/tidelock/tidelock/internal/openapi/sample"
)

// document bundles and validates the OpenAPI document of a mock; false where it is refused.
func (c *commit) document(ctx context.Context, r resource[v1alpha1.APIMockSpec]) (openapi.Document, bool) {
	from := r.spec.DefinitionFrom
	switch {
	case (r.spec.Definition == "") == (from == nil):
		c.refuse(r.problem(field("spec"), "set one of definition and definitionFrom"))
	case from == nil:
		return c.inlineDocument(ctx, r)
	case (from.File == "") == (from.ConfigMapKeyRef == nil):
		c.refuse(r.problem(field("spec", "definitionFrom"), "set one of file and configMapKeyRef"))
	case from.File != "":
		return c.fileDocument(ctx, r, from.File)
	default:
		return c.configMapDocument(ctx, r, *from.ConfigMapKeyRef)
	}
	return openapi.Document{}, false
}

// inlineDocument reads a document that stands in the manifest; its references are relative to the manifest's file.
func (c *commit) inlineDocument(ctx context.Context, r resource[v1alpha1.APIMockSpec]) (openapi.Document, bool) {
	doc, err := openapi.Bundle(ctx, r.origin.Path, func(name string) ([]byte, error) {
		if name == r.origin.Path {
			return []byte(r.spec.Definition), nil
		}
		return fs.ReadFile(c.tree, name)
	})
	at := field("spec", "definition")
	return doc, c.documentIsGood(ctx, r, at, scalarIn(r.place, at), doc, err)
}

func (c *commit) fileDocument(ctx context.Context, r resource[v1alpha1.APIMockSpec], file string) (openapi.Document, bool) {
	at := field("spec", "definitionFrom", "file")
	name, err := beside(r.origin.Path, file)
	if err != nil {
		c.refuse(r.problem(at, "%v", err))
		return openapi.Document{}, false
	}
	if _, err := fs.Stat(c.tree, name); err != nil {
		c.refuse(r.problem(at, "%s", unreadable(name, err)))
		return openapi.Document{}, false
	}
	doc, err := openapi.Bundle(ctx, name, func(name string) ([]byte, error) { return fs.ReadFile(c.tree, name) })
	return doc, c.documentIsGood(ctx, r, at, scalar{}, doc, err)
}

// configMapDocument reads a document from a ConfigMap of the same commit. It cannot refer to files: the ConfigMap may have
// been generated from several.
func (c *commit) configMapDocument(
	ctx context.Context, r resource[v1alpha1.APIMockSpec], ref v1alpha1.KeyRef,
) (openapi.Document, bool) {
	at := field("spec", "definitionFrom", "configMapKeyRef")
	m, ok := c.objects[desired.ID{Kind: "ConfigMap", Namespace: r.Namespace, Name: ref.Name}]
	if !ok {
		c.refuse(r.problem(at.child("name"), "no ConfigMap %s/%s in the repository", r.Namespace, ref.Name))
		return openapi.Document{}, false
	}
	text, ok, err := unstructured.NestedString(m.content.Object, "data", ref.Key)
	if err != nil || !ok {
		c.refuse(r.problem(at.child("key"), "ConfigMap %s/%s (%s) has no text under data[%s]",
			r.Namespace, ref.Name, m.origin, ref.Key))
		return openapi.Document{}, false
	}
	doc, err := openapi.Bundle(ctx, m.origin.Path, func(name string) ([]byte, error) {
		if name == m.origin.Path {
			return []byte(text), nil
		}
		return nil, fmt.Errorf("%s: a document in a ConfigMap cannot refer to files", name)
	})
	return doc, c.documentIsGood(ctx, r, at, scalarIn(placeOf(m), field("data", ref.Key)), doc, err)
}

// scalar is a text inside a manifest that is a document of its own.
type scalar struct {
	// file that it stands in.
	file string
	// line before its first, where its lines are those of the file; else 0.
	line int
}

// scalarIn returns the text at f. Only a literal block ("|") keeps its lines.
func scalarIn(p place, f fieldPath) scalar {
	s := scalar{file: p.start.Path}
	if n := resolved(nodeAt(p.lines, f)); n != nil && n.Style&yaml.LiteralStyle != 0 {
		s.line = n.Line
	}
	return s
}

// maxDocumentWarnings is how much that is odd about one document is told.
const maxDocumentWarnings = 20

// documentIsGood reports what is wrong with the document at a field of r, each at its own line; where nothing is, what is
// odd about it.
func (c *commit) documentIsGood(
	ctx context.Context, r resource[v1alpha1.APIMockSpec], at fieldPath, inside scalar, doc openapi.Document, err error,
) bool {
	var wrong openapi.Errors
	switch {
	case err == nil:
		odd := slices.Concat(sample.Unanswered(ctx, doc), doc.Warnings)
		for _, w := range odd[:min(len(odd), maxDocumentWarnings)] {
			c.warn(inside.problem(r, at, w))
		}
		return true
	case !errors.As(err, &wrong):
		c.refuse(r.problem(at, "%v", err))
		return false
	}
	for _, e := range wrong {
		c.refuse(inside.problem(r, at, e))
	}
	return false
}

// problem gives what is wrong with a document its place in the repository.
func (s scalar) problem(r resource[v1alpha1.APIMockSpec], at fieldPath, e openapi.Error) desired.Problem {
	p := r.problem(at, "%s", e.Text)
	switch {
	case e.Path != s.file:
		p.Origin = desired.Origin{Path: e.Path, Line: e.Line}
	case s.line > 0:
		p.Origin = desired.Origin{Path: e.Path, Line: s.line + e.Line}
	case e.Line > 0:
		p.Text = fmt.Sprintf("line %d: %s", e.Line, e.Text)
	}
	return p
}

// beside returns the path from the repository's root of a file that is named from another file of it.
func beside(file, name string) (string, error) {
	joined := path.Join(path.Dir(file), name)
	if path.IsAbs(name) || !fs.ValidPath(joined) {
		return "", fmt.Errorf("%q leads out of the repository: want a path from the manifest's own file", name)
	}
	return joined, nil
}

// unreadable says why a file cannot be read, without the words of the file system.
func unreadable(name string, err error) string {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Sprintf("no file %s in the repository", name)
	}
	return fmt.Sprintf("read %s: %v", name, err)
}
