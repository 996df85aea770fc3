package openapi

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
)

var (
	yamlLine    = regexp.MustCompile(`^line (\d+): `)
	plainNumber = regexp.MustCompile(`^([-+]?)([0-9]*)(\.[0-9]*)?([eE][-+]?[0-9]+)?$`)
)

// parseYAML reads one YAML document by the JSON data model, as OpenAPI asks for: plain scalars mean what YAML 1.2's core
// schema says (yes, on and dates are text), keys are text as written. Errors are of type Error, with the line.
func parseYAML(src *source, text []byte) (*Node, error) {
	dec := yaml.NewDecoder(bytes.NewReader(text))
	var doc yaml.Node
	if err := dec.Decode(&doc); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, Error{Path: src.path, Text: "the file is empty"}
		}
		if line, ok := notUTF8(text); ok {
			return nil, Error{Path: src.path, Line: line, Text: "the file is not UTF-8"}
		}
		return nil, yamlSyntax(src, err)
	}
	var second yaml.Node
	if err := dec.Decode(&second); !errors.Is(err, io.EOF) {
		if err != nil {
			return nil, yamlSyntax(src, err)
		}
		return nil, Error{Path: src.path, Line: second.Line, Text: "a second YAML document: one is expected"}
	}
	c := yamlConverter{src: src}
	return c.value(doc.Content[0], 0)
}

// notUTF8 returns the first line that is not UTF-8.
func notUTF8(text []byte) (int, bool) {
	line := 0
	for part := range bytes.Lines(text) {
		if line++; !utf8.Valid(part) {
			return line, true
		}
	}
	return 0, false
}

// yamlSyntax takes the line out of the library's text: "yaml: line 4: did not find expected ',' or ']'".
func yamlSyntax(src *source, err error) error {
	msg := strings.TrimPrefix(err.Error(), "yaml: ")
	line := 0
	if m := yamlLine.FindStringSubmatch(msg); m != nil {
		line, _ = strconv.Atoi(m[1]) // digits only
		msg = msg[len(m[0]):]
	}
	return Error{Path: src.path, Line: line, Text: "YAML syntax: " + msg}
}

type yamlConverter struct {
	src   *source
	nodes int
}

func (c *yamlConverter) errorf(n *yaml.Node, format string, args ...any) error {
	return Error{Path: c.src.path, Line: n.Line, Text: fmt.Sprintf(format, args...)}
}

// value converts n. An alias counts as a copy, so that aliases of aliases, and one to itself, run into the bounds.
func (c *yamlConverter) value(n *yaml.Node, depth int) (*Node, error) {
	if depth > maxDepth {
		return nil, c.errorf(n, "values are nested more than %d deep", maxDepth)
	}
	if c.nodes++; c.nodes > maxNodes {
		return nil, c.errorf(n, "more than %d values", maxNodes)
	}
	switch n.Kind {
	case yaml.AliasNode:
		return c.value(n.Alias, depth+1)
	case yaml.SequenceNode:
		out := &Node{kind: Array, source: c.src, line: n.Line, items: make([]*Node, 0, len(n.Content))}
		for _, item := range n.Content {
			v, err := c.value(item, depth+1)
			if err != nil {
				return nil, err
			}
			out.items = append(out.items, v)
		}
		return out, nil
	case yaml.MappingNode:
		return c.mapping(n, depth)
	case yaml.ScalarNode:
		return c.scalar(n)
	case yaml.DocumentNode, yaml.StreamNode:
	}
	return nil, c.errorf(n, "not a YAML value")
}

