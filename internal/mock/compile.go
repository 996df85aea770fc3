package mock

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/tidelock/tidelock/api/v1alpha1"
	"github.com/tidelock/tidelock/internal/openapi"
)

// compiler makes an api of a document.
type compiler struct {
	root   *openapi.Node
	bodies *bodies
	checks *checks             // nil where nothing is checked
	paths  map[string]*segment // by base path
	all    []*operations
	known  []string // paths with their base paths, some of them
}

// maxKnown is how many paths are looked through for those that were meant by a path that is not there.
const maxKnown = 500

// compile makes doc ready to answer. The document has passed openapi.Bundle.
func compile(doc openapi.Document, server v1alpha1.MockServer) (*api, error) {
	root, err := openapi.Parse(doc.JSON)
	if err != nil {
		return nil, fmt.Errorf("compile %q: %w", doc.Title, err)
	}
	a := &api{}
	if a.settings, err = settingsOf(server); err != nil {
		return nil, fmt.Errorf("compile %q: %w", doc.Title, err)
	}
	if a.validate {
		a.checks = newChecks(root)
	}
	c := compiler{root: root, bodies: newBodies(root), checks: a.checks, paths: map[string]*segment{}}
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
	a.paths = c.known
	for prefix, tree := range c.paths {
		a.bases = append(a.bases, base{prefix: prefix, depth: strings.Count(prefix, "/"), paths: tree})
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
		ready.name = strings.ToUpper(method) + " " + template
		if c.checks != nil {
			if ready.rules, err = c.rules(template, item, op); err != nil {
				return err
			}
		}
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
		at.ops = &operations{template: template}
		c.all = append(c.all, at.ops)
		if len(c.known) < maxKnown {
			c.known = append(c.known, prefix+template)
		}
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

// operation makes the answers of one operation: the first choice now, the others when they are asked for.
func (c *compiler) operation(op *openapi.Node) *operation {
	out := &operation{}
	for key, node := range op.Member("responses").Members() {
		status, order := ranked(key)
		if order == 0 {
			continue
		}
		out.responses = append(out.responses, response{key: key, status: status, order: order, ready: sync.OnceValue(func() *answer {
			return c.bodies.answer(status, c.root.Follow(node))
		})})
	}
	slices.SortStableFunc(out.responses, func(a, b response) int { return a.order - b.order })
	if len(out.responses) > 0 {
		out.responses[0].ready()
	}
	return out
}

// ranked returns the status that a key of responses stands for, and its place in the order of choice (the lowest 2xx, the
// range 2XX, default as 200, then the lowest of what else there is); 0 where it is no answer: an extension, or a status of
// class 1.
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
