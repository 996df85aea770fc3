package render

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
	"sigs.k8s.io/yaml"

	"github.com/tidelock/tidelock/internal/desired"
	"github.com/tidelock/tidelock/internal/openapi"
)

// The goldens of kinds are as those of the core, with all that was made written out; the comment says why it is right.
func TestEveryKindBecomesWhatItsGoldensSay(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/kinds/*/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no goldens: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(strings.TrimPrefix(file, "testdata/kinds/"), ".txtar"), func(t *testing.T) {
			t.Parallel()
			a, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if strings.TrimSpace(string(a.Comment)) == "" {
				t.Errorf("%s: say above the first file why the result is right", file)
			}
			repo, opts := repository(a)
			got := txtar.File{Name: "state.yaml"}
			state, err := Render(t.Context(), desired.Revision{}, repo, opts)
			if problems := desired.Problems(nil); errors.As(err, &problems) {
				got = txtar.File{Name: "error", Data: []byte(problems.Error() + "\n")}
			} else if err != nil {
				t.Fatalf("not a problem of the content: %v", err)
			} else {
				got.Data = []byte(written(t, state))
			}
			compare(t, file, a, got)
		})
	}
}

func TestEveryKindHasAGoldenAnErrorGoldenAndAnExample(t *testing.T) {
	t.Parallel()
	examples, err := Render(t.Context(), desired.Revision{}, os.DirFS("../../examples/repo"), Options{Path: "base"})
	if err != nil {
		t.Fatalf("the example repository: %v", err)
	}
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range kinds() {
		if !strings.Contains(string(readme), "kind: "+k.name+"\n") {
			t.Errorf("kind %s: no example in README.md", k.name)
		}
		files, err := filepath.Glob("testdata/kinds/" + strings.ToLower(k.name) + "/*.txtar")
		if err != nil {
			t.Fatal(err)
		}
		parts := map[string]bool{}
		for _, file := range files {
			a, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range a.Files {
				parts[f.Name] = true
			}
		}
		for _, part := range []string{"state.yaml", "error"} {
			if !parts[part] {
				t.Errorf("kind %s: no golden in testdata/kinds/%s ends in %q", k.name, strings.ToLower(k.name), part)
			}
		}
		if !slices.ContainsFunc(examples.Objects, func(o desired.Object) bool { return o.Kind == k.name }) {
			t.Errorf("kind %s: no example in examples/repo/base", k.name)
		}
		if _, err := schemaOf(k.name); err != nil {
			t.Errorf("kind %s: %v", k.name, err)
		}
	}
}

// written shows what was made: the manifests by name, and in full the generated objects, routes, schedules and warnings.
// What is zero is left out, except where 0 says something.
func written(t *testing.T, state desired.State) string {
	t.Helper()
	var b strings.Builder
	for _, o := range state.Objects {
		if o.Source.Kind == "" {
			fmt.Fprintf(&b, "# %s (%s)\n", o.ID, o.Origin)
			continue
		}
		text := asYAML(t, unpacked(t, o.Content.Object))
		if o.Group == istioGroup || o.Group == gatewayGroup {
			text = inFull(t, o.Content.Object) // where every zero was written on purpose
		}
		fmt.Fprintf(&b, "---\n# %s, of %s (%s)\n%s", o.ID, o.Source, o.Origin, text)
		for i := 1; i < len(o.Steps); i++ {
			fmt.Fprintf(&b, "---\n# %s, in step %d\n%s", o.ID, i, inFull(t, o.Steps[i].Object["spec"]))
		}
	}
	for _, r := range state.Routes {
		fmt.Fprintf(&b, "---\n# route %s %s, of %s (%s)\n", strings.Join(r.Hosts, " "), r.Match, r.Source, r.Origin)
		resources := r.Resources
		r.Source, r.Origin, r.Hosts, r.Match, r.Resources = desired.Source{}, desired.Origin{}, nil, desired.Match{}, nil
		b.WriteString(asYAML(t, r))
		for _, res := range resources {
			fmt.Fprintf(&b, "# %s %s\n%s\n", res.TypeURL, res.Name, res.JSON)
		}
	}
	for _, s := range state.Splits {
		if len(s.Steps) == 0 {
			continue
		}
		fmt.Fprintf(&b, "---\n# split %s: %s\n", s.Key, s)
		for i := range s.Steps {
			s.InForce = i + 1
			fmt.Fprintf(&b, "# step %d: %s\n", i+1, s)
		}
	}
	for _, s := range state.Schedules {
		fmt.Fprintf(&b, "---\n# schedule %s (%s)\n", s.Key, s.Origin)
		s.Key, s.Origin = desired.Key{}, desired.Origin{}
		b.WriteString(asYAML(t, s))
	}
	for _, w := range state.Warnings {
		fmt.Fprintf(&b, "---\n# warning\n%s\n", w.Error())
	}
	return b.String()
}

// unpacked shows the document of a mock as text.
func unpacked(t *testing.T, object map[string]any) map[string]any {
	t.Helper()
	raw, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	var typed struct {
		BinaryData map[string][]byte `json:"binaryData"`
	}
	if err := json.Unmarshal(raw, &typed); err != nil {
		t.Fatal(err)
	}
	if len(typed.BinaryData) == 0 {
		return object
	}
	if keys := slices.Collect(maps.Keys(typed.BinaryData)); !slices.Equal(keys, []string{openapi.ConfigMapKey}) {
		t.Fatalf("binaryData holds %q", keys)
	}
	doc, err := openapi.Unpack(typed.BinaryData[openapi.ConfigMapKey])
	if err != nil {
		t.Fatal(err)
	}
	shown := maps.Clone(object)
	shown["binaryData"] = map[string]any{openapi.ConfigMapKey: "(unpacked) " + string(doc.JSON)}
	return shown
}

func asYAML(t *testing.T, v any) string {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var tree any
	if err := json.Unmarshal(raw, &tree); err != nil {
		t.Fatal(err)
	}
	text, err := yaml.Marshal(withoutZeros("", tree))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func inFull(t *testing.T, v any) string {
	t.Helper()
	text, err := yaml.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// withoutZeros leaves out what says nothing.
func withoutZeros(name string, v any) any {
	says := []string{
		"Weight", "replicas", "Timeout", "Prefix", "automountServiceAccountToken", "allowPrivilegeEscalation",
		"enableServiceLinks", "maxUnavailable",
	}
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for key, value := range v {
			if value = withoutZeros(key, value); value != nil {
				out[key] = value
			}
		}
		if len(out) == 0 {
			return nil
		}
		return out
	case []any:
		var out []any
		for _, item := range v {
			out = append(out, withoutZeros("", item))
		}
		if len(out) == 0 {
			return nil
		}
		return out
	case string, bool, float64:
		if (v == "" || v == false || v == float64(0)) && !slices.Contains(says, name) {
			return nil
		}
	}
	return v
}
