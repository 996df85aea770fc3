package mock

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/tidelock/tidelock/internal/openapi"
)

// compiler makes an api of a document.
type compiler struct {
	root   *openapi.Node
	bodies bodies
	paths  map[string]*segment // by base path
	all    []*operations
}

// compile makes doc ready to answer. The document has passed openapi.Bundle.
func compile(doc openapi.Document) (*api, error) {
	root, err := openapi.Parse(doc.JSON)
	if err != nil {
		return nil, fmt.Errorf("compile %q: %w", doc.Title, err)
	}
	c := compiler{root: root, bodies: newBodies(root), paths: map[string]*segment{}}
	for template, item := range root.Member("paths").Members() {
		if strings.HasPrefix(template, "/") { // what else is there is an extension
			if err := c.path(template, item); err != nil {
				return nil, fmt.Errorf("compile %q: paths.%s: %w", doc.Title, template, err)
			}
		}
	}
	for _, ops := range c.all {
		ops.complete()
	}
	a := &api{}
	for prefix, tree := range c.paths {
		a.bases = append(a.bases, base{prefix: prefix, paths: tree})
	}
	slices.SortFunc(a.bases, func(x, y base) int {
		if len(x.prefix) != len(y.prefix) {
			return len(y.prefix) - len(x.prefix)
		}
		return strings.Compare(x.prefix, y.prefix)
	})
	return a, nil
}

// path adds the operations of one path, each under its base paths.
func (c *compiler) path(template string, item *openapi.Node) error {
	for i, method := range openapi.Methods() {
		op := item.Member(method)
		if op.Kind() != openapi.Object {
			continue
		}
		bases, err := openapi.BasePaths(c.root, item, op)
		if err != nil {
			return err
		}
		ready := c.operation(op)
		for _, base := range bases {
			c.add(normalize(base), template, i, ready)
		}
	}
	return nil
}

// add puts an operation into the tree. Of two that claim one place the first in the document has it.
func (c *compiler) add(prefix, template string, method int, op *operation) {
	if c.paths[prefix] == nil {
		c.paths[prefix] = &segment{}
	}
	at := c.paths[prefix].at(template)
	if at.ops == nil {
		at.ops = &operations{}
		c.all = append(c.all, at.ops)
	}
	if at.ops.byMethod[method] == nil {
		at.ops.byMethod[method] = op
	}
}

// complete answers HEAD as GET where the document says nothing else, and notes what is allowed.
func (o *operations) complete() {
	if o.byMethod[head] == nil {
		o.byMethod[head] = o.byMethod[get]
	}
	o.allow = []string{allowed(o)}
}

func allowed(ops *operations) string {
	var out []string
	for i, method := range openapi.Methods() {
		if ops.byMethod[i] != nil || i == options {
			out = append(out, strings.ToUpper(method))
		}
	}
	return strings.Join(out, ", ")
}

// operation makes the answer of one operation.
func (c *compiler) operation(op *openapi.Node) *operation {
	status, response := choose(op.Member("responses"))
	if response == nil {
		return &operation{broken: "the document declares no response for this operation"}
	}
	out := &operation{status: status}
	content := c.resolve(response).Member("content")
	if content.Len() == 0 || bodyless(status) {
		return out
	}
	var broken []string
	for name, media := range content.Members() {
		body, err := c.bodies.of(name, c.resolve(media))
		if err != nil {
			broken = append(broken, name+": "+err.Error())
			continue
		}
		o := newOffer(concrete(name), body)
		o.contentType, o.length = []string{o.name}, []string{strconv.Itoa(len(body))}
		out.offers = append(out.offers, o)
	}
	if len(out.offers) == 0 {
		out.broken = "the document gives no answer: " + strings.Join(broken, "; ")
	}
	return out
}

// resolve follows references until there is a value.
func (c *compiler) resolve(n *openapi.Node) *openapi.Node { return resolve(c.root, n) }

func resolve(root, n *openapi.Node) *openapi.Node {
	const longest = 100 // Bundle allows fewer
	for range longest {
		ref := n.Member("$ref")
		if ref.Kind() != openapi.String {
			break
		}
		n = root.Resolve(ref.Text())
	}
	return n
}

// choose returns the response that is answered: the lowest 2xx, the range 2XX, default (as 200), then the lowest of what
// else there is.
func choose(responses *openapi.Node) (status int, response *openapi.Node) {
	var first int
	for code, r := range responses.Members() {
		if s, order := ranked(code); order > 0 && (first == 0 || order < first) {
			first, status, response = order, s, r
		}
	}
	return status, response
}

// ranked returns the status that a key of responses stands for, and its place in the order of choice; 0 where it is no
// answer: an extension, or a status of class 1.
func ranked(code string) (status, order int) {
	// A range comes behind every status in it, default behind all of 2xx.
	const scale, rangeOrder, defaultOrder = 10, 995, 2999
	switch {
	case code == "default":
		return http.StatusOK, defaultOrder
	case len(code) != 3 || code[0] < '2' || code[0] > '5':
		return 0, 0
	case strings.EqualFold(code[1:], "XX"):
		status = 100 * int(code[0]-'0')
		return status, status*scale + rangeOrder
	}
	status, err := strconv.Atoi(code)
	if err != nil {
		return 0, 0
	}
	return status, status * scale
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
