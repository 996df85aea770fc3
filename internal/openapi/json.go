package openapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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

// parseJSON reads JSON text. Errors are of type Error, with the line.
func parseJSON(src *source, text []byte) (*Node, error) {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	p := jsonParser{src: src, text: text, dec: dec, line: 1}
	root, err := p.value(0)
	if err == nil {
		if _, more := dec.Token(); !errors.Is(more, io.EOF) {
			err = p.errorf("more text after the end of the JSON value")
		}
	}
	if err != nil {
		return nil, err
	}
	return root, nil
}

type jsonParser struct {
	src   *source
	text  []byte
	dec   *json.Decoder
	line  int
	seen  int64 // up to where lines are counted
	nodes int
}

func (p *jsonParser) errorf(format string, args ...any) error {
	return Error{Path: p.src.path, Line: p.at(p.dec.InputOffset()), Text: fmt.Sprintf(format, args...)}
}

// at returns the line of an offset. Offsets only grow.
func (p *jsonParser) at(offset int64) int {
	offset = min(offset, int64(len(p.text)))
	if offset > p.seen {
		p.line += bytes.Count(p.text[p.seen:offset], []byte{'\n'})
		p.seen = offset
	}
	return p.line
}

func (p *jsonParser) token() (json.Token, error) {
	tok, err := p.dec.Token()
	if err == nil {
		return tok, nil
	}
	offset := p.dec.InputOffset()
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		offset = syntax.Offset
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		offset, err = int64(len(p.text)), errors.New("the text ends within a value")
	}
	return nil, Error{Path: p.src.path, Line: p.at(offset), Text: "JSON syntax: " + err.Error()}
}

func (p *jsonParser) value(depth int) (*Node, error) {
	tok, err := p.token()
	if err != nil {
		return nil, err
	}
	return p.rest(tok, depth)
}

// rest reads what follows the first token of a value.
func (p *jsonParser) rest(tok json.Token, depth int) (*Node, error) {
	if depth > maxDepth {
		return nil, p.errorf("values are nested more than %d deep", maxDepth)
	}
	if p.nodes++; p.nodes > maxNodes {
		return nil, p.errorf("more than %d values", maxNodes)
	}
	n := &Node{source: p.src, line: p.at(p.dec.InputOffset())}
	switch v := tok.(type) {
	case nil:
		n.kind = Null
	case bool:
		n.kind, n.text = Bool, strconv.FormatBool(v)
	case json.Number:
		if !finite(v.String()) {
			return nil, p.errorf("the number %.40s is out of range", v)
		}
		n.kind, n.text = Number, v.String()
	case string:
		n.kind, n.text = String, v
	case json.Delim:
		if v == '[' {
			return n, p.array(n, depth)
		}
		return n, p.object(n, depth)
	}
	return n, nil
}

func (p *jsonParser) array(n *Node, depth int) error {
	n.kind = Array
	for p.dec.More() {
		item, err := p.value(depth + 1)
		if err != nil {
			return err
		}
		n.items = append(n.items, item)
	}
	_, err := p.token()
	return err
}

func (p *jsonParser) object(n *Node, depth int) error {
	n.kind = Object
	for p.dec.More() {
		tok, err := p.token()
		if err != nil {
			return err
		}
		name, _ := tok.(string)
		if n.Member(name) != nil {
			return p.errorf("%q is there twice in one object", name)
		}
		item, err := p.value(depth + 1)
		if err != nil {
			return err
		}
		n.add(name, item)
	}
	_, err := p.token()
	return err
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
	const longest, largest = 400, 400 // digits, and exponent
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
