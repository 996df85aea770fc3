package diff

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"
)

// equal compares two values of manifests. Numbers are equal where they are the same number, however they were decoded.
func equal(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for k, v := range a {
			w, ok := b[k]
			if !ok || !equal(v, w) {
				return false
			}
		}
		return true
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, equal)
	case nil, none, string, bool:
		return a == b
	}
	switch b.(type) {
	case nil, none, string, bool, map[string]any, []any:
		return false
	}
	return fmt.Sprint(a) == fmt.Sprint(b)
}

// value returns v on one line, or nil where it is not there.
func value(v any) *string {
	if _, ok := v.(none); ok {
		return nil
	}
	return new(inline(v))
}

// inline writes a value as YAML on one line. A text is in quotes only where it would read as something else. What a secret
// key holds is masked.
func inline(v any) string {
	switch v := v.(type) {
	case map[string]any:
		parts := make([]string, 0, len(v))
		for _, k := range slices.Sorted(maps.Keys(v)) {
			secret := k
			if k == "value" {
				secret = nameOf(v, nil)
			}
			text := inline(v[k])
			if isSecret(secret, v[k]) {
				text = mark
			}
			parts = append(parts, scalar(k)+": "+text)
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case []any:
		return "[" + strings.Join(inlines(v), ", ") + "]"
	case string:
		return scalar(v)
	case nil:
		return "null"
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	}
	return fmt.Sprint(v)
}

// scalar writes a text as it stands where YAML reads it as that text, else in quotes.
func scalar(s string) string {
	var back any
	plain := s != "" && s == strings.TrimSpace(s) && !strings.ContainsAny(s, "\n\r\t,[]{}#\"'`\x1b") && !strings.Contains(s, ": ") &&
		!strings.HasSuffix(s, ":")
	if plain && isWord(s) {
		return s
	}
	if plain && yaml.Unmarshal([]byte(s), &back) == nil && back == s {
		return s
	}
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false) // <, > and & as they are
	if err := enc.Encode(s); err != nil {
		return strconv.Quote(s)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// isWord says without a parser that a text reads as itself: most do.
func isWord(s string) bool {
	letters := 0
	for _, r := range s {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z':
			letters++
		case '0' <= r && r <= '9', r == '/', r == '.', r == '-', r == '_':
		default:
			return false
		}
	}
	const longestKeyword = 5 // false
	return letters > longestKeyword && s[0] >= 'A'
}
