package mock

import (
	"encoding/json"
	"net/http"
	"strconv"
)

// problem answers with problem details (RFC 9457).
func problem(w http.ResponseWriter, r *http.Request, status int, detail string) {
	const longest = 2000 // a path comes from the client, and may be long
	if len(detail) > longest {
		detail = detail[:longest] + "…"
	}
	body, _ := json.Marshal(struct { // nothing in it can fail
		Type   string `json:"type"`
		Title  string `json:"title"`
		Status int    `json:"status"`
		Detail string `json:"detail"`
	}{"about:blank", http.StatusText(status), status, detail})
	h := w.Header()
	h.Set("Content-Type", "application/problem+json")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(body) // an error here is the client's
	}
}
