package mock

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// problem is an answer of the mock itself: problem details (RFC 9457), with what helps to mend the request.
type problem struct {
	status     int
	detail     string
	violations []violation
	basePaths  []string // of the document
	nearest    []string // paths like the one that was asked for
	codes      []string // there are
	examples   []string // there are
}

// violation is one way in which a request does not fit the document.
type violation struct {
	// In is the part of the request: path, query, header, cookie or body.
	In string `json:"in"`
	// Name of the parameter.
	Name string `json:"name,omitempty"`
	// Pointer is the JSON pointer of what is wrong within the value; empty for the whole.
	Pointer string `json:"pointer,omitempty"`
	// Detail says what must hold.
	Detail string `json:"detail"`
}

// String returns "query limit must be integer".
func (v violation) String() string {
	parts := []string{v.In, v.Name, v.Pointer, v.Detail}
	return strings.Join(slices.DeleteFunc(parts, func(part string) bool { return part == "" }), " ")
}

// problem answers with problem details.
func (c *call) problem(p problem) {
	const longest = 2000 // a path comes from the client, and may be long
	if len(p.detail) > longest {
		p.detail = strings.ToValidUTF8(p.detail[:longest], "") + "…"
	}
	body, _ := json.Marshal(struct { // nothing in it can fail
		Type       string      `json:"type"`
		Title      string      `json:"title"`
		Status     int         `json:"status"`
		Detail     string      `json:"detail"`
		Violations []violation `json:"violations,omitempty"`
		BasePaths  []string    `json:"basePaths,omitempty"`
		Nearest    []string    `json:"nearest,omitempty"`
		Codes      []string    `json:"codes,omitempty"`
		Examples   []string    `json:"examples,omitempty"`
	}{"about:blank", http.StatusText(p.status), p.status, p.detail, p.violations, p.basePaths, p.nearest, p.codes, p.examples})
	c.status, c.violations = p.status, p.violations
	h := c.w.Header()
	h.Set("Content-Type", "application/problem+json")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	c.w.WriteHeader(p.status)
	c.write(body)
}

// write writes a body, which HEAD does not have.
func (c *call) write(body []byte) {
	if c.r.Method != http.MethodHead {
		c.bytes, _ = c.w.Write(body) // an error here is the client's
	}
}

// empty answers without a body.
func (c *call) empty(status int) {
	c.status = status
	c.w.WriteHeader(status)
}
