package diff

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/tidelock/tidelock/internal/desired"
	"github.com/tidelock/tidelock/internal/redact"
)

// A comment on a pull request is public, and secrets stand in more places than Secrets.
func TestASecretValueInAConfigurationDoesNotShow(t *testing.T) {
	t.Parallel()
	for reason, value := range map[string]any{
		"JSON in a ConfigMap":           `{"db":{"password":"SECRET","user":"x"}}`,
		"an environment file":           "DB_PASSWORD=SECRET\nUSER=x\n",
		"properties":                    "spring.datasource.password=SECRET",
		"a phrase to the end of a line": "password: SECRET SECRET, SECRET\nuser: x\n",
		"YAML in flow style":            "a: {password: SECRET}\n",
		"TOML":                          `api_key = "SECRET"`,
		"XML":                           "<password>SECRET</password>",
		"a connection string":           "Server=x;Pwd=SECRET;User=y",
		"a command":                     []any{"sh", "-c", "export PASSWORD=SECRET; run"},
		"a flag and its argument":       []any{"--db-password", "SECRET", "x"},
		"a private key":                 "-----BEGIN RSA PRIVATE KEY-----\nSECRET\nSECRET\n-----END RSA PRIVATE KEY-----\n",
		"a list of tokens":              map[string]any{"tokens": []any{"SECRET"}},
		"tokens by name":                map[string]any{"apiTokens": map[string]any{"a": "SECRET"}},
		"entries without name":          []any{map[string]any{"password": "SECRET"}},
	} {
		object := func(secret string) *unstructured.Unstructured {
			return &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"x": replaced(value, secret)}}}
		}
		c := Change{ID: desired.ID{Kind: "Gear", Name: "g"}, Action: Update, Before: object("0ldhunter2"), After: object("n3whunter2")}
		d := Of(Input{Changes: []Change{c}, Secrets: redact.New()})
		var text strings.Builder
		if err := JSON(&text, d); err != nil {
			t.Fatal(err)
		}
		if err := Text(&text, d, false); err != nil {
			t.Fatal(err)
		}
		if got := text.String(); strings.Contains(got, "hunter2") || !strings.Contains(got, mark) {
			t.Errorf("%s: shows, or says nothing of a change:\n%s", reason, got)
		}
	}
}

// replaced returns a value with SECRET replaced in its texts.
func replaced(v any, with string) any {
	switch v := v.(type) {
	case string:
		return strings.ReplaceAll(v, "SECRET", with)
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = replaced(v[i], with)
		}
		return out
	case map[string]any:
		out := map[string]any{}
		for k := range v {
			out[k] = replaced(v[k], with)
		}
		return out
	}
	return v
}

func TestWhatIsNoSecretShows(t *testing.T) {
	t.Parallel()
	a := newAssignments()
	for _, text := range []string{
		"secretName: shop-tls", "passwordPolicy: strict", "max_tokens: 4096", "token_url=https://x", "secretKeyRef: {name: a, key: b}",
		"tokenizer: fast", "secret:", "- secret: {name: a}", "password: |",
	} {
		if got := a.hide(text); got != text {
			t.Errorf("%q becomes %q", text, got)
		}
	}
}
