package render

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/tidelock/tidelock/internal/desired"
)

func TestTheOrderOfRulesAndFilesChangesNoRoute(t *testing.T) {
	t.Parallel()
	rules := []string{
		"{match: {path: {value: /}}, directResponse: {status: 200}}",
		"{match: {path: {value: /foo}}, directResponse: {status: 201}}",
		"{match: {path: {type: Exact, value: /foo/bar}}, directResponse: {status: 202}}",
		"{match: {path: {value: /foo/bar/}}, directResponse: {status: 203}}",
	}
	routes := func(file string, rules []string) []desired.Route {
		text := "apiVersion: tidelock.dev/v1alpha1\nkind: ProxyRoute\nmetadata: {name: all, namespace: shop}\nspec:\n  rules:\n"
		for _, r := range rules {
			text += "  - " + r + "\n"
		}
		state, err := Render(t.Context(), desired.Revision{}, fstest.MapFS{file: {Data: []byte(text)}}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		for i := range state.Routes {
			state.Routes[i].Rule, state.Routes[i].Origin = 0, desired.Origin{}
		}
		return state.Routes
	}
	want := routes("a.yaml", rules)
	slices.Reverse(rules)
	if diff := cmp.Diff(want, routes("b.yaml", rules)); diff != "" {
		t.Errorf("other order, other routes (-first +reversed):\n%s", diff)
	}
}

// FuzzKinds renders a file of any content beside a few resources that it may refer to: it may be refused, but only as a
// problem with its place, and equal input gives an equal result.
func FuzzKinds(f *testing.F) {
	files, err := filepath.Glob("testdata/kinds/*/*.txtar")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		a, err := txtar.ParseFile(file)
		if err != nil {
			f.Fatal(err)
		}
		for _, part := range a.Files {
			if strings.HasSuffix(part.Name, ".yaml") && strings.HasPrefix(part.Name, "repo/") {
				f.Add(part.Data)
			}
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		render := func() string {
			repo := fstest.MapFS{
				"fuzzed.yaml": {Data: data},
				"service.yaml": {Data: []byte("apiVersion: v1\nkind: Service\nmetadata: {name: web, namespace: shop}\n" +
					"spec: {selector: {app: web}, ports: [{port: 80}]}\n")},
			}
			state, err := Render(t.Context(), desired.Revision{}, repo, Options{})
			var problems desired.Problems
			if err != nil && !errors.As(err, &problems) {
				t.Fatalf("not a problem of the content: %v", err)
			}
			for _, p := range problems {
				if p.Path == "" || p.Text == "" {
					t.Errorf("a problem without its place or without words: %+v", p)
				}
			}
			result, err := json.Marshal([]any{state.Routes, state.Warnings, problems})
			if err != nil {
				t.Fatal(err)
			}
			return string(result)
		}
		if first, second := render(), render(); first != second {
			t.Errorf("equal input, other results:\n%s\n%s", first, second)
		}
	})
}

func BenchmarkLower(b *testing.B) {
	for _, n := range []int{1, 1000} {
		b.Run(fmt.Sprintf("routes=%d", n), func(b *testing.B) {
			var in lowering
			for i := range n {
				text := fmt.Sprintf("apiVersion: tidelock.dev/v1alpha1\nkind: ProxyRoute\n"+
					"metadata: {name: r%d, namespace: shop}\nspec:\n  hosts: [h%d.example.test]\n  rules:\n"+
					"  - {match: {path: {value: /a}}, backend: {service: web}}\n  - {backend: {address: \"a.example.test:80\"}}\n", i, i)
				doc := parseYAML([]byte(text)).docs[0]
				m, wrong := newManifest(desired.Origin{Path: "a.yaml", Line: 1}, doc.value)
				if wrong != "" {
					b.Fatal(wrong)
				}
				m.node = doc.node
				in.ours = append(in.ours, m)
			}
			for b.Loop() {
				if _, problems := lower(b.Context(), in); len(problems) > 0 {
					b.Fatal(problems)
				}
			}
		})
	}
}
