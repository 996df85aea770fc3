package mock

import (
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/tidelock/tidelock/api/v1alpha1"
	"github.com/tidelock/tidelock/internal/openapi"
)

// Handler answers requests from one document, which can be replaced while it serves: each request is answered from one
// document only. A path is never redirected, and Host is not looked at.
type Handler struct {
	current  atomic.Pointer[api]
	requests atomic.Uint64 // so far: what is drawn by chance for one depends on its number
	observer *observer     // nil where nobody counts
}

// New returns a Handler that answers from doc, with the settings that a mock has by default.
func New(doc openapi.Document) (*Handler, error) { return NewHandler(doc, v1alpha1.MockServer{}) }

// NewHandler returns a Handler that answers from doc as server says.
func NewHandler(doc openapi.Document, server v1alpha1.MockServer) (*Handler, error) {
	h := &Handler{}
	if err := h.Replace(doc, server); err != nil {
		return nil, err
	}
	return h, nil
}

// Replace has all further requests answered from doc as server says. Where that cannot be, the error says why and what was
// before stays.
func (h *Handler) Replace(doc openapi.Document, server v1alpha1.MockServer) error {
	a, err := compile(doc, server)
	if err != nil {
		return err
	}
	h.current.Store(a)
	return nil
}

// take has all further requests answered from the document of o.
func (h *Handler) take(o *Handler) { h.current.Store(o.current.Load()) }

// ServeHTTP answers one request.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c := call{w: w, r: r, api: h.current.Load()}
	if h.observer == nil {
		c.serve(&h.requests)
		return
	}
	start := time.Now()
	c.serve(&h.requests)
	h.observer.saw(r.Context(), &c, time.Since(start))
}

// call is one request on its way through, and what became of it.
type call struct {
	w   http.ResponseWriter
	r   *http.Request
	api *api
	op  *operation // nil where the document has none for the request

	status     int // 0 where the client was gone before there was an answer
	bytes      int
	violations []violation
}

func (c *call) serve(requests *atomic.Uint64) {
	if c.cross() {
		return
	}
	ops, base := c.api.find(c.r)
	if ops == nil {
		c.noPath()
		return
	}
	c.op = ops.of(c.r.Method)
	switch {
	case c.op == nil && c.r.Method == http.MethodOptions:
		c.w.Header()["Allow"] = ops.allow
		c.empty(http.StatusNoContent)
	case c.op == nil:
		c.w.Header()["Allow"] = ops.allow
		c.problem(problem{
			status: http.StatusMethodNotAllowed,
			detail: c.r.URL.EscapedPath() + " has no operation " + c.r.Method + ": it has " + ops.allow[0],
		})
	case c.api.disturbs() && !c.disturb(requests.Add(1)):
	case c.op.rules != nil && !c.op.rules.hold(c, base):
	default:
		c.answer()
	}
}

// api is a document made ready to answer. What is in it does not change.
type api struct {
	settings
	bases  []base   // longest first
	paths  []string // some of its paths, with base paths, for who asks for one that is not there
	checks *checks
}

// base is a base path and the paths under it.
type base struct {
	prefix string
	depth  int // segments of the prefix
	paths  *segment
}

// find returns the operations of the request's path, and under which base path they were found; nil where the document has
// no such path.
func (a *api) find(r *http.Request) (*operations, *base) {
	path := r.URL.Path
	if r.URL.RawPath != "" || strings.IndexByte(path, '%') >= 0 {
		path = normalize(r.URL.EscapedPath())
	}
	for i := range a.bases {
		b := &a.bases[i]
		rest, ok := strings.CutPrefix(path, b.prefix)
		if !ok || rest == "" || rest[0] != '/' {
			continue
		}
		if ops := b.paths.find(rest[1:]); ops != nil {
			return ops, b
		}
	}
	return nil, nil
}

// The operations of a path, in the order of openapi.Methods.
const (
	get = iota
	head
	post
	put
	patch
	del
	options
	trace
	methods
)

// operations are what one path answers.
type operations struct {
	byMethod [methods]*operation
	template string   // one of those that lead here
	allow    []string // ready for a header
}

// of returns the operation of a method. HEAD is answered as GET where the document says nothing else.
func (o *operations) of(method string) *operation {
	switch method {
	case http.MethodGet:
		return o.byMethod[get]
	case http.MethodHead:
		return o.byMethod[head]
	case http.MethodPost:
		return o.byMethod[post]
	case http.MethodPut:
		return o.byMethod[put]
	case http.MethodPatch:
		return o.byMethod[patch]
	case http.MethodDelete:
		return o.byMethod[del]
	case http.MethodOptions:
		return o.byMethod[options]
	case http.MethodTrace:
		return o.byMethod[trace]
	}
	return nil
}
