package mock

import (
	"bytes"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"strconv"
	"strings"
	"testing"

	"github.com/tidelock/tidelock/internal/openapi"
)

// exchange is one line of a requests.txt: METHOD PATH [Header:value …] -> status [Header:value …] [body], where the body
// of an error is a part of its detail. The comment above it says why.
type exchange struct {
	reason       string
	method, path string
	accept       []string
	status       int
	headers      map[string]string
	body         string
}

func exchanges(t *testing.T, text string) []exchange {
	t.Helper()
	var out []exchange
	reason := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if comment, ok := strings.CutPrefix(line, "# "); ok {
			reason = comment
			continue
		}
		request, response, ok := strings.Cut(line, " -> ")
		if !ok {
			t.Fatalf("not a line of requests: %q", line)
		}
		fields := strings.Fields(request)
		e := exchange{reason: reason, method: fields[0], path: fields[1], headers: map[string]string{}}
		for _, f := range fields[2:] {
			e.accept = append(e.accept, strings.TrimPrefix(f, "Accept:"))
		}
		status, rest, _ := strings.Cut(response, " ")
		e.status, _ = strconv.Atoi(status)
		for rest != "" && strings.Contains("ACL", rest[:1]) {
			var header string
			header, rest, _ = strings.Cut(rest, " ")
			name, value, _ := strings.Cut(header, ":")
			e.headers[name] = strings.ReplaceAll(value, ",", ", ")
		}
		e.body = rest
		out = append(out, e)
	}
	return out
}

func bundle(tb testing.TB, file string) openapi.Document {
	tb.Helper()
	tree := os.DirFS(path.Dir(file))
	doc, err := openapi.Bundle(tb.Context(), path.Base(file), func(name string) ([]byte, error) { return fs.ReadFile(tree, name) })
	if err != nil {
		tb.Fatal(err)
	}
	return doc
}

func handler(tb testing.TB, file string) *Handler {
	tb.Helper()
	h, err := New(bundle(tb, file))
	if err != nil {
		tb.Fatal(err)
	}
	return h
}

func TestAnswersAreThoseOfTheDocument(t *testing.T) {
	files, err := fs.Glob(os.DirFS("testdata"), "*/requests.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no requests", err)
	}
	for _, file := range files {
		t.Run(path.Dir(file), func(t *testing.T) {
			dir := "testdata/" + path.Dir(file)
			text, err := os.ReadFile("testdata/" + file)
			if err != nil {
				t.Fatal(err)
			}
			srv := httptest.NewServer(handler(t, dir+"/openapi.yaml"))
			defer srv.Close()
			for _, e := range exchanges(t, string(text)) {
				for range 5 { // the same request has the same answer
					e.check(t, srv)
				}
			}
		})
	}
}

func (e exchange) check(t *testing.T, srv *httptest.Server) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), e.method, srv.URL+e.path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.Host = "anything.example.test"
	req.Header["Accept"] = e.accept
	res, err := srv.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	what := e.method + " " + e.path + " " + strings.Join(e.accept, ",") + " (" + e.reason + ")"
	if res.StatusCode != e.status {
		t.Errorf("%s: status %d, want %d: %s", what, res.StatusCode, e.status, body)
	}
	for name, want := range e.headers {
		if got := res.Header.Get(name); got != want {
			t.Errorf("%s: %s is %q, want %q", what, name, got, want)
		}
	}
	switch {
	case e.status >= 400 && e.method != http.MethodHead:
		if got := res.Header.Get("Content-Type"); got != "application/problem+json" {
			t.Errorf("%s: Content-Type of the problem is %q", what, got)
		}
		if !strings.Contains(string(body), e.body) {
			t.Errorf("%s: %s does not say %q", what, body, e.body)
		}
	case e.body != "" && string(body) != e.body:
		t.Errorf("%s: body\n%s\nwant\n%s", what, body, e.body)
	case e.body == "" && (e.method == http.MethodHead || e.status == 204) && len(body) > 0:
		t.Errorf("%s: body %s, want none", what, body)
	}
	if bytes.Contains(body, []byte("$ref")) {
		t.Errorf("%s: a reference in the answer: %s", what, body)
	}
}

func TestAnErrorIsTheAnswerWhereTheDocumentHasNothingElse(t *testing.T) {
	h := handler(t, "testdata/templates/openapi.yaml")
	for path, want := range map[string]string{
		"/status/error":   `404 "missing"`, // the lowest
		"/status/4xx":     `400 "range"`,
		"/status/default": `200 "default"`,
	} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, http.NoBody))
		if got := strconv.Itoa(w.Code) + " " + w.Body.String(); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
}
