package mock

import (
	"context"
	"encoding/json"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/tidelock/tidelock/internal/openapi"
)

// FuzzDocument looks for a document that bundles and then takes the mock down, or has it answer what is not JSON.
func FuzzDocument(f *testing.F) {
	files, err := fs.Glob(os.DirFS("testdata"), "*/openapi.yaml")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile("testdata/" + file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		doc, err := openapi.Bundle(ctx, "a.yaml", func(name string) ([]byte, error) {
			if name == "a.yaml" {
				return text, nil
			}
			return nil, fs.ErrNotExist
		})
		if err != nil {
			return
		}
		h, err := New(doc)
		if err != nil {
			return
		}
		root, err := openapi.Parse(doc.JSON)
		if err != nil {
			t.Fatal(err)
		}
		for template := range root.Member("paths").Members() {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, &http.Request{Method: http.MethodGet, URL: &url.URL{Path: template}, Header: http.Header{}})
			if openapi.IsJSON(w.Header().Get("Content-Type")) && w.Body.Len() > 0 && !json.Valid(w.Body.Bytes()) {
				t.Errorf("%s answers %s", template, w.Body)
			}
		}
	})
}

// FuzzRequest looks for a request that takes the mock down, has two answers, or a status that is none of ours.
func FuzzRequest(f *testing.F) {
	handlers := []*Handler{}
	for _, name := range []string{"concrete-before-template", "accept", "server-base-path", "templates", "checked"} {
		handlers = append(handlers, handler(f, "testdata/"+name+"/openapi.yaml"))
	}
	const multi = "multipart/form-data; boundary=b"
	f.Add("GET", "/users/me", "application/json", "code=404", "", "")
	f.Add("POST", "/acme/payments/search", "text/*;q=0.1, */*", `example="a\"`, "", "")
	f.Add("HEAD", "//v1/%2F%zz/{id}", ";;q=,,/", "=;,", "", "")
	f.Add("OPTIONS", "/reports/a-b-c.json", "a/b;q=0.0001;Q=1", "dynamic", "", "")
	f.Add("GET", "/v1/query?deep[a][][b]=1&comma=1%2C2&json={&pipe=|&space=+&either=", "", "", "", "")
	f.Add("GET", "/v1/matrix/;R=1;=;", "", "", "", "")
	f.Add("GET", "/v1/label/.1.", "", "", "", "")
	f.Add("POST", "/v1/body", "", "", "application/json", `{"name":"a","kids":[{}]}`)
	f.Add("POST", "/v1/body", "", "", "application/x-www-form-urlencoded", "n=1&list=%&list")
	f.Add("POST", "/v1/body", "", "", multi, "--b\r\nContent-Disposition: form-data; name=\"f\"\r\n\r\nx\r\n--b--\r\n")
	f.Fuzz(func(t *testing.T, method, path, accept, prefer, contentType, body string) {
		u, err := url.ParseRequestURI(path)
		if err != nil || !strings.HasPrefix(u.Path, "/") {
			return
		}
		for _, h := range handlers {
			answers := [2]*httptest.ResponseRecorder{}
			for i := range answers {
				answers[i] = httptest.NewRecorder()
				h.ServeHTTP(answers[i], &http.Request{
					Method: method, URL: u, Body: io.NopCloser(strings.NewReader(body)), ContentLength: -1,
					Header: http.Header{"Accept": {accept}, "Prefer": {prefer}, "Content-Type": {contentType}, "Cookie": {accept}},
				})
			}
			if answers[0].Code != answers[1].Code || answers[0].Body.String() != answers[1].Body.String() {
				t.Errorf("two answers: %v and %v", answers[0], answers[1])
			}
			if answers[0].Code < 200 || answers[0].Code > 599 {
				t.Errorf("status %d", answers[0].Code)
			}
			if answers[0].Header().Get("Content-Type") == "application/problem+json" && method != "HEAD" && !json.Valid(answers[0].Body.Bytes()) {
				t.Errorf("a problem that is no JSON: %s", answers[0].Body)
			}
		}
	})
}
