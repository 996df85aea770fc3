package render

import (
	"bytes"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	yaml3 "go.yaml.in/yaml/v3"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"
)

// kubectlReads returns what kubectl makes of one YAML document.
func kubectlReads(data []byte) (any, error) {
	j, err := yaml.YAMLToJSON(data)
	if err != nil {
		return nil, err
	}
	var v any
	return v, utiljson.Unmarshal(j, &v)
}

func TestScalarsMeanWhatKubectlTakesThemFor(t *testing.T) {
	t.Parallel()
	for _, s := range []string{
		"yes", "No", "on", "OFF", "y", "N", "true", "True", "TRUE", "tRUE", "null", "~", "Null", "", "0", "-0", "+1", "007", "0o17",
		"0x1F", "0b101", "-0b11", "1_000", "1__0", "1e3", "1E-3", ".5", "5.", "-.5e1", "+.5", ".", "..", "1.0", "1.5", "-1.0",
		"9223372036854775807", "9223372036854775808", "-9223372036854775808", "18446744073709551616", "1e400",
		"12:30", "1:2:3", "2026-01-02", "2026-01-02T03:04:05Z", "2026-13-45", "2026-01-02 03:04:05", "1234-", "<<", "=", "1a", "0x",
		"08", "0.1.2", "-", "+", "-a", "0123abc", "1e", "e1", "_1", "1_", `"yes"`, `'1'`, "!!str 1", "!!int 1", "!!float 1", "!!bool true",
	} {
		doc := []byte("v: " + s + "\n")
		want, err := kubectlReads(doc)
		p := parseYAML(doc)
		if err != nil || len(p.faults) > 0 {
			if (err == nil) != (len(p.faults) == 0) {
				t.Errorf("%q: kubectl says %v, we say %v", s, err, p.faults)
			}
			continue
		}
		if diff := cmp.Diff(want, any(p.docs[0].value)); diff != "" {
			t.Errorf("%q (-kubectl +ours):\n%s", s, diff)
		}
	}
}

func FuzzYAMLIsReadAsKubectlReadsIt(f *testing.F) {
	for _, s := range []string{
		"a: 1\nb: [x, 0x10, ~]\n", "a: &a {b: 1}\nc: {<<: *a, d: yes}\n", "? 1\n: 2\n", "a: |\n  text\n", "a: !!binary aGk=\n",
		"{\"a\": \"\\u00e9\", \"b\": 1e3}", "yes: no\n", "a:\n- b\n-\n  c: 1.50\n", "1.5: x\n", "- a\n", "a: 2026-01-02\n", "%YAML 1.1\n---\na: b\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		parseYAML(data)
		nodes, err := parseNodes(data)
		// The parser drops the non-specific tag "!", which nobody writes.
		if err != nil || len(nodes) != 1 || bytes.ContainsRune(data, '!') || hasBooleanKey(nodes[0]) {
			return
		}
		c := converter{}
		got := c.value(nodes[0], 0)
		want, err := kubectlReads(data)
		if err != nil || len(c.faults) > 0 {
			return
		}
		if !reflect.DeepEqual(want, got) {
			t.Errorf("%q (-kubectl +ours):\n%s", data, cmp.Diff(want, got))
		}
	})
}

// hasBooleanKey finds the one difference that is meant: kubectl makes "true" of the key on.
func hasBooleanKey(n *yaml3.Node) bool {
	for i, c := range n.Content {
		if _, isBool := resolvePlain(c.Value).(bool); n.Kind == yaml3.MappingNode && i%2 == 0 && isBool || hasBooleanKey(c) {
			return true
		}
	}
	return false
}

func FuzzNothingEndsTheDaemon(f *testing.F) {
	f.Add("resources: [a.yaml]\n", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n")
	f.Add("namePrefix: x\nresources: [a.yaml]\npatches: [{path: a.yaml}]\n", "apiVersion: v1\nkind: List\nitems: [{}]\n")
	f.Add("generators: [a.yaml]\n", "apiVersion: builtin\nkind: ConfigMapGenerator\nmetadata: {name: a}\n")
	f.Fuzz(func(t *testing.T, kustomization, manifest string) {
		renderHostile(t, kustomization, manifest)
	})
}
