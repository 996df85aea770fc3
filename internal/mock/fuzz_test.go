package mock

import (
	"context"
	"encoding/json"
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

// FuzzRequest looks for a request that takes the mock down or has two answers.
func FuzzRequest(f *testing.F) {
	handlers := []*Handler{}
	for _, name := range []string{"concrete-before-template", "accept", "server-base-path", "templates"} {
		handlers = append(handlers, handler(f, "testdata/"+name+"/openapi.yaml"))
	}
	f.Add("GET", "/users/me", "application/json")
	f.Add("POST", "/acme/payments/search", "text/*;q=0.1, */*")
	f.Add("HEAD", "//v1/%2F%zz/{id}", ";;q=,,/")
	f.Add("OPTIONS", "/reports/a-b-c.json", "a/b;q=0.0001;Q=1")
	f.Fuzz(func(t *testing.T, method, path, accept string) {
		u, err := url.ParseRequestURI(path)
		if err != nil || !strings.HasPrefix(u.Path, "/") {
			return
		}
		for _, h := range handlers {
			answers := [2]*httptest.ResponseRecorder{}
			for i := range answers {
				answers[i] = httptest.NewRecorder()
				h.ServeHTTP(answers[i], &http.Request{Method: method, URL: u, Header: http.Header{"Accept": {accept}}})
			}
			if answers[0].Code != answers[1].Code || answers[0].Body.String() != answers[1].Body.String() {
				t.Errorf("two answers: %v and %v", answers[0], answers[1])
			}
			switch answers[0].Code {
			case 200, 204, 404, 405, 406, 500:
			default:
				t.Errorf("status %d", answers[0].Code)
			}
		}
	})
}
