package render

import (
	"context"
	"crypto/sha256"
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

// description is where the description of an API stands.
type description struct {
	// file that it starts in.
	file string
	// hash of its text, where that stands in a manifest of the file; else zero.
	hash [sha256.Size]byte
	// alone is set where it cannot refer to other files.
	alone bool
}

// described is what became of a description, kept as long as no file that it refers to changes.
type described struct {
	doc    openapi.Document
	packed []byte
	// wrong is why it is refused, odd what is told of one that is good.
	wrong, odd openapi.Errors
	// reads is the state of every file that was read or missed.
	reads map[string]string
}

// document bundles and validates the OpenAPI document of a mock; nil where it is refused.
func (c *commit) document(ctx context.Context, r resource[v1alpha1.APIMockSpec]) *described {
	from := r.spec.DefinitionFrom
	switch {
	case (r.spec.Definition == "") == (from == nil):
		c.refuse(r.problem(field("spec"), "set one of definition and definitionFrom"))
	case from == nil:
		at := field("spec", "definition")
		return c.describe(ctx, r, at, scalarIn(r.place, at), embedded(r.origin.Path, r.spec.Definition, false))
	case (from.File == "") == (from.ConfigMapKeyRef == nil):
		c.refuse(r.problem(field("spec", "definitionFrom"), "set one of file and configMapKeyRef"))
	case from.File != "":
		return c.fileDocument(ctx, r, from.File)
	default:
		return c.configMapDocument(ctx, r, *from.ConfigMapKeyRef)
	}
	return nil
}

func (c *commit) fileDocument(ctx context.Context, r resource[v1alpha1.APIMockSpec], file string) *described {
	at := field("spec", "definitionFrom", "file")
	name, err := beside(r.origin.Path, file)
	if err != nil {
		c.refuse(r.problem(at, "%v", err))
		return nil
	}
	if _, err := c.tree.Stat(name); err != nil {
		c.refuse(r.problem(at, "%s", unreadable(name, err)))
		return nil
	}
	return c.describe(ctx, r, at, scalar{}, definition{description: description{file: name}})
}

// configMapDocument reads a document from a ConfigMap of the same commit. It cannot refer to files: the ConfigMap may have
// been generated from several.
func (c *commit) configMapDocument(ctx context.Context, r resource[v1alpha1.APIMockSpec], ref v1alpha1.KeyRef) *described {
	at := field("spec", "definitionFrom", "configMapKeyRef")
	m, ok := c.objects[desired.ID{Kind: "ConfigMap", Namespace: r.Namespace, Name: ref.Name}]
	if !ok {
		c.refuse(r.problem(at.child("name"), "no ConfigMap %s/%s in the repository", r.Namespace, ref.Name))
		return nil
	}
	content, ok, err := unstructured.NestedString(m.content.Object, "data", ref.Key)
	if err != nil || !ok {
		c.refuse(r.problem(at.child("key"), "ConfigMap %s/%s (%s) has no text under data[%s]",
			r.Namespace, ref.Name, m.origin, ref.Key))
		return nil
	}
	return c.describe(ctx, r, at, scalarIn(placeOf(m), field("data", ref.Key)), embedded(m.origin.Path, content, true))
}

// definition is a description to be read: what stands in a manifest has its content, what is a file has none.
type definition struct {
	description
	content []byte
}

// embedded is a description that stands in a manifest; its references are relative to the manifest's file.
func embedded(file, content string, alone bool) definition {
	return definition{description: description{file: file, hash: sha256.Sum256([]byte(content)), alone: alone}, content: []byte(content)}
}

// read bundles and validates a description. An error says nothing about it: ctx ended.
func (d definition) read(ctx context.Context, tree *tree) (*described, error) {
	var out described
	var err error
	out.doc, err = openapi.Bundle(ctx, d.file, func(name string) ([]byte, error) {
		switch {
		case d.content != nil && name == d.file:
			return d.content, nil
		case d.alone:
			return nil, fmt.Errorf("%s: a document in a ConfigMap cannot refer to files", name)
		}
		return tree.ReadFile(name)
	})
	if err == nil {
		out.odd = slices.Concat(sample.Unanswered(ctx, out.doc), out.doc.Warnings)
		out.packed = openapi.Pack(out.doc)
	} else if !errors.As(err, &out.wrong) {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("read the description in %s: %w", d.file, err)
	}
	return &out, nil
}

// describe returns what a description at a field of r is, and reports what is wrong with it, each at its own line; where
// nothing is, what is odd about it. It returns nil where it is refused.
func (c *commit) describe(
	ctx context.Context, r resource[v1alpha1.APIMockSpec], at fieldPath, inside scalar, from definition,
) *described {
	d, err := c.cache.describe(from.description, c.tree, func(t *tree) (*described, error) { return from.read(ctx, t) })
	if err != nil {
		c.refuse(r.problem(at, "%v", err))
		return nil
	}
	for _, e := range d.wrong {
		c.refuse(inside.problem(r, at, e))
	}
	if len(d.wrong) > 0 {
		return nil
	}
	for _, w := range d.odd[:min(len(d.odd), maxDocumentWarnings)] {
		c.warn(inside.problem(r, at, w))
	}
	return d
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
