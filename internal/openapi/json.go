package openapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Bounds of one value: deeper or larger is refused, so that a few bytes never cost much (deep nesting, aliases of aliases).
const (
	maxDepth = 256
	maxNodes = 1 << 20
)

// Parse reads a canonical document (Document.JSON) back into its values, for whoever answers from it.
func Parse(text []byte) (*Node, error) {
	return parseJSON(&source{}, text)
}

// parseJSON reads JSON text (RFC 8259). Errors are of type Error, with the line.
func parseJSON(src *source, text []byte) (*Node, error) {
	p := jsonParser{src: src, text: string(text), line: 1}
	root, err := p.value(0)
	if err != nil {
		return nil, err
	}
	if p.space(); p.at < len(p.text) {
		return nil, p.errorf("more text after the end of the JSON value")
	}
	return root, nil
}

// jsonParser reads one text in one pass. It is not json.Decoder, whose tokens cost a mock more than all else that it does for
// a request with a body. Strings are parts of the text, and not copied.
type jsonParser struct {
	src   *source
	text  string
	at    int // what was read so far
	line  int
	nodes int
	slab  []Node
	names []string // of the objects that are being read, and their values
	items []*Node
}

func (p *jsonParser) errorf(format string, args ...any) error {
	return Error{Path: p.src.path, Line: p.line, Text: fmt.Sprintf(format, args...)}
}

// syntax is the error for what is no JSON: encoding/json says what is wrong.
func (p *jsonParser) syntax() error {
	offset, text := len(p.text), "the text ends within a value"
	var raw json.RawMessage
	if e, ok := errors.AsType[*json.SyntaxError](json.Unmarshal([]byte(p.text), &raw)); ok && e.Error() != "unexpected end of JSON input" {
		offset, text = int(e.Offset), e.Error()
	}
	p.line = 1 + strings.Count(p.text[:offset], "\n")
	return p.errorf("JSON syntax: %s", text)
}

// space skips what may stand between tokens.
func (p *jsonParser) space() {
	for ; p.at < len(p.text); p.at++ {
		switch p.text[p.at] {
		case '\n':
			p.line++
		case ' ', '\t', '\r':
		default:
			return
		}
	}
}

// next returns the first byte of the next token; 0 at the end.
func (p *jsonParser) next() byte {
	if p.space(); p.at < len(p.text) {
		return p.text[p.at]
	}
	return 0
}

// node returns a new value. They are made by the dozen.
func (p *jsonParser) node(kind Kind) *Node {
	const first, most = 16, 512
	if len(p.slab) == 0 {
		p.slab = make([]Node, min(max(first, p.nodes), most))
	}
	n := &p.slab[0]
	p.slab = p.slab[1:]
	n.kind, n.source, n.line = kind, p.src, p.line
	return n
}

func (p *jsonParser) value(depth int) (*Node, error) {
	if depth > maxDepth {
		return nil, p.errorf("values are nested more than %d deep", maxDepth)
	}
	if p.nodes++; p.nodes > maxNodes {
		return nil, p.errorf("more than %d values", maxNodes)
	}
	switch p.next() {
	case '{':
		return p.object(depth)
	case '[':
		return p.array(depth)
	case '"':
		text, ok := p.string()
		if !ok {
			return nil, p.syntax()
		}
		n := p.node(String)
		n.text = text
		return n, nil
	case 't':
		return p.literal(Bool, "true")
	case 'f':
		return p.literal(Bool, "false")
	case 'n':
		return p.literal(Null, "null")
	}
	return p.number()
}

func (p *jsonParser) literal(kind Kind, word string) (*Node, error) {
	if !strings.HasPrefix(p.text[p.at:], word) {
		return nil, p.syntax()
	}
	p.at += len(word)
	n := p.node(kind)
	if kind == Bool {
		n.text = word
	}
	return n, nil
}

func (p *jsonParser) number() (*Node, error) {
	start := p.at
	p.skip("-")
	if zero := p.at; !p.digits() || p.text[zero] == '0' && p.at > zero+1 {
		return nil, p.syntax()
	}
	if p.skip(".") && !p.digits() {
		return nil, p.syntax()
	}
	if p.skip("eE") {
		if p.skip("+-"); !p.digits() {
			return nil, p.syntax()
		}
	}
	n := p.node(Number)
	if n.text = p.text[start:p.at]; !finite(n.text) {
		return nil, p.errorf("the number %.40s is out of range", n.text)
	}
	return n, nil
}

