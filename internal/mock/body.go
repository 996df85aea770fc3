package mock

import (
	"errors"
	"strings"
	"sync"

	"github.com/tidelock/tidelock/internal/openapi"
)

// bodies makes the bodies of answers. What two operations share by reference is made, and kept, once.
type bodies struct {
	mu        sync.Mutex // answers that are not the first choice are made when they are asked for
	root      *openapi.Node
	validator *openapi.Validator
	examples  map[*openapi.Node][]byte
	schemas   map[*openapi.Node]generated
	size      int // of all that was generated
}

type generated struct {
	body []byte
	err  error
}

func newBodies(root *openapi.Node) *bodies {
	return &bodies{
		root: root, validator: openapi.NewValidator(root),
		examples: map[*openapi.Node][]byte{}, schemas: map[*openapi.Node]generated{},
	}
}

// of returns the body of a media type: its example, else the first of its examples that has a value, else what its schema
// says.
func (b *bodies) of(name string, media *openapi.Node) ([]byte, error) {
	if example := b.example(media); example != nil {
		return b.write(name, example)
	}
	schema := media.Member("schema")
	if schema == nil {
		return nil, errors.New("it has neither an example nor a schema")
	}
	key := schema
	if schema.Len() == 1 { // beside a reference there may be more that counts
		key = resolve(b.root, schema)
	}
	made, ok := b.schemas[key]
	if !ok {
		made.body, made.err = generate(b.validator, b.root, schema, b.size)
		b.size += len(made.body)
		b.schemas[key] = made
	}
	if made.err != nil || openapi.IsJSON(name) {
		return made.body, made.err
	}
	value, err := openapi.Parse(made.body)
	if err != nil {
		return nil, err
	}
	return text(name, value)
}

func (b *bodies) example(media *openapi.Node) *openapi.Node {
	if example := media.Member("example"); example != nil {
		return example
	}
	for _, named := range media.Member("examples").Members() {
		if value := resolve(b.root, named).Member("value"); value != nil {
			return value
		}
	}
	return nil
}

func (b *bodies) write(name string, example *openapi.Node) ([]byte, error) {
	if !openapi.IsJSON(name) {
		return text(name, example)
	}
	body, ok := b.examples[example]
	if !ok {
		body = example.JSON()
		b.examples[example] = body
	}
	return body, nil
}

// text returns the body of a media type that is not JSON. A string is the body as it is. Of other values only those are
// written whose form the media type leaves no doubt about.
func text(name string, value *openapi.Node) ([]byte, error) {
	switch value.Kind() {
	case openapi.String:
		return []byte(value.Text()), nil
	case openapi.Bool, openapi.Number:
		if strings.HasPrefix(name, "text/") {
			return []byte(value.Text()), nil
		}
	case openapi.Absent, openapi.Null, openapi.Array, openapi.Object:
	}
	plain, _, _ := strings.Cut(strings.ToLower(name), ";")
	switch strings.TrimSpace(plain) {
	case "text/plain", "application/yaml", "application/x-yaml", "text/yaml", "text/x-yaml": // JSON is YAML
		return value.JSON(), nil
	}
	return nil, errors.New("a value cannot be written in it: give a text as example")
}
