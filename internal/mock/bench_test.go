package mock

import (
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
)

// discard is a ResponseWriter that costs nothing.
type discard struct{ header http.Header }

func (d *discard) Header() http.Header         { return d.header }
func (d *discard) Write(p []byte) (int, error) { return len(p), nil }
func (d *discard) WriteHeader(int)             {}

func request(path, accept string) *http.Request {
	r := &http.Request{Method: http.MethodGet, URL: &url.URL{Path: path}, Header: http.Header{}}
	if accept != "" {
		r.Header["Accept"] = []string{accept}
	}
	return r
}

func TestAnAnswerAllocatesNothingButTheValuesThatItChecks(t *testing.T) {
	for name, c := range map[string]struct {
		file, path, accept string
		checked            float64 // parameters
	}{
		"any type":    {"accept", "/both", "*/*", 0},
		"negotiated":  {"accept", "/both", "text/csv;q=0.9, application/json;q=0.1", 0},
		"a template":  {"concrete-before-template", "/users/42", "", 1},
		"two of them": {"concrete-before-template", "/acme/payments/7", "application/json", 2},
	} {
		const each = 3 // the list of what a text may stand for, the likeliest, and its run through the schema
		h := handler(t, "testdata/"+c.file+"/openapi.yaml")
		w, r := &discard{header: http.Header{}}, request(c.path, c.accept)
		least := math.Inf(1) // what else the process does meanwhile is counted too, and only adds
		for range 10 {
			least = min(least, testing.AllocsPerRun(100, func() { h.ServeHTTP(w, r) }))
		}
		if least > each*c.checked {
			t.Errorf("%s: %v allocations a request", name, least)
		}
	}
}

// BenchmarkHandler is the cost that a mock adds to net/http.
func BenchmarkHandler(b *testing.B) {
	h := handler(b, "testdata/concrete-before-template/openapi.yaml")
	w, r := &discard{header: http.Header{}}, request("/acme/payments/7", "application/json")
	b.ReportAllocs()
	for b.Loop() {
		h.ServeHTTP(w, r)
	}
}

// BenchmarkServer compares a mock with net/http that writes the same bytes, over loopback.
func BenchmarkServer(b *testing.B) {
	body := []byte(`{"hit":"byid"}`)
	for name, h := range map[string]http.Handler{
		"mock": handler(b, "testdata/concrete-before-template/openapi.yaml"),
		"net/http": http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["Content-Type"] = []string{"application/json"}
			_, _ = w.Write(body)
		}),
	} {
		b.Run(name, func(b *testing.B) {
			srv := httptest.NewServer(h)
			defer srv.Close()
			client := srv.Client()
			b.ReportAllocs()
			for b.Loop() {
				res, err := client.Get(srv.URL + "/acme/payments/7")
				if err != nil {
					b.Fatal(err)
				}
				_, _ = io.Copy(io.Discard, res.Body)
				res.Body.Close()
			}
		})
	}
}