// skip skips one byte where it is one of some.
func (p *jsonParser) skip(some string) bool {
	if p.at < len(p.text) && strings.IndexByte(some, p.text[p.at]) >= 0 {
		p.at++
		return true
	}
	return false
}

// digits skips digits. It says false where there are none.
func (p *jsonParser) digits() bool {
	start := p.at
	for p.at < len(p.text) && p.text[p.at] >= '0' && p.text[p.at] <= '9' {
		p.at++
	}
	return p.at > start
}

// string reads a string whose opening quote is next.
func (p *jsonParser) string() (string, bool) {
	start, plain := p.at+1, true
	for p.at++; p.at < len(p.text); p.at++ {
		switch c := p.text[p.at]; {
		case c == '"':
			s := p.text[start:p.at]
			p.at++
			if plain {
				return s, true
			}
			err := json.Unmarshal([]byte(p.text[start-1:p.at]), &s)
			return s, err == nil
		case c == '\\':
			plain = false
			p.at++
		case c >= utf8.RuneSelf:
			plain = false // it may not be UTF-8
		case c < ' ':
			return "", false
		}
	}
	return "", false
}

func (p *jsonParser) array(depth int) (*Node, error) {
	n, mark := p.node(Array), len(p.items)
	p.at++
	for more := p.next() != ']'; more; {
		item, err := p.value(depth + 1)
		if err != nil {
			return nil, err
		}
		p.items = append(p.items, item)
		switch p.next() {
		case ',':
			p.at++
		case ']':
			more = false
		default:
			return nil, p.syntax()
		}
	}
	p.at++
	n.items = slices.Clone(p.items[mark:])
	p.items = p.items[:mark]
	return n, nil
}

func (p *jsonParser) object(depth int) (*Node, error) {
	n, names, items := p.node(Object), len(p.names), len(p.items)
	p.at++
	for more := p.next() != '}'; more; {
		if p.next() != '"' {
			return nil, p.syntax()
		}
		name, ok := p.string()
		if !ok || p.next() != ':' {
			return nil, p.syntax()
		}
		p.at++
		item, err := p.value(depth + 1)
		if err != nil {
			return nil, err
		}
		p.names, p.items = append(p.names, name), append(p.items, item)
		switch p.next() {
		case ',':
			p.at++
		case '}':
			more = false
		default:
			return nil, p.syntax()
		}
	}
	p.at++
	n.names, n.items = slices.Clone(p.names[names:]), slices.Clone(p.items[items:])
	p.names, p.items = p.names[:names], p.items[:items]
	if i := n.indexed(); i >= 0 {
		p.line = n.items[i].line
		return nil, p.errorf("%q is there twice in one object", n.names[i])
	}
	return n, nil
}

// indexed makes the index of an object that has many members. It returns the first member whose name was there before; -1
// where there is none.
func (n *Node) indexed() int {
	if len(n.names) < indexFrom {
		for i, name := range n.names {
			if slices.Contains(n.names[:i], name) {
				return i
			}
		}
		return -1
	}
	n.index = make(map[string]int, len(n.names))
	for i, name := range n.names {
		if _, twice := n.index[name]; twice {
			return i
		}
		n.index[name] = i
	}
	return -1
}

// add appends a member whose name is not there yet.
func (n *Node) add(name string, value *Node) {
	n.names = append(n.names, name)
	n.items = append(n.items, value)
	switch {
	case n.index != nil:
		n.index[name] = len(n.items) - 1
	case len(n.items) >= indexFrom:
		n.index = make(map[string]int, 2*len(n.items))
		for i, name := range n.names {
			n.index[name] = i
		}
	}
}

// finite reports whether a JSON number is one that the rest of the world can hold: the range of a float64, whatever the
// precision.
func finite(literal string) bool {
	const sure, longest, largest = 300, 400, 400 // digits that always fit, digits, and exponent
	if len(literal) < sure && !strings.ContainsAny(literal, "eE") {
		return true
	}
	if len(literal) > longest {
		return false
	}
	if i := strings.IndexAny(literal, "eE"); i >= 0 {
		exponent, err := strconv.Atoi(literal[i+1:])
		if err != nil || exponent > largest || exponent < -largest {
			return false
		}
	}
	_, err := strconv.ParseFloat(literal, 64)
	return err == nil
}

// isJSON reports whether text starts as a JSON object does. YAML could read it too, but not every escape of JSON.
func isJSON(text []byte) bool {
	text = bytes.TrimLeft(text, " \t\r\n")
	return len(text) > 0 && text[0] == '{' && utf8.Valid(text) && json.Valid(text)
}