func (c *yamlConverter) mapping(n *yaml.Node, depth int) (*Node, error) {
	out := &Node{kind: Object, source: c.src, line: n.Line}
	var merges []*yaml.Node
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.Kind == yaml.AliasNode {
			key = key.Alias
		}
		if key.Kind != yaml.ScalarNode {
			return nil, c.errorf(key, "a key must be plain text")
		}
		if key.Tag == "!!merge" {
			merges = append(merges, value)
			continue
		}
		if out.Member(key.Value) != nil {
			return nil, c.errorf(key, "the key %q is there twice", key.Value)
		}
		v, err := c.value(value, depth+1)
		if err != nil {
			return nil, err
		}
		out.add(key.Value, v)
	}
	for _, m := range merges {
		if err := c.merge(out, m, depth); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// merge adds what a merge key (<<) brings; what is there wins.
func (c *yamlConverter) merge(out *Node, n *yaml.Node, depth int) error {
	v, err := c.value(n, depth+1)
	if err != nil {
		return err
	}
	from := []*Node{v}
	if v.kind == Array {
		from = v.items
	}
	for _, f := range from {
		if f.kind != Object {
			return c.errorf(n, "a merge key (<<) takes a map or a list of maps")
		}
		for name, value := range f.Members() {
			if out.Member(name) == nil {
				out.add(name, value)
			}
		}
	}
	return nil
}

func (c *yamlConverter) scalar(n *yaml.Node) (*Node, error) {
	out := &Node{source: c.src, line: n.Line}
	plain := n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) == 0
	tag := ""
	if n.Style&yaml.TaggedStyle != 0 {
		tag = n.ShortTag()
	}
	switch {
	case tag == "!!str" || tag == "!!timestamp" || tag == "" && !plain:
		out.kind, out.text = String, n.Value
		return out, nil
	case tag == "" || tag == "!!int" || tag == "!!float" || tag == "!!bool" || tag == "!!null":
	default:
		return nil, c.errorf(n, "the tag %s has no meaning in OpenAPI", tag)
	}
	switch n.Value {
	case "", "~", "null", "Null", "NULL":
		out.kind = Null
		return out, nil
	case "true", "True", "TRUE", "false", "False", "FALSE":
		out.kind, out.text = Bool, strings.ToLower(n.Value)
		return out, nil
	}
	literal, err := jsonNumber(n.Value)
	switch {
	case err != nil:
		return nil, c.errorf(n, "%v", err)
	case literal != "":
		out.kind, out.text = Number, literal
	case tag != "":
		return nil, c.errorf(n, "%.40q is no value of %s", n.Value, tag)
	default:
		out.kind, out.text = String, n.Value
	}
	return out, nil
}

// jsonNumber returns the JSON literal of a plain scalar that is a number by YAML 1.2's core schema, with its digits as
// they are; empty where it is none.
func jsonNumber(s string) (string, error) {
	if c := s[0]; c != '-' && c != '+' && c != '.' && (c < '0' || c > '9') {
		return "", nil
	}
	switch strings.ToLower(strings.TrimLeft(s, "+-")) {
	case ".inf", ".nan":
		return "", fmt.Errorf("%s is no number in JSON: quote it if text is meant", s)
	}
	if strings.HasPrefix(s, "0x") || strings.HasPrefix(s, "0o") {
		return basedNumber(s)
	}
	m := plainNumber.FindStringSubmatch(s)
	if m == nil || m[2] == "" && len(m[3]) < 2 {
		return "", nil
	}
	sign, whole, fraction, exponent := strings.TrimPrefix(m[1], "+"), strings.TrimLeft(m[2], "0"), m[3], m[4]
	if whole == "" {
		whole = "0"
	}
	if fraction == "." {
		fraction = ".0"
	}
	literal := sign + whole + fraction + exponent
	if !finite(literal) {
		return "", fmt.Errorf("the number %.40s is out of range", s)
	}
	return literal, nil
}

// basedNumber reads 0x1F and 0o17; what is no such number is text.
func basedNumber(s string) (string, error) {
	base := 16
	if s[1] == 'o' {
		base = 8
	}
	const longest = 66
	if strings.ContainsAny(s[2:], "+-_") || len(s) > longest {
		return "", nil
	}
	v, ok := new(big.Int).SetString(s[2:], base)
	if !ok {
		return "", nil
	}
	return v.String(), nil
}
