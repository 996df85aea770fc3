package mock

import (
	"net/http"
	"strings"
	"sync/atomic"

	"github.com/tidelock/tidelock/internal/openapi"
)

// Handler answers requests from one document, which can be replaced while it serves: each request is answered from one
// document only. A path is never redirected, and Host is not looked at.
type Handler struct {
	current atomic.Pointer[api]
}

// New returns a Handler that answers from doc.
func New(doc openapi.Document) (*Handler, error) {
	h := &Handler{}
	if err := h.Replace(doc); err != nil {
		return nil, err
	}
	return h, nil
}

// Replace has all further requests answered from doc. Where doc cannot be served, the error says why and the former
// document stays.
func (h *Handler) Replace(doc openapi.Document) error {
	a, err := compile(doc)
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
	ops := h.current.Load().find(r)
	if ops == nil {
		problem(w, r, http.StatusNotFound, "no path of the document is "+r.URL.EscapedPath())
		return
	}
	op := ops.of(r.Method)
	switch {
	case op != nil:
		op.answer(w, r)
	case r.Method == http.MethodOptions:
		w.Header()["Allow"] = ops.allow
		w.WriteHeader(http.StatusNoContent)
	default:
		w.Header()["Allow"] = ops.allow
		problem(w, r, http.StatusMethodNotAllowed, r.URL.EscapedPath()+" has no operation "+r.Method)
	}
}

// api is a document made ready to answer. It does not change.
type api struct {
	bases []base // longest first
}

// base is a base path and the paths under it.
type base struct {
	prefix string
	paths  *segment
}

// find returns the operations of the request's path; nil where the document has no such path.
func (a *api) find(r *http.Request) *operations {
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
			return ops
		}
	}
	return nil
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

// operation is one ready answer.
type operation struct {
	status int
	offers []offer // in the order of the document; none where there is no body
	broken string  // why there is no answer: what the document lacks
}

// answer writes the answer. The values of headers are shared by all requests.
func (o *operation) answer(w http.ResponseWriter, r *http.Request) {
	if o.broken != "" {
		problem(w, r, http.StatusInternalServerError, o.broken)
		return
	}
	if len(o.offers) == 0 {
		w.WriteHeader(o.status)
		return
	}
	chosen := negotiate(o.offers, r.Header["Accept"])
	if chosen == nil {
		problem(w, r, http.StatusNotAcceptable, "the answer is to be had as "+names(o.offers))
		return
	}
	h := w.Header()
	h["Content-Type"] = chosen.contentType
	h["Content-Length"] = chosen.length
	w.WriteHeader(o.status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(chosen.body) // an error here is the client's
	}
}

func names(offers []offer) string {
	out := make([]string, len(offers))
	for i := range offers {
		out[i] = offers[i].name
	}
	return strings.Join(out, ", ")
}
