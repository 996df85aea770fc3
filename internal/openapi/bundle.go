package openapi

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
)

// Bounds of the references of one description.
const (
	maxFiles = 1000
	maxRefs  = 100_000
	maxChain = 64 // references that lead to nothing but references
)

// source is one file of a description.
type source struct {
	path    string
	root    *Node
	anchors map[string]string // JSON pointers by $anchor; made when one is asked for first
}

// Bundle reads the description that starts in the file name, and every file that it refers to by $ref, into one document,
// and validates it. Names are slash-separated paths from the repository's root; a $ref is relative to the file in which
// it stands (RFC 3986). read returns the content of a file and refuses what leads outside; it is asked once a file.
//
// Everything that is wrong with the description is in the error, which is then of type Errors. That a schema can never be
// finite (it requires itself) is no error: documents have such schemas where nothing is answered from them, and a mock
// that would have to answer from one says so.
func Bundle(ctx context.Context, name string, read func(name string) ([]byte, error)) (Document, error) {
	b := &bundler{
		read: read, grammar: newGrammar(), files: map[string]*source{},
		hoisted: map[hoisted]string{}, added: map[class]*Node{}, taken: map[class]map[string]bool{},
	}
	src, err := b.load(name)
	if err != nil {
		return Document{}, b.place(name, 0, err)
	}
	version, err := checkVersion(src.root)
	if err != nil {
		path, line := src.root.Place()
		return Document{}, b.place(path, line, err)
	}
	b.root, b.siblings = src, version >= "3.1"
	root := b.document(ctx)
	if err := ctx.Err(); err != nil {
		return Document{}, fmt.Errorf("bundle %s: %w", name, err)
	}
	if err := b.errs.err(); err != nil {
		return Document{}, err
	}
	return finish(ctx, name, root)
}

// finish checks the bundled document: its size, its structure, its examples.
func finish(ctx context.Context, name string, root *Node) (Document, error) {
	text := root.JSON()
	if len(text) > MaxDocument {
		return Document{}, Errors{{Path: name, Text: fmt.Sprintf(
			"the document is %d bytes as JSON: at most %d are allowed", len(text), MaxDocument)}}
	}
	doc, err := describe(root, text)
	if err != nil {
		return Document{}, Errors{{Path: name, Text: err.Error()}}
	}
	// Text that gzip cannot shrink grows by less than this.
	const slack = 4 << 10
	if len(text) > MaxPacked-slack {
		if n := len(Pack(doc)); n > MaxPacked {
			return Document{}, Errors{{Path: name, Text: fmt.Sprintf(
				"the document is %d bytes gzipped: a ConfigMap holds at most %d", n, MaxPacked)}}
		}
	}
	if doc.Warnings, err = validate(ctx, name, root); err != nil {
		return Document{}, err
	}
	return doc, nil
}

// bundler makes one document of many files.
type bundler struct {
	read     func(name string) ([]byte, error)
	grammar  grammar
	siblings bool // fields beside a $ref count (OpenAPI 3.1)

	files map[string]*source
	bytes int
	refs  int
	root  *source

	hoisted map[hoisted]string        // the names in components of what was elsewhere
	taken   map[class]map[string]bool // those names
	queue   []pending                 // what has such a name and is not yet copied
	added   map[class]*Node           // what was copied
	inline  []target                  // the references being replaced by what they refer to
	errs    Errors
}

// load reads and parses a file, once.
func (b *bundler) load(name string) (*source, error) {
	if src, ok := b.files[name]; ok {
		return src, nil
	}
	if len(b.files) >= maxFiles {
		return nil, fmt.Errorf("the description has more than %d files", maxFiles)
	}
	text, err := b.read(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("no file %s", name)
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	if b.bytes += len(text); b.bytes > MaxSource {
		return nil, fmt.Errorf("%s: the files of the description are over %d bytes", name, MaxSource)
	}
	src := &source{path: name}
	if src.root, err = parse(src, text); err != nil {
		return nil, err
	}
	b.files[name] = src
	return src, nil
}

// place gives an error a place where it has none of its own.
func (b *bundler) place(path string, line int, err error) Errors {
	if e, ok := errors.AsType[Error](err); ok {
		return Errors{e}
	}
	return Errors{{Path: path, Line: line, Text: err.Error()}}
}

// document copies the root and then, until nothing new is named, what was referred to elsewhere.
func (b *bundler) document(ctx context.Context) *Node {
	out := b.copy(b.root.root, document)
	for len(b.queue) > 0 && ctx.Err() == nil && len(b.errs) == 0 {
		next := b.queue[0]
		b.queue = b.queue[1:]
		b.added[next.class].add(next.name, b.copy(next.node, next.class))
	}
	return b.withAdded(out)
}

// withAdded puts what was copied behind what components has already.
func (b *bundler) withAdded(out *Node) *Node {
	if len(b.added) == 0 {
		return out
	}
	all := &Node{kind: Object, source: out.source, line: out.line}
	for name, value := range out.Member("components").Members() {
		if extra := b.added[class(name)]; extra != nil {
			merged := value.clone()
			for k, v := range extra.Members() {
				merged.add(k, v)
			}
			value = merged
		}
		all.add(name, value)
	}
	for _, section := range b.sections() {
		if extra := b.added[section]; extra != nil && all.Member(string(section)) == nil {
			all.add(string(section), extra)
		}
	}
	return out.with("components", all)
}

func (b *bundler) sections() []class {
	return []class{schema, response, parameter, example, requestBody, header, securityType, link, callback}
}

// copy returns n, a value of class c, with every reference in it rewritten.
func (b *bundler) copy(n *Node, c class) *Node {
	if n.Kind() != Object || c == anything {
		return n
	}
	if ref := n.Member("$ref"); ref.Kind() == String {
		return b.reference(n, ref, c)
	}
	return b.members(n, c)
}

// members copies the fields of n.
func (b *bundler) members(n *Node, c class) *Node {
	fields := b.grammar[c]
	out := &Node{kind: Object, source: n.source, line: n.line}
	for name, value := range n.Members() {
		r, ok := fields[name]
		if !ok && !isExtension(name) {
			r = fields[anyField]
		}
		if c == schema && name == "discriminator" {
			value = b.discriminator(value)
		}
		out.add(name, b.field(value, r))
	}
	return out
}

// field copies the value of one field, by its rule.
func (b *bundler) field(n *Node, r rule) *Node {
	switch {
	case r.shape == one || r.class == anything:
		return b.copy(n, r.class)
	case r.shape == list && n.Kind() == Array:
		out := &Node{kind: Array, source: n.source, line: n.line}
		for _, item := range n.items {
			out.items = append(out.items, b.copy(item, r.class))
		}
		return out
	case r.shape != list && n.Kind() == Object:
		return b.entries(n, r)
	}
	return n
}

// entries copies a map. A $ref in place of a whole map is not in the specification, but in use: it is replaced by what it
// refers to.
func (b *bundler) entries(n *Node, r rule) *Node {
	if ref := n.Member("$ref"); ref.Kind() == String {
		return b.inlined(n, ref, func(m *Node) *Node { return b.field(m, r) })
	}
	out := &Node{kind: Object, source: n.source, line: n.line}
	for name, value := range n.Members() {
		if r.shape == pattern && isExtension(name) {
			out.add(name, value)
			continue
		}
		out.add(name, b.copy(value, r.class))
	}
	return out
}

func isExtension(name string) bool { return len(name) > 1 && name[:2] == "x-" }
