package openapi

import (
	"errors"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
)

// target is what a reference leads to: a value in a file.
type target struct {
	file    string
	pointer string // JSON pointer (RFC 6901), decoded from its fragment; empty for the whole file
}

// hoisted is a target that is used as a value of a class.
type hoisted struct {
	class  class
	target target
}

// pending is a value that was given a name in components and is yet to be copied there.
type pending struct {
	class class
	name  string
	node  *Node
}

// reference rewrites one reference of class c: to a name in components, or to what it refers to where that class has no
// place there.
func (b *bundler) reference(n, ref *Node, c class) *Node {
	if !c.referable() {
		return b.inlined(n, ref, func(m *Node) *Node { return b.copy(m, c) })
	}
	t, node, err := b.follow(ref)
	if err != nil {
		b.fail(ref, err)
		return n
	}
	name, ok := b.inComponents(t, c)
	if !ok {
		name = b.hoist(t, node, c)
	}
	to := &Node{kind: String, text: "#/components/" + string(c) + "/" + escapePointer(name), source: ref.source, line: ref.line}
	out := &Node{kind: Object, source: n.source, line: n.line}
	out.add("$ref", to)
	if !b.siblings {
		return out // OpenAPI 3.0: whatever stands beside a $ref is ignored
	}
	for name, value := range b.members(n, c).Members() {
		if name != "$ref" {
			out.add(name, value)
		}
	}
	return out
}

// inlined replaces a reference by what it refers to, copied by copy. What stands beside the reference wins.
func (b *bundler) inlined(n, ref *Node, copied func(*Node) *Node) *Node {
	t, node, err := b.follow(ref)
	if err == nil && slices.Contains(b.inline, t) {
		err = errors.New("it leads back to itself")
	}
	if err != nil {
		b.fail(ref, err)
		return n
	}
	b.inline = append(b.inline, t)
	defer func() { b.inline = b.inline[:len(b.inline)-1] }()
	rest := &Node{kind: Object, source: n.source, line: n.line}
	for name, value := range n.Members() {
		if name != "$ref" {
			rest.add(name, value)
		}
	}
	out := copied(node)
	if rest.Len() == 0 {
		return out
	}
	for name, value := range copied(rest).Members() {
		out = out.with(name, value)
	}
	return out
}

func (b *bundler) fail(ref *Node, err error) {
	p, line := ref.Place()
	if e, ok := errors.AsType[Error](err); ok {
		b.errs = append(b.errs, e)
		err = errors.New("see there")
	}
	b.errs = append(b.errs, Error{Path: p, Line: line, Text: fmt.Sprintf("$ref %q: %v", ref.text, err)})
}

// inComponents returns the name of a target that stands in the root's components, as a value of its class should.
func (b *bundler) inComponents(t target, c class) (string, bool) {
	rest, ok := strings.CutPrefix(t.pointer, "/components/"+string(c)+"/")
	if !ok || t.file != b.root.path || strings.Contains(rest, "/") || !validName(unescapePointer(rest)) {
		return "", false
	}
	return unescapePointer(rest), true
}

// hoist gives a value from elsewhere a name in components.
func (b *bundler) hoist(t target, node *Node, c class) string {
	key := hoisted{class: c, target: t}
	if name, ok := b.hoisted[key]; ok {
		return name
	}
	if b.added[c] == nil {
		b.added[c] = &Node{kind: Object}
		b.taken[c] = map[string]bool{}
	}
	base := componentName(t)
	name := base
	written := b.root.root.Member("components").Member(string(c))
	for i := 2; written.Member(name) != nil || b.taken[c][name]; i++ {
		name = base + "_" + strconv.Itoa(i)
	}
	b.hoisted[key], b.taken[c][name] = name, true
	b.queue = append(b.queue, pending{class: c, name: name, node: node})
	return name
}

// componentName is the last part of a pointer, or the file's name, in the characters that a name in components may have.
func componentName(t target) string {
	name := unescapePointer(t.pointer[strings.LastIndexByte(t.pointer, '/')+1:])
	if name == "" {
		name = strings.TrimSuffix(path.Base(t.file), path.Ext(t.file))
	}
	name = strings.Map(func(r rune) rune {
		if validName(string(r)) {
			return r
		}
		return '_'
	}, name)
	return name
}

// validName reports whether name can be a name in components (^[a-zA-Z0-9._-]+$).
func validName(name string) bool {
	for _, r := range name {
		ok := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._-", r)
		if !ok {
			return false
		}
	}
	return name != ""
}

