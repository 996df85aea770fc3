package render

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/tidelock/tidelock/internal/desired"
)

// fieldPath leads from the root of a document to a field: strings are keys, ints are positions in a list.
type fieldPath []any

// field returns the path of these steps.
func field(steps ...any) fieldPath { return steps }

// child returns p with more steps; p stays as it was.
func (p fieldPath) child(steps ...any) fieldPath {
	return append(slices.Clip(p), steps...)
}

// String returns "spec.rules[0].backend"; a key that holds more than letters, digits and "_-" stands in brackets.
func (p fieldPath) String() string {
	var b strings.Builder
	for _, step := range p {
		switch step := step.(type) {
		case int:
			b.WriteString("[" + strconv.Itoa(step) + "]")
		case string:
			if strings.ContainsFunc(step, isOdd) || step == "" {
				b.WriteString("[" + step + "]")
				continue
			}
			if b.Len() > 0 {
				b.WriteByte('.')
			}
			b.WriteString(step)
		}
	}
	return b.String()
}

func isOdd(r rune) bool {
	letter := 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
	digit := '0' <= r && r <= '9'
	return !letter && !digit && r != '_' && r != '-'
}

// place is where the problems of one document are reported: its file, its lines and its name.
type place struct {
	start desired.Origin
	// lines is the document with its lines; nil where kustomize changed it: then source is the document before that, and
	// now what it holds since.
	lines  *yaml.Node
	source *yaml.Node
	now    map[string]any
	// object is "ProxyRoute shop/web".
	object string
}

// at returns the place of a field, or of the nearest thing around it that is there.
func (p place) at(f fieldPath) desired.Origin {
	if p.lines == nil {
		return desired.Origin{Path: p.start.Path, Line: p.unchangedLine(f)}
	}
	return desired.Origin{Path: p.start.Path, Line: lineOf(p.lines, f, p.start.Line)}
}

// unchangedLine returns the line of f, or of the nearest thing around it, that kustomize left as it was; else the line at
// which the document begins.
func (p place) unchangedLine(f fieldPath) int {
	line, source, now := p.start.Line, p.source, any(p.now)
	for _, step := range f {
		key, before := stepInto(source, step)
		after, ok := valueIn(now, step)
		if before == nil || !ok {
			break
		}
		if (&converter{core: true}).same(before, after) {
			line = key.Line
		}
		source, now = before, after
	}
	return line
}

// same says whether a node holds a value.
func (c *converter) same(n *yaml.Node, value any) bool {
	before := c.value(n, 0)
	return len(c.faults) == 0 && reflect.DeepEqual(before, value)
}

// valueIn returns what a step leads to in a decoded document.
func valueIn(v, step any) (any, bool) {
	switch step := step.(type) {
	case int:
		if list, ok := v.([]any); ok && step < len(list) {
			return list[step], true
		}
	case string:
		if m, ok := v.(map[string]any); ok {
			value, ok := m[step]
			return value, ok
		}
	}
	return nil, false
}

// problem returns what is wrong with a field.
func (p place) problem(f fieldPath, format string, args ...any) desired.Problem {
	return desired.Problem{Origin: p.at(f), Object: p.object, Field: f.String(), Text: fmt.Sprintf(format, args...)}
}

// lineOf returns the line of the last step of f that n has; line where it has none.
func lineOf(n *yaml.Node, f fieldPath, line int) int {
	for _, step := range f {
		key, value := stepInto(n, step)
		if value == nil {
			return line
		}
		line, n = key.Line, value
	}
	return line
}

// nodeAt returns the node at f; nil where there is none.
func nodeAt(n *yaml.Node, f fieldPath) *yaml.Node {
	for _, step := range f {
		_, n = stepInto(n, step)
		if n == nil {
			return nil
		}
	}
	return n
}

// stepInto returns the node whose line stands for a step (the key, or the item itself), and the node behind it.
func stepInto(n *yaml.Node, step any) (at, value *yaml.Node) {
	n = resolved(n)
	if n == nil {
		return nil, nil
	}
	switch step := step.(type) {
	case int:
		if n.Kind == yaml.SequenceNode && step < len(n.Content) {
			return n.Content[step], n.Content[step]
		}
	case string:
		if n.Kind == yaml.MappingNode {
			return keyIn(n, step)
		}
	}
	return nil, nil
}

// keyIn returns the key of a mapping and its value; keys of its own come before those of a merge ("<<").
func keyIn(n *yaml.Node, name string) (key, value *yaml.Node) {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == name {
			return n.Content[i], n.Content[i+1]
		}
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Tag != "!!merge" {
			continue
		}
		if merged := resolved(n.Content[i+1]); merged != nil && merged.Kind == yaml.MappingNode {
			if key, value := keyIn(merged, name); value != nil {
				return key, value
			}
		}
	}
	return nil, nil
}

// resolved follows documents and aliases to what they stand for.
func resolved(n *yaml.Node) *yaml.Node {
	const maxDepth = 64 // an alias can hold itself
	for range maxDepth {
		switch {
		case n == nil:
			return nil
		case n.Kind == yaml.DocumentNode && len(n.Content) > 0:
			n = n.Content[0]
		case n.Kind == yaml.AliasNode:
			n = n.Alias
		default:
			return n
		}
	}
	return nil
}
