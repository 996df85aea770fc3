package mock

import (
	"bytes"
	"fmt"
	"net/http"
	"sync"

	"github.com/tidelock/tidelock/internal/openapi"
)

// maxViolations is how many violations an answer names.
const maxViolations = 20

// rules are what the document asks of the requests of one operation.
type rules struct {
	security   security
	parameters []parameter
	queries    bool // some of them stand in the query
	body       *bodyRule
}

// rules compiles what a request of an operation is checked for; nil where there is nothing.
func (c *compiler) rules(template string, item, op *openapi.Node) (*rules, error) {
	out := &rules{security: c.security(op)}
	for _, declared := range c.declared(item, op) {
		p, err := c.parameter(template, declared)
		if err != nil {
			return nil, err
		}
		if p.name != "" {
			out.parameters = append(out.parameters, p)
			out.queries = out.queries || p.in == inQuery
		}
	}
	if declared := op.Member("requestBody"); declared != nil {
		out.body = c.body(c.root.Follow(declared))
	}
	if out.security == nil && out.parameters == nil && out.body == nil {
		return nil, nil //nolint:nilnil // nothing to check is no error
	}
	return out, nil
}

// declared are the parameters of an operation: its own, and those of its path that it does not replace.
func (c *compiler) declared(item, op *openapi.Node) []*openapi.Node {
	type key struct{ in, name string }
	var out []*openapi.Node
	seen := map[key]bool{}
	for _, list := range []*openapi.Node{op.Member("parameters"), item.Member("parameters")} {
		for _, p := range list.Elements() {
			p = c.root.Follow(p)
			k := key{p.Member("in").Text(), p.Member("name").Text()}
			if !seen[k] {
				seen[k] = true
				out = append(out, p)
			}
		}
	}
	return out
}

// checks lends what one request needs to be checked.
type checks struct {
	root *openapi.Node
	v31  bool
	pool sync.Pool
}

func newChecks(root *openapi.Node) *checks {
	c := &checks{root: root, v31: root.Member("openapi").Text() >= "3.1"}
	c.pool.New = func() any { return &check{root: root, validator: openapi.NewValidator(root)} }
	return c
}

// check is one request being checked. It is used again for others.
type check struct {
	root      *openapi.Node
	validator *openapi.Validator // is for one goroutine
	query     []pair
	body      bytes.Buffer
	found     []violation
}

func (c *checks) take() *check {
	k, _ := c.pool.Get().(*check)
	return k
}

func (c *checks) give(k *check) {
	const keep = 64 << 10 // a body that was large once is not kept
	if k.body.Cap() > keep {
		k.body = bytes.Buffer{}
	}
	clear(k.query)
	k.query, k.found = k.query[:0], nil
	c.pool.Put(k)
}

// hold reports whether the request is as the document wants it; otherwise it has been answered.
func (r *rules) hold(c *call, at *base) bool {
	if r.security != nil && !r.security.satisfied(c) {
		c.w.Header()["Www-Authenticate"] = r.security.challenges()
		c.problem(problem{
			status: http.StatusUnauthorized, detail: "the operation asks for " + r.security.String(),
			violations: r.security.violations(),
		})
		return false
	}
	if r.parameters == nil && r.body == nil {
		return true
	}
	k := c.api.checks.take()
	defer c.api.checks.give(k)
	r.checkParameters(k, c.r, at)
	if r.body != nil {
		if p, ok := r.body.check(k, c); !ok {
			c.problem(p)
			return false
		}
	}
	if len(k.found) == 0 {
		return true
	}
	detail := "the request does not fit the document: " + k.found[0].String()
	if more := len(k.found) - 1; more > 0 {
		detail += fmt.Sprintf(", and %d more", more)
	}
	c.problem(problem{status: http.StatusUnprocessableEntity, detail: detail, violations: k.found})
	return false
}

func (k *check) violation(in, name, pointer, detail string) {
	if len(k.found) < maxViolations {
		k.found = append(k.found, violation{In: in, Name: name, Pointer: pointer, Detail: detail})
	}
}

// fits takes the first of the candidates that fits the schema; where none does it notes why the first does not.
func (k *check) fits(in, name string, schema *openapi.Node, candidates []*openapi.Node) {
	if schema == nil || len(candidates) == 0 {
		return
	}
	var first []openapi.Violation
	for i, value := range candidates {
		wrong := k.validator.Validate(schema, value, openapi.Received)
		if len(wrong) == 0 {
			return
		}
		if i == 0 {
			first = wrong
		}
	}
	for _, v := range first {
		k.violation(in, name, v.Pointer, v.Text)
	}
}

// pick returns the first candidate that fits, else the first.
func (k *check) pick(schema *openapi.Node, candidates []*openapi.Node) *openapi.Node {
	if len(candidates) > 1 {
		for _, value := range candidates {
			if len(k.validator.Validate(schema, value, openapi.Either)) == 0 {
				return value
			}
		}
	}
	return candidates[0]
}
