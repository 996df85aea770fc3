package diff

import (
	"fmt"
	"slices"
	"strings"
)

// Counted says "2 created, 1 changed, 3 deleted" of a plan.
func Counted(d Diff) string {
	var parts []string
	for _, c := range []struct {
		word    string
		actions []Action
	}{
		{"created", []Action{Create}},
		{"adopted", []Action{Adopt}},
		{"changed", []Action{Update}},
		{"corrected", []Action{Correct}},
		{"recreated", []Action{Recreate}},
		{"deleted", []Action{Delete}},
		{"let go", []Action{Release}},
		{"owned by others", []Action{Refuse}},
	} {
		n := 0
		for _, a := range c.actions {
			n += d.Counts[a]
		}
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, c.word))
		}
	}
	return strings.Join(parts, ", ")
}

// sign is how an object is marked.
func sign(a Action) string {
	switch a {
	case Create:
		return "+"
	case Delete:
		return "-"
	case Recreate, Refuse:
		return "!"
	case Adopt, Update, Correct, Release, Rename:
	}
	return "~"
}

func objectItems(all []Object) [][]line {
	width := 0
	// What is deleted stands in a part of its own.
	left := slices.DeleteFunc(slices.Clone(all), leaves)
	for _, o := range left {
		width = widen(width, title(o))
	}
	var out [][]line
	for _, o := range left {
		out = append(out, objectLines(o, width))
	}
	return out
}

// leaves reports whether an object goes, and all that is generated from it.
func leaves(o Object) bool {
	return (o.Action == Delete || o.Action == Release) && !slices.ContainsFunc(o.Generated, func(g Object) bool { return !leaves(g) })
}

// title is "ConfigMap shop/settings", with the name before where that changed.
func title(o Object) string {
	if o.Was == "" {
		return o.Object
	}
	_, name, _ := strings.Cut(o.Object, " ")
	return o.Was + " -> " + name
}

func objectLines(o Object, width int) []line {
	note := o.Reason
	if o.Action == Adopt {
		note = joined(": ", "taken over", o.Reason)
	}
	if restarts(o) {
		note = joined(", ", note, "restarts its pods")
	}
	head := pad(title(o), width) + "  " + joined("  ", place2(o.File, o.Line), note)
	out := []line{{sign: sign(o.Action), text: strings.TrimRight(head, " ")}}
	out = append(out, fieldLines(o.Fields)...)
	if o.Omitted > 0 {
		out = append(out, line{text: "    " + plural(o.Omitted, "more field")})
	}
	for _, g := range o.Generated {
		text := "    generated " + title(g)
		if restarts(g) {
			out = append(out, line{sign: sign(g.Action), text: text + ": restarts its pods"})
			continue
		}
		if n := len(g.Fields) + g.Omitted; n > 0 && g.Action == Update && g.Was == "" {
			text += ": " + names(g.Fields)
		}
		out = append(out, line{sign: sign(g.Action), text: text})
	}
	return out
}

// restarts reports whether the change replaces the pods of a workload.
func restarts(o Object) bool {
	if o.Action != Update && o.Action != Correct || o.id.Group != "apps" {
		return false
	}
	return slices.ContainsFunc(o.Fields, func(f Field) bool { return below(f.Path, []string{"spec.template"}) })
}

// names are the paths of fields, the first of them.
func names(fields []Field) string {
	var out []string
	for _, f := range fields {
		out = append(out, f.Path)
	}
	const most = 2
	if n := len(out) - most; n > 0 {
		return strings.Join(out[:most], ", ") + fmt.Sprintf(" and %d more", n)
	}
	return strings.Join(out, ", ")
}

func fieldLines(fields []Field) []line {
	width := 0
	for _, f := range fields {
		if len(f.Lines) == 0 {
			width = widen(width, f.Path)
		}
	}
	var out []line
	for _, f := range fields {
		mark := ""
		if f.Immutable {
			mark = "  (immutable)"
		}
		if len(f.Lines) > 0 {
			out = append(out, line{text: "    " + f.Path + mark})
			for _, l := range f.Lines {
				out = append(out, textLine(l))
			}
			continue
		}
		out = append(out, line{text: "    " + pad(f.Path, width) + "  " + change(f) + mark})
	}
	return out
}

// change says "a -> b", "added: b" or "removed: a".
func change(f Field) string {
	f.clip(shortValue)
	switch {
	case f.Before == nil && f.After == nil:
		return "changed"
	case f.Before == nil:
		return "added: " + *f.After
	case f.After == nil:
		return "removed: " + *f.Before
	}
	return *f.Before + " -> " + *f.After
}

func textLine(l Line) line {
	switch l.Op {
	case "@":
		if l.Text == "" {
			return line{text: "      …"}
		}
		return line{text: "      … " + l.Text}
	case " ":
		return line{text: "        " + clip(l.Text, longestLine)}
	}
	return line{sign: l.Op, text: "    " + l.Op + " " + clip(l.Text, longestLine)}
}

// longestLine is how much of one line of a text people are shown, in bytes.
const longestLine = 200
