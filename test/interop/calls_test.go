//go:build interop

package interop_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"

	"github.com/tidelock/tidelock/internal/mock"
	"github.com/tidelock/tidelock/internal/openapi"
)

// caller calls every operation of a document.
type caller struct {
	*report
	handler *mock.Handler
	judge   *judge
}

func (c *caller) all(ctx context.Context) error {
	for template, item := range c.root.Member("paths").Members() {
		for _, method := range openapi.Methods() {
			op := item.Member(method)
			if op.Kind() != openapi.Object {
				continue
			}
			for code, response := range op.Member("responses").Members() {
				if err := c.response(ctx, template, method, item, op, code, c.resolve(response)); err != nil {
					return fmt.Errorf("%s %s: %w", method, template, err)
				}
			}
		}
	}
	return nil
}

// resolve follows references to a value.
func (c *caller) resolve(n *openapi.Node) *openapi.Node {
	const longest = 64
	for range longest {
		ref := n.Member("$ref")
		if ref.Kind() != openapi.String {
			break
		}
		n = c.root.Resolve(ref.Text())
	}
	return n
}

// response asks for one declared answer, in each of its media types.
func (c *caller) response(
	ctx context.Context, template, method string, item, op *openapi.Node, code string, response *openapi.Node,
) error {
	status, err := strconv.Atoi(code)
	if err != nil || status < http.StatusOK {
		return nil // a range, default or an extension: no status can be asked for
	}
	content := response.Member("content")
	if content.Len() == 0 {
		return c.call(ctx, template, method, item, op, status, "", nil)
	}
	for name, media := range content.Members() {
		if err := c.call(ctx, template, method, item, op, status, name, c.resolve(media)); err != nil {
			return err
		}
	}
	return nil
}

func (c *caller) call(
	ctx context.Context, template, method string, item, op *openapi.Node, status int, name string, media *openapi.Node,
) error {
	where := fmt.Sprintf("%s %s %d %s", strings.ToUpper(method), template, status, name)
	r, err := c.request(ctx, template, method, item, op)
	if err != nil {
		c.tell("%s: no request: %v", where, err)
		c.broken++
		return nil
	}
	r.Header.Set("Prefer", "code="+strconv.Itoa(status))
	if name != "" {
		r.Header.Set("Accept", name)
	}
	w := httptest.NewRecorder()
	c.handler.ServeHTTP(w, r)
	body := w.Body.Bytes()
	switch {
	case w.Code == http.StatusInternalServerError && status != w.Code && strings.Contains(w.Header().Get("Content-Type"), "problem"):
		c.broken++
		c.tell("%s: %.300s", where, body)
		return nil
	case w.Code != status && c.plain(r) != status:
		c.elsewhere++ // it stays with the status of its own choice
		return nil
	case w.Code == http.StatusNotAcceptable:
		c.broken++
		c.tell("%s: %.300s", where, body)
		return nil
	case w.Code == http.StatusUnprocessableEntity && strings.Contains(string(body), "(format "):
		c.formats++ // an example of the document breaks its own format
		return nil
	case w.Code != status:
		c.fail("%s: status %d for %s: %.300s", where, w.Code, r.URL, body)
		return nil
	case media == nil, !openapi.IsJSON(name), method == "head", media.Member("schema") == nil, len(body) == 0 && bodyless(status):
		c.other++
		return nil
	}
	return c.judged(where, media.Member("schema"), body)
}

// plain returns the status that a request is answered with where it asks for none.
func (c *caller) plain(r *http.Request) int {
	r = r.Clone(r.Context())
	r.Header.Del("Prefer")
	r.Header.Del("Accept")
	w := httptest.NewRecorder()
	c.handler.ServeHTTP(w, r)
	return w.Code
}

// judged holds an answer against its schema.
func (c *caller) judged(where string, schema *openapi.Node, body []byte) error {
	v, err := c.judge.judge(schema.JSON(), body, "response")
	if err != nil {
		return err
	}
	c.answers++
	value, err := openapi.Parse(body)
	if err != nil {
		c.fail("%s: %v: %.200s", where, err, body)
		return nil
	}
	ours := openapi.NewValidator(c.root).Validate(schema, value, openapi.InResponse)
	switch {
	case v.Unable == "" && beyondUs(v.Errors):
		c.unable++
		c.tell("%s: a pattern that we do not check: %v", where, v.Errors)
	case v.Unable != "":
		c.unable++
		c.tell("%s: not judged: %s", where, v.Unable)
	case len(v.Errors) > 0 && len(ours) > 0:
		c.own++ // what is made up fits by our own account, or is not answered at all
		if c.refused == nil {
			c.fail("%s: an example that does not fit was let through: %v", where, ours[0])
		}
	case len(v.Errors) > 0:
		c.fail("%s: %v: %.300s", where, v.Errors, body)
	case len(ours) > 0:
		c.fail("%s: only we say that it does not fit: %v: %.300s", where, ours, body)
	case len(v.Formats) > 0:
		c.formats++
	}
	return nil
}

// bodyless reports whether an answer of a status has no body, whatever the document says (RFC 9110).
func bodyless(status int) bool {
	return status == http.StatusNoContent || status == http.StatusResetContent || status == http.StatusNotModified
}

// beyondUs reports whether all that is wrong are patterns that our validator cannot express; each is a warning at load.
func beyondUs(errs []string) bool {
	return len(errs) > 0 && !slices.ContainsFunc(errs, func(e string) bool {
		_, pattern, ok := strings.Cut(e, " does not match \"")
		_, err := openapi.CompilePattern(strings.TrimSuffix(pattern, "\""))
		return !ok || err == nil
	})
}
