package mock

import (
	"net/http"
	"strings"

	"github.com/tidelock/tidelock/internal/openapi"
	"github.com/tidelock/tidelock/internal/openapi/sample"
)

// answer makes a response ready.
func (b *bodies) answer(status int, response *openapi.Node) *answer {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := &answer{headers: b.headers(response.Member("headers"))}
	content := response.Member("content")
	if content.Len() == 0 || bodyless(status) {
		return out
	}
	var broken []string
	for name, media := range content.Members() {
		o, err := b.offer(name, b.root.Follow(media))
		if err != nil {
			broken = append(broken, name+": "+err.Error())
			continue
		}
		out.offers = append(out.offers, o)
	}
	if len(out.offers) == 0 {
		out.broken = "the document gives no answer: " + strings.Join(broken, "; ")
	}
	return out
}

// offer makes what is answered in one media type.
func (b *bodies) offer(name string, media *openapi.Node) (offer, error) {
	body, err := b.of(name, media)
	if err != nil {
		return offer{}, err
	}
	o := newOffer(concrete(name))
	o.payload, o.contentType = body, []string{o.name}
	schema := media.Member("schema")
	for title, example := range media.Member("examples").Members() {
		if value := b.root.Follow(example).Member("value"); value != nil {
			o.examples = append(o.examples, named{name: title, payload: b.write(name, schema, value)})
		}
	}
	if schema != nil {
		o.made = func(seed uint64) (payload, error) { return b.made(name, schema, seed) }
	}
	return o, nil
}

// made makes another value of a schema for each seed.
func (b *bodies) made(name string, schema *openapi.Node, seed uint64) (payload, error) {
	value, err := sample.Of(b.root, schema, openapi.InResponse, seed)
	if err != nil {
		return payload{}, err
	}
	return b.madeUp(name, schema, value)
}

// bodyless reports whether an answer of the status has no body by HTTP itself.
func bodyless(status int) bool {
	return status == http.StatusNoContent || status == http.StatusResetContent || status == http.StatusNotModified
}

// concrete returns the media type that a range in the document's content is answered with.
func concrete(name string) string {
	switch strings.TrimSpace(name) {
	case "*/*", "application/*":
		return "application/json"
	case "text/*":
		return "text/plain"
	}
	return name
}
