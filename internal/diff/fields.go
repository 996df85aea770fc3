package diff

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// mostFields bounds how many fields of one object are told.
const mostFields = 200

// none stands for a value that is not there.
type none struct{}

// fields compares two manifests, or parts of them, field by field.
func fields(before, after any) []Field {
	var w walk
	w.compare("", "", before, after)
	return w.out
}

// walk collects the fields that differ.
type walk struct{ out []Field }

// compare adds what differs below path; key is the last part of it.
func (w *walk) compare(path, key string, a, b any) {
	if equal(a, b) {
		return
	}
	if isSecret(key, a) || isSecret(key, b) {
		w.secret(path, a, b)
		return
	}
	if am, bm, ok := both[map[string]any](a, b); ok {
		w.maps(path, am, bm)
		return
	}
	if al, bl, ok := both[[]any](a, b); ok {
		w.lists(path, al, bl)
		return
	}
	if at, bt, ok := texts(a, b); ok {
		w.add(Field{Path: path, Lines: lines(at, bt)})
		return
	}
	w.add(Field{Path: path, Before: value(a), After: value(b)})
}

func (w *walk) add(f Field) { w.out = append(w.out, f) }

func both[T any](a, b any) (x, y T, ok bool) {
	x, okA := a.(T)
	y, okB := b.(T)
	return x, y, okA && okB
}

func (w *walk) maps(path string, a, b map[string]any) {
	for _, k := range unionKeys(a, b) {
		secret := k
		if k == "value" { // an environment variable, a header: the name stands beside it
			secret = nameOf(a, b)
		}
		w.compare(join(path, k), secret, child(a, k), child(b, k))
	}
}

// nameOf is the name of an entry that has one on either side.
func nameOf(a, b map[string]any) string {
	for _, m := range []map[string]any{a, b} {
		if name, ok := m["name"].(string); ok {
			return name
		}
	}
	return ""
}

func child(m map[string]any, key string) any {
	if v, ok := m[key]; ok {
		return v
	}
	return none{}
}

// join adds a key to a path; one that is not a plain word stands in brackets.
func join(path, key string) string {
	odd := func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '_' && r != '@'
	}
	switch {
	case key == "" || strings.ContainsFunc(key, odd):
		return path + "[" + key + "]"
	case path == "":
		return key
	}
	return path + "." + key
}

// lists compares two lists: by name where their entries have names, else by what is equal in both.
func (w *walk) lists(path string, a, b []any) {
	if label := labels(a, b); label != nil {
		w.named(path, a, b, label)
		return
	}
	if !areMaps(a) || !areMaps(b) {
		w.add(Field{Path: path, Before: value(a), After: value(b)})
		return
	}
	i, j := 0, 0
	var gone, came []int
	pair := func() {
		n := min(len(gone), len(came))
		for k := range n {
			w.compare(index(path, came[k]), "", a[gone[k]], b[came[k]])
		}
		for _, k := range gone[n:] {
			w.compare(index(path, k), "", a[k], none{})
		}
		for _, k := range came[n:] {
			w.compare(index(path, k), "", none{}, b[k])
		}
		gone, came = nil, nil
	}
	for _, l := range edits(exact(a), exact(b)) {
		switch l.Op {
		case "-":
			gone = append(gone, i)
			i++
		case "+":
			came = append(came, j)
			j++
		default:
			pair()
			i, j = i+1, j+1
		}
	}
	pair()
}

func index(path string, i int) string { return path + "[" + strconv.Itoa(i) + "]" }

// exact writes entries to be compared, and not to be shown: two that differ in a secret alone are not equal.
func exact(list []any) []string {
	out := make([]string, len(list))
	for i, v := range list {
		b, err := json.Marshal(v)
		if err != nil {
			b = []byte(inline(v))
		}
		out[i] = string(b)
	}
	return out
}

func inlines(list []any) []string {
	out := make([]string, len(list))
	for i, v := range list {
		out[i] = inline(v)
		if i > 0 && isSecretFlag(list[i-1]) {
			out[i] = mark
		}
	}
	return out
}

// named compares lists whose entries have names; that their order differs is told by itself, as it may matter.
func (w *walk) named(path string, a, b []any, label func(any) string) {
	was := make(map[string]any, len(a))
	var before, after []string // of what is in both
	is := make(map[string]bool, len(b))
	for _, v := range b {
		is[label(v)] = true
	}
	for _, v := range a {
		name := label(v)
		was[name] = v
		if is[name] {
			before = append(before, name)
		} else {
			w.compare(path+"["+name+"]", "", v, none{})
		}
	}
	for _, v := range b {
		name := label(v)
		old, ok := was[name]
		if ok {
			after = append(after, name)
		} else {
			old = none{}
		}
		w.compare(path+"["+name+"]", "", old, v)
	}
	if !slices.Equal(before, after) {
		w.add(Field{Path: path + " (order)", Before: new(strings.Join(before, ", ")), After: new(strings.Join(after, ", "))})
	}
}

// labels returns what the entries of both lists are told apart by, or nil where there is nothing.
func labels(a, b []any) func(any) string {
	if !areMaps(a) || !areMaps(b) || len(a)+len(b) == 0 {
		return nil
	}
	for _, keys := range [][]string{
		{"name"},
		{"containerPort", "protocol"},
		{"port", "protocol"},
		{"mountPath"},
		{"devicePath"},
		{"ip"},
		{"match"},
		{"path"},
		{"topologyKey"},
		{"key"},
		{"host"},
		{"at"},
		{"kind"},
		{"type"},
	} {
		if unique(a, keys) && unique(b, keys) {
			return func(v any) string { return label(v, keys) }
		}
	}
	return nil
}

// unique reports whether every entry has the first of keys, and no two entries agree in all of them.
func unique(list []any, keys []string) bool {
	seen := make(map[string]bool, len(list))
	for _, v := range list {
		m, _ := v.(map[string]any)
		if m[keys[0]] == nil {
			return false
		}
		l := label(v, keys)
		if seen[l] {
			return false
		}
		seen[l] = true
	}
	return true
}

func label(v any, keys []string) string {
	m, _ := v.(map[string]any)
	var parts []string
	for _, k := range keys {
		switch v := m[k].(type) {
		case nil:
		case map[string]any:
			parts = append(parts, short(v))
		default:
			parts = append(parts, k+"="+inline(v))
		}
	}
	return strings.Join(parts, ",")
}

// short is a map that tells entries apart, without the names of its fields: a match, a reference.
func short(m map[string]any) string {
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(m)) {
		switch v := m[k].(type) {
		case map[string]any:
			parts = append(parts, short(v))
		case []any:
			parts = append(parts, inline(v))
		default:
			parts = append(parts, inline(v))
		}
	}
	return strings.Join(parts, " ")
}

func areMaps(list []any) bool {
	for _, v := range list {
		if _, ok := v.(map[string]any); !ok {
			return false
		}
	}
	return true
}

// texts returns both as text where one of them has several lines.
func texts(a, b any) (x, y string, ok bool) {
	x, okA := textOrNone(a)
	y, okB := textOrNone(b)
	return x, y, okA && okB && (isLong(x) || isLong(y))
}

func isLong(s string) bool { return strings.Contains(strings.TrimSuffix(s, "\n"), "\n") }

func textOrNone(v any) (string, bool) {
	switch v := v.(type) {
	case none:
		return "", true
	case string:
		return v, true
	}
	return "", false
}
