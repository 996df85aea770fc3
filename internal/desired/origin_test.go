package desired

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A problem reads from the file to the mend, and leaves out what is not known.
func TestProblemNamesItsPlace(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		problem Problem
		want    string
	}{
		"all is known": {
			Problem{Origin{"apps/route.yaml", 12}, "ProxyRoute shop/web", "spec.rules[0].backend", "no service \"cart\""},
			`apps/route.yaml:12: ProxyRoute shop/web: spec.rules[0].backend: no service "cart"`,
		},
		"no line":   {Problem{Origin{"a.yaml", 0}, "", "", "is empty"}, "a.yaml: is empty"},
		"two lines": {Problem{Origin{"a\nkind: x\xe9", 3}, "", "", "x"}, `"a\nkind: x\xe9":3: x`},
		"text only": {Problem{Text: "no such path"}, "no such path"},
	}
	for name, test := range tests {
		if got := test.problem.Error(); got != test.want {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
	}
}

// Problems come out in the order of files and lines (9 before 10), each once; none is no error.
func TestProblemsSortAndFold(t *testing.T) {
	t.Parallel()
	at := func(path string, line int) Problem { return Problem{Origin: Origin{path, line}, Text: "x"} }
	got := Problems{at("b.yaml", 1), at("a.yaml", 10), at("a.yaml", 9), at("b.yaml", 1)}.Sorted()
	want := Problems{at("a.yaml", 9), at("a.yaml", 10), at("b.yaml", 1)}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if err := (Problems{}).Err(); err != nil {
		t.Errorf("no problems make the error %v", err)
	}
}

// An object's text names its group only where people would not know it by its kind.
func TestTextOfAnID(t *testing.T) {
	t.Parallel()
	tests := map[string]ID{
		"Deployment shop/cart":                   {"apps", "Deployment", "shop", "cart"},
		"Namespace shop":                         {"", "Namespace", "", "shop"},
		"ProxyRoute shop/web":                    {"tidelock.dev", "ProxyRoute", "shop", "web"},
		"Gizmo.order.example.dev a/b":            {"order.example.dev", "Gizmo", "a", "b"},
		"HTTPRoute a/b":                          {"gateway.networking.k8s.io", "HTTPRoute", "a", "b"},
		"VirtualService.networking.istio.io a/b": {"networking.istio.io", "VirtualService", "a", "b"},
	}
	for want, id := range tests {
		if got := id.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
