package diff

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/tidelock/tidelock/internal/redact"
)

// mark stands for a value that must not show. It does not depend on the value.
const mark = redact.Mark

// masked says only whether there is a value on each side; the marks of two that differ differ, so that a reader sees it.
func masked(a, b any) (before, after *string) {
	_, noA := a.(none)
	_, noB := b.(none)
	switch {
	case noA:
		return nil, new(mark)
	case noB:
		return new(mark), nil
	}
	return new(mark + " (before)"), new(mark + " (after)")
}

// isSecretKey reports whether a field, a variable or a header of this name holds a secret by custom.
func isSecretKey(name string) bool {
	flat := strings.NewReplacer("_", "", "-", "", ".", "").Replace(strings.ToLower(name))
	return slices.ContainsFunc(secretEnds(), func(end string) bool { return strings.HasSuffix(flat, strings.ReplaceAll(end, "-", "")) })
}

// secretEnds are what such names end with; words may be joined by a sign where there is a hyphen.
func secretEnds() []string {
	return []string{
		"password", "passwd", "pwd", "passphrase", "token", "secret", "api-key", "access-key", "secret-key", "private-key",
		"signing-key", "encryption-key", "credential", "credentials", "authorization", "dsn", "cookie",
	}
}

// isSecret reports whether a value under a name is not to be shown: a text under the name of a secret, a private key, all of
// what stands under "tokens" or "passwords" if it is more than a number.
func isSecret(key string, v any) bool {
	switch v := v.(type) {
	case string:
		return isSecretKey(key) || strings.Contains(v, "PRIVATE KEY-----")
	case map[string]any, []any:
		return slices.ContainsFunc([]string{"tokens", "passwords", "apikeys"}, func(end string) bool {
			return strings.HasSuffix(strings.ToLower(key), end)
		})
	}
	return false
}

// isSecretFlag reports whether the argument after this one holds a secret: "--password".
func isSecretFlag(arg any) bool {
	s, _ := arg.(string)
	return strings.HasPrefix(s, "-") && isSecretKey(s)
}

// secretFields compares the values of a Secret by whether they are there and equal alone.
func secretFields(part string, a, b any) []Field {
	am, _ := a.(map[string]any)
	bm, _ := b.(map[string]any)
	all := walk{}
	for _, k := range unionKeys(am, bm) {
		if x, y := child(am, k), child(bm, k); !equal(x, y) {
			all.secret(join(part, k), x, y)
		}
	}
	return all.out
}

// secret adds a field whose values do not show.
func (w *walk) secret(path string, a, b any) {
	before, after := masked(a, b)
	w.add(Field{Path: path, Before: before, After: after})
}

func unionKeys(a, b map[string]any) []string {
	keys := slices.AppendSeq(slices.Collect(maps.Keys(a)), maps.Keys(b))
	slices.Sort(keys)
	return slices.Compact(keys)
}

// hide takes what is secret out of every text of a Diff: what others know to be secret, what the changed objects say under a
// secret's name, and what looks like it.
func hide(d *Diff, known *redact.Redactor, changes []Change) {
	shapes, named := redact.NewShapes(), redact.New(secretTexts(changes)...)
	rewrite(reflect.ValueOf(d).Elem(), func(s string) string { return shapes.String(named.String(known.String(s))) })
	newAssignments().hideAssigned(d.Objects)
}

// leastSecret is how long a text under a secret's name must be, in bytes, to be hidden elsewhere too: shorter ones are
// words as often as secrets.
const leastSecret = 8

// secretTexts are the texts under names of secrets in what changed.
func secretTexts(changes []Change) []string {
	var out []string
	for _, c := range changes {
		for _, u := range []*unstructured.Unstructured{c.Before, c.After} {
			if u != nil {
				out = appendSecrets(out, "", u.Object)
			}
		}
	}
	return out
}

// appendSecrets appends the texts under names of secrets in v, which stands under key.
func appendSecrets(out []string, key string, v any) []string {
	switch v := v.(type) {
	case map[string]any:
		for k, item := range v {
			if k == "value" {
				k = nameOf(v, nil)
			}
			out = appendSecrets(out, k, item)
		}
	case []any:
		for _, item := range v {
			out = appendSecrets(out, "", item)
		}
	case string:
		if len(v) >= leastSecret && isSecretKey(key) {
			out = append(out, v)
		}
	}
	return out
}

// rewrite replaces every text that v holds. Texts of types of their own (Action) are ours and stay.
func rewrite(v reflect.Value, with func(string) string) {
	switch v.Kind() { //nolint:exhaustive // the others hold no text
	case reflect.String:
		if v.Type() == reflect.TypeFor[string]() && v.CanSet() {
			v.SetString(with(v.String()))
		}
	case reflect.Pointer:
		if !v.IsNil() {
			rewrite(v.Elem(), with)
		}
	case reflect.Slice:
		for i := range v.Len() {
			rewrite(v.Index(i), with)
		}
	case reflect.Struct:
		if v.Type().PkgPath() != reflect.TypeFor[Diff]().PkgPath() {
			return // a time
		}
		for _, field := range v.Fields() {
			rewrite(field, with)
		}
	}
}
