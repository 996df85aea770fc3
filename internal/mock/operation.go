package mock

import (
	"net/http"
	"strconv"
	"strings"
)

// operation is what one operation of the document checks and answers.
type operation struct {
	name      string     // "GET /pets/{id}"
	rules     *rules     // nil where nothing is checked
	responses []response // in the order of choice: the first is the answer where nothing else is asked for
	counts    counts
}

// response is one response of an operation.
type response struct {
	key    string // as the document has it: 200, 2XX, default
	status int    // where no other is asked for
	order  int    // of choice
	ready  func() *answer
}

// answer is a response made ready.
type answer struct {
	headers []header
	offers  []offer // in the order of the document; none where there is no body
	broken  string  // why there is no answer: what the document lacks
}

// named is an example that has a name, written in the media type of its offer.
type named struct {
	name string
	payload
}

// answer writes the answer.
func (c *call) answer() {
	if len(c.op.responses) == 0 {
		c.problem(problem{status: http.StatusInternalServerError, detail: "the document declares no response for this operation"})
		return
	}
	if lines := c.r.Header["Prefer"]; lines != nil {
		if p := preferred(lines); p != (preferences{}) {
			c.answerAsPreferred(p)
			return
		}
	}
	first := &c.op.responses[0]
	if a, chosen, ok := c.choose(first); ok {
		if chosen == nil {
			c.send(a, first.status, nil, payload{})
			return
		}
		c.send(a, first.status, chosen.contentType, chosen.payload)
	}
}

// choose returns what a response answers the request with: nothing where it has no body. Where there is no answer that is
// said to the client, and it returns false.
func (c *call) choose(r *response) (*answer, *offer, bool) {
	a := r.ready()
	if a.broken != "" {
		c.problem(problem{status: http.StatusInternalServerError, detail: a.broken})
		return nil, nil, false
	}
	if len(a.offers) == 0 {
		return a, nil, true
	}
	chosen := negotiate(a.offers, c.r.Header["Accept"])
	if chosen == nil {
		c.problem(problem{status: http.StatusNotAcceptable, detail: "the answer is to be had as " + names(a.offers)})
		return nil, nil, false
	}
	return a, chosen, true
}

// send writes an answer whose parts are ready. The values of headers are shared by all requests.
func (c *call) send(a *answer, status int, contentType []string, p payload) {
	h := c.w.Header()
	for i := range a.headers {
		if name := a.headers[i].name; h[name] == nil { // what the mock says about CORS itself is what a browser goes by
			h[name] = a.headers[i].values
		}
	}
	if bodyless(status) { // asked for by Prefer, of a range or default that has a body
		contentType, p = nil, payload{}
	}
	if contentType != nil {
		h["Content-Type"], h["Content-Length"] = contentType, p.length
	}
	if p.note != nil {
		h["Tidelock-Placeholder"] = p.note
	}
	c.status = status
	c.w.WriteHeader(status)
	if contentType != nil {
		c.write(p.body)
	}
}

// answerAsPreferred writes the answer that a client asks for with Prefer. What is not there is not acceptable (RFC 9110,
// section 15.5.7): a 404 could not be told from the one that was asked for.
func (c *call) answerAsPreferred(p preferences) {
	r, status := &c.op.responses[0], c.op.responses[0].status
	if p.code != "" {
		if r, status = c.op.coded(p.code); r == nil {
			c.problem(problem{
				status: http.StatusNotAcceptable, detail: "Prefer: the operation has no response " + p.code, codes: c.op.codes(),
			})
			return
		}
	}
	if p.named {
		if r, status = c.withExample(r, status, p); r == nil {
			c.problem(problem{
				status: http.StatusNotAcceptable, detail: "Prefer: there is no example " + p.example, examples: c.op.examples(),
			})
			return
		}
	}
	a, chosen, ok := c.choose(r)
	if !ok {
		return
	}
	contentType, body := []string(nil), payload{}
	if chosen != nil {
		contentType, body = chosen.contentType, chosen.payload
	}
	switch {
	case p.named:
		chosen = holder(a, chosen, p.example, c.r.Header["Accept"])
		contentType, body = chosen.contentType, chosen.example(p.example).payload
	case p.dynamic && chosen != nil && chosen.made != nil:
		made, err := chosen.made(c.api.settings.seedOf(c.r))
		if err != nil {
			c.problem(problem{status: http.StatusInternalServerError, detail: "Prefer: dynamic: " + err.Error()})
			return
		}
		body = made
	default:
		p.dynamic = false // there is nothing to make anything of
	}
	c.w.Header().Set("Preference-Applied", p.applied())
	c.send(a, status, contentType, body)
}

// coded returns the response to a status: its own, else that of its range, else default.
func (o *operation) coded(code string) (*response, int) {
	status, err := strconv.Atoi(code)
	if err != nil || len(code) != 3 || status < 200 || status > 599 {
		return nil, 0
	}
	for _, key := range []string{code, code[:1] + "XX", "default"} {
		for i := range o.responses {
			if strings.EqualFold(o.responses[i].key, key) {
				return &o.responses[i], status
			}
		}
	}
	return nil, 0
}

func (o *operation) codes() []string {
	out := make([]string, len(o.responses))
	for i := range o.responses {
		out[i] = o.responses[i].key
	}
	return out
}

// withExample returns the response that has the example: the one given, else, where no code was asked for, the first.
func (c *call) withExample(r *response, status int, p preferences) (*response, int) {
	accept := c.r.Header["Accept"]
	if holder(r.ready(), nil, p.example, accept) != nil {
		return r, status
	}
	if p.code != "" {
		return nil, 0
	}
	for i := range c.op.responses {
		if r := &c.op.responses[i]; holder(r.ready(), nil, p.example, accept) != nil {
			return r, r.status
		}
	}
	return nil, 0
}

// holder returns the offer that has an example, and is acceptable: preferably the one that was negotiated.
func holder(a *answer, negotiated *offer, example string, accept []string) *offer {
	if negotiated != nil && negotiated.example(example) != nil {
		return negotiated
	}
	var having []offer
	for i := range a.offers {
		if a.offers[i].example(example) != nil {
			having = append(having, a.offers[i])
		}
	}
	if having == nil {
		return nil
	}
	return negotiate(having, accept)
}

func (o *offer) example(name string) *named {
	for i := range o.examples {
		if o.examples[i].name == name {
			return &o.examples[i]
		}
	}
	return nil
}

// examples are the names of all examples of an operation, each with the response that has it.
func (o *operation) examples() []string {
	var out []string
	for i := range o.responses {
		for j, offers := 0, o.responses[i].ready().offers; j < len(offers); j++ {
			for k := range offers[j].examples {
				out = append(out, offers[j].examples[k].name+" ("+o.responses[i].key+", "+offers[j].name+")")
			}
		}
	}
	return out
}

func names(offers []offer) string {
	out := make([]string, len(offers))
	for i := range offers {
		out[i] = offers[i].name
	}
	return strings.Join(out, ", ")
}

// seedOf returns the seed of what is made up for a request: equal requests get equal values, on every pod.
func (s *settings) seedOf(r *http.Request) uint64 {
	const offset, prime = 14695981039346656037, 1099511628211 // FNV-1a
	sum := uint64(offset)
	for _, part := range []string{r.Method, r.URL.Path, r.URL.RawQuery} {
		for i := range len(part) {
			sum = (sum ^ uint64(part[i])) * prime
		}
	}
	return mix(s.seed) ^ sum
}
