package render

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// document is one object as it stands in a file: a YAML document, or one item of a List.
type document struct {
	// line of its first key, from 1.
	line int
	// node is the mapping, with positions.
	node *yaml.Node
	// value is node with JSON types (string, bool, int64, float64, nil, []any, map[string]any). It is shared.
	value map[string]any
}

// text returns the string at the path of keys, or "" where there is none.
func (d document) text(path ...string) string { return textAt(d.value, path...) }

// fault is one thing that is wrong with a file. Its text names keys and lines, never a value.
type fault struct {
	line int
	text string
}

// parsed is what a YAML or JSON file holds.
type parsed struct {
	docs []document
	// lists are the documents that are no objects (a JSON patch).
	lists  []list
	faults []fault
}

// list is a document that is not an object.
type list struct {
	line  int
	value any
}

// objects returns the faults of a file that must hold objects alone.
func (p parsed) objects() []fault {
	out := p.faults
	for _, l := range p.lists {
		out = append(slices.Clip(out), fault{line: l.line, text: "not an object: want keys and values at the top"})
	}
	return out
}

// parseYAML reads the documents of a file with the meaning that kubectl gives them (sigs.k8s.io/yaml: YAML 1.1 booleans,
// timestamps are strings), but refuses duplicate keys and bounds what aliases expand to. Lists are replaced by their items.
func parseYAML(data []byte) parsed {
	var out parsed
	nodes, err := parseNodes(data)
	for _, n := range nodes {
		c := converter{}
		if alias := foreignAlias(n, map[*yaml.Node]bool{}); alias != nil {
			c.stop(alias, "its anchor stands in another document of the file: an anchor ends with its document")
		}
		v := c.value(n, 0)
		out.faults = append(out.faults, c.faults...)
		if len(c.faults) > 0 || v == nil {
			continue
		}
		m, ok := v.(map[string]any)
		if !ok {
			out.lists = append(out.lists, list{line: n.Line, value: v})
			continue
		}
		out.docs = append(out.docs, expandList(n, m, 0)...)
	}
	if err != nil {
		out.faults = append(out.faults, syntaxFault(err, data))
	}
	return out
}

// parseNodes returns the root of every document that is not empty, up to the first syntax error.
func parseNodes(data []byte) (nodes []*yaml.Node, err error) {
	// The library reports syntax errors by panics of its own and turns them into errors; what else it may panic with on
	// hostile input must not take the daemon down.
	defer func() {
		if r := recover(); r != nil {
			err = errors.New("not readable as YAML")
		}
	}()
	dec := yaml.NewDecoder(bytes.NewReader(data))
	for {
		var doc yaml.Node
		switch err := dec.Decode(&doc); {
		case errors.Is(err, io.EOF):
			return nodes, nil
		case err != nil:
			return nodes, fmt.Errorf("read YAML: %w", err)
		}
		if len(doc.Content) > 0 {
			nodes = append(nodes, doc.Content[0])
		}
	}
}

// foreignAlias returns the first alias below n whose anchor is not there: the library looks for it in the whole file, kubectl
// and kustomize in the document.
func foreignAlias(n *yaml.Node, anchors map[*yaml.Node]bool) *yaml.Node {
	if n.Anchor != "" {
		anchors[n] = true
	}
	if n.Kind == yaml.AliasNode && !anchors[n.Alias] {
		return n
	}
	for _, c := range n.Content {
		if alias := foreignAlias(c, anchors); alias != nil {
			return alias
		}
	}
	return nil
}

// expandList returns the items of a List (kind List, or any FooList with items, as kubectl reads them), else the object.
func expandList(n *yaml.Node, m map[string]any, depth int) []document {
	kind, _ := m["kind"].(string)
	items, ok := m["items"].([]any)
	if v, set := m["items"]; kind == "List" && set && v == nil {
		return nil
	}
	if !ok || !strings.HasSuffix(kind, "List") || depth > maxDepth {
		return []document{{line: n.Line, node: n, value: m}}
	}
	var out []document
	seq := nodeAt(n, field("items"))
	for i, item := range items {
		node := n
		if seq != nil && i < len(seq.Content) {
			node = resolved(seq.Content[i])
		}
		obj, ok := item.(map[string]any)
		if !ok {
			obj = map[string]any{}
		}
		out = append(out, expandList(node, obj, depth+1)...)
	}
	return out
}

// textAt returns the string at the path of keys in m, or "" where there is none.
func textAt(m map[string]any, path ...string) string {
	s, _ := valueAt(m, path...).(string)
	return s
}

// valueAt returns the value at the path of keys in m, or nil.
func valueAt(m map[string]any, path ...string) any {
	var v any = m
	for _, key := range path {
		obj, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = obj[key]
	}
	return v
}