// follow returns what a reference leads to. A reference that leads to a reference is fine, as long as they end.
func (b *bundler) follow(ref *Node) (target, *Node, error) {
	if b.refs++; b.refs > maxRefs {
		return target{}, nil, fmt.Errorf("the description has more than %d references", maxRefs)
	}
	first, node, err := b.lookup(ref)
	if err != nil {
		return target{}, nil, err
	}
	at := node
	for range maxChain {
		next := at.Member("$ref")
		if next.Kind() != String {
			return first, node, nil
		}
		if _, at, err = b.lookup(next); err != nil {
			return target{}, nil, err
		}
	}
	return target{}, nil, errors.New("it leads to references without end")
}

// lookup finds the value that ref names, read relative to the file that ref stands in.
func (b *bundler) lookup(ref *Node) (target, *Node, error) {
	t, root, err := b.aim(ref)
	if err != nil {
		return target{}, nil, err
	}
	node, err := b.atPointer(root, t.pointer, 0)
	if err != nil {
		return target{}, nil, fmt.Errorf("%w in %s", err, t.file)
	}
	return t, node, nil
}

// aim returns what a reference leads to, as file and pointer, and what is in that file.
func (b *bundler) aim(ref *Node) (target, *Node, error) {
	t, err := b.parseRef(ref)
	if err != nil {
		return target{}, nil, err
	}
	src, err := b.load(t.file)
	if err != nil {
		return target{}, nil, err
	}
	if t.pointer != "" && t.pointer[0] != '/' {
		pointer, ok := src.anchor(t.pointer)
		if !ok {
			return target{}, nil, fmt.Errorf("no $anchor %q in %s; a JSON pointer begins with #/", t.pointer, t.file)
		}
		t.pointer = pointer
	}
	return t, src.root, nil
}

// parseRef splits a reference into file and pointer, or anchor. The file's name is from the repository's root.
func (b *bundler) parseRef(ref *Node) (target, error) {
	u, err := url.Parse(ref.text)
	if err != nil {
		return target{}, errors.New("not a URI reference")
	}
	switch {
	case u.Scheme != "" || u.Host != "":
		return target{}, errors.New("remote references are not read: put the file into the repository")
	case u.RawQuery != "" || u.Opaque != "":
		return target{}, errors.New("only a path and a fragment have a meaning here")
	case strings.HasPrefix(u.Path, "/"):
		return target{}, errors.New("an absolute path is not read: write it relative to this file")
	}
	t := target{file: ref.source.path, pointer: u.Fragment}
	if u.Path == "" {
		return t, nil
	}
	t.file = path.Join(path.Dir(ref.source.path), u.Path)
	if t.file == ".." || strings.HasPrefix(t.file, "../") || strings.ContainsRune(t.file, 0) {
		return target{}, errors.New("it leads out of the repository")
	}
	return t, nil
}

// atPointer walks a JSON pointer, through references where they stand in the way: beside a $ref there may be more ($defs).
func (b *bundler) atPointer(n *Node, pointer string, depth int) (*Node, error) {
	if depth > maxChain {
		return nil, fmt.Errorf("references without end on the way to #%s", pointer)
	}
	rest := pointer
	for rest != "" {
		token, behind := rest[1:], ""
		if i := strings.IndexByte(token, '/'); i >= 0 {
			token, behind = token[:i], token[i:]
		}
		next := n.step(unescapePointer(token))
		if ref := n.Member("$ref"); next == nil && ref.Kind() == String {
			t, root, err := b.aim(ref)
			if err != nil {
				return nil, err
			}
			return b.atPointer(root, t.pointer+rest, depth+1)
		}
		if next == nil {
			return nil, fmt.Errorf("nothing at #%s", pointer)
		}
		n, rest = next, behind
	}
	return n, nil
}

// step returns the member or the element that one token of a pointer names.
func (n *Node) step(token string) *Node {
	if n.Kind() != Array {
		return n.Member(token)
	}
	i, err := strconv.Atoi(token)
	if err != nil || i < 0 || i >= len(n.items) {
		return nil
	}
	return n.items[i]
}

func escapePointer(s string) string {
	if !strings.ContainsAny(s, "~/") {
		return s
	}
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(s)
}

func unescapePointer(s string) string {
	if !strings.Contains(s, "~") {
		return s
	}
	return strings.NewReplacer("~1", "/", "~0", "~").Replace(s)
}
