package mock

import (
	"strconv"
	"strings"
	"sync"

	"github.com/tidelock/tidelock/internal/openapi"
	"github.com/tidelock/tidelock/internal/openapi/sample"
)

// bodies makes the bodies of answers. What two operations share by reference is made, and kept, once.
type bodies struct {
	mu       sync.Mutex // answers that are not the first choice are made when they are asked for
	root     *openapi.Node
	maker    *sample.Maker
	examples map[*openapi.Node][]byte
}

func newBodies(root *openapi.Node) *bodies {
	return &bodies{root: root, maker: sample.New(root), examples: map[*openapi.Node][]byte{}}
}

// payload is a body ready to be sent.
type payload struct {
	body   []byte
	length []string
	// note is the value of the header Tidelock-Placeholder; nil where the body is what the document says.
	note []string
}

func newPayload(body []byte) payload {
	return payload{body: body, length: []string{strconv.Itoa(len(body))}}
}

// of returns the body of a media type: its example, else the first of its examples that has a value, else what its schema
// says. Without any of them every body would do: it is the plainest.
func (b *bodies) of(name string, media *openapi.Node) (payload, error) {
	schema := media.Member("schema")
	if example := b.root.Example(media); example != nil {
		return b.write(name, schema, example), nil
	}
	form := formOf(name)
	switch {
	case schema == nil && form == asJSON:
		return newPayload([]byte("{}")), nil
	case schema == nil:
		return placeholder(name, nil), nil
	}
	made, err := b.maker.Plain(schema)
	if err != nil {
		return payload{}, err
	}
	return b.madeUp(name, schema, made)
}

// madeUp writes a value that was made of a schema, given as JSON.
func (b *bodies) madeUp(name string, schema *openapi.Node, made []byte) (payload, error) {
	form := formOf(name)
	if form == asJSON {
		return newPayload(made), nil
	}
	value, err := openapi.Parse(made)
	if err != nil {
		return payload{}, err
	}
	if form == asUnknown {
		return placeholder(name, plain(value)), nil
	}
	return newPayload(form.write(b.root, schema, value)), nil
}

// write writes an example. Where the media type is not JSON a text is the body as it is.
func (b *bodies) write(name string, schema, example *openapi.Node) payload {
	switch form := formOf(name); {
	case form == asJSON:
		body, ok := b.examples[example]
		if !ok {
			body = example.JSON()
			b.examples[example] = body
		}
		return newPayload(body)
	case example.Kind() == openapi.String:
		return newPayload([]byte(example.Text()))
	case form == asUnknown:
		return placeholder(name, plain(example))
	default:
		return newPayload(form.write(b.root, schema, example))
	}
}

// placeholder is a body in whose place the document would have to give an example, written as a text.
func placeholder(name string, body []byte) payload {
	p := newPayload(body)
	p.note = []string{"the document gives no text as example for " + strings.Map(printable, name)}
	return p
}
