package render

import (
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// typeError says which type a value should have, without the value.
func typeError(err error) string {
	wrong, ok := errors.AsType[*json.UnmarshalTypeError](err)
	if !ok {
		return "cannot be decoded: a field has the wrong type"
	}
	got := "a " + wrong.Value
	if strings.ContainsAny(wrong.Value[:1], "aeiou") {
		got = "an " + wrong.Value
	}
	text := "want " + goName(wrong.Type) + ", got " + got
	if wrong.Type.Kind() == reflect.String && (wrong.Value == "bool" || strings.HasPrefix(wrong.Value, "number")) {
		text += ": put it in quotes"
	}
	return text
}

// stepsOf returns the fields that lead to a value of the wrong type. Names of embedded structs stand between them; those of
// fields begin with a small letter.
func stepsOf(wrong *json.UnmarshalTypeError) []string {
	return slices.DeleteFunc(strings.Split(wrong.Field, "."), func(s string) bool {
		return s == "" || strings.ToLower(s[:1]) != s[:1]
	})
}

// mistyped returns the path of the first value below n that err may be about, or what is known of it.
func mistyped(n *yaml.Node, err error) fieldPath {
	wrong, ok := errors.AsType[*json.UnmarshalTypeError](err)
	if !ok {
		return nil
	}
	steps := stepsOf(wrong)
	if f := firstMistyped(n, steps, wrong.Type, nil); f != nil {
		return f
	}
	var f fieldPath
	for _, step := range steps {
		f = f.child(step)
	}
	return f
}

func firstMistyped(n *yaml.Node, steps []string, want reflect.Type, at fieldPath) fieldPath {
	n = resolved(n)
	switch {
	case n == nil || len(at) > maxDepth:
		return nil
	case n.Kind == yaml.SequenceNode && (len(steps) > 0 || want.Kind() != reflect.Slice):
		for i, item := range n.Content {
			if f := firstMistyped(item, steps, want, at.child(i)); f != nil {
				return f
			}
		}
		return nil
	case len(steps) > 0:
		_, value := stepInto(n, steps[0])
		return firstMistyped(value, steps[1:], want, at.child(steps[0]))
	case n.Kind == yaml.MappingNode && want.Kind() == reflect.String:
		for i := 0; i+1 < len(n.Content); i += 2 {
			if f := firstMistyped(n.Content[i+1], nil, want, at.child(n.Content[i].Value)); f != nil {
				return f
			}
		}
		return at
	case goName(reflect.TypeOf((&converter{}).value(n, 0))) == goName(want):
		return nil
	}
	return at
}

// goName says what a Go type is in the words of a person who writes YAML.
func goName(t reflect.Type) string {
	if t == nil {
		return "nothing"
	}
	words := map[reflect.Kind]string{
		reflect.String: "a string", reflect.Slice: "a list", reflect.Bool: "true or false",
		reflect.Struct: "an object", reflect.Map: "an object", reflect.Pointer: "an object",
	}
	if word, ok := words[t.Kind()]; ok {
		return word
	}
	return "a number"
}
