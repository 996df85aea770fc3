package apply

import (
	"encoding/json"
	"slices"
	"strings"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"

	"github.com/tidelock/tidelock/api/v1alpha1"
)

// hashFields returns a hash over the field paths of ours that the object still holds in our name, with their values as
// they are. Values that the server defaults or spells otherwise hash as they live, so they never look like drift.
//
// What is ignored is left out. Where an ignored value lies inside a field that is owned as a whole (an atomic list, such
// as the rules of an HTTPRoute), whoever moves it takes the whole field: such a field counts whoever owns it, without the
// ignored value.
func hashFields(obj map[string]any, ours *fieldpath.Set, all []*fieldpath.Set, ignored *pointers) string {
	w := &fieldWriter{}
	if ours != nil {
		w.walk("", ours, obj, ignored, false)
	}
	if ignored != nil {
		for _, set := range all {
			w.walk("", set, obj, ignored, true)
		}
	}
	slices.Sort(w.lines)
	w.lines = slices.Compact(w.lines)
	return shortHash([]byte(strings.Join(w.lines, "\n")))
}

type fieldWriter struct {
	lines []string
}

// walk notes the members of set below path. With shared only fields that hold an ignored value are noted.
func (w *fieldWriter) walk(path string, set *fieldpath.Set, at any, ignored *pointers, shared bool) {
	for pe := range set.Members.All() {
		child, segment, found := step(at, pe)
		below, whole := ignored.at(segment)
		if whole || skipField(path, pe) || shared && below == nil {
			continue
		}
		line := path + pe.String() + "="
		if _, inner := set.Children.Get(pe); !inner && found {
			line += encodeValue(below.blank(child))
		}
		w.lines = append(w.lines, line)
	}
	for pe := range set.Children.All() {
		inner, _ := set.Children.Get(pe)
		child, segment, _ := step(at, pe)
		below, whole := ignored.at(segment)
		if whole || skipField(path, pe) || shared && below == nil {
			continue
		}
		w.walk(path+pe.String(), inner, child, below, shared)
	}
}

// skipField leaves out what changes without the content: the status, and the digest that we write ourselves.
func skipField(path string, pe fieldpath.PathElement) bool {
	if pe.FieldName == nil {
		return false
	}
	return path == "" && *pe.FieldName == "status" ||
		path == ".metadata.annotations" && *pe.FieldName == v1alpha1.AnnotationDigest
}

func encodeValue(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return "?" // values that came as JSON can be encoded
	}
	return string(b)
}

// step goes from a value to the part of it that a path element names, and returns the segment by which a JSON pointer
// would name it.
func step(at any, pe fieldpath.PathElement) (child any, segment string, found bool) {
	switch {
	case pe.FieldName != nil:
		m, _ := at.(map[string]any)
		child, found = m[*pe.FieldName]
		return child, *pe.FieldName, found
	case pe.Index != nil:
		list, _ := at.([]any)
		if *pe.Index < len(list) {
			return list[*pe.Index], index(*pe.Index), true
		}
		return nil, "", false
	}
	list, _ := at.([]any)
	for i, item := range list {
		if named(item, pe) {
			return item, index(i), true
		}
	}
	return nil, "", false
}

func named(item any, pe fieldpath.PathElement) bool {
	if pe.Value != nil {
		return value.Equals(*pe.Value, value.NewValueInterface(item))
	}
	m, _ := item.(map[string]any)
	for _, f := range *pe.Key {
		if !value.Equals(f.Value, value.NewValueInterface(m[f.Name])) {
			return false
		}
	}
	return true
}
