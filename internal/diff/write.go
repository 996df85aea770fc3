package diff

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// JSON writes d as docs/diff.schema.json describes it.
func JSON(w io.Writer, d Diff) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	if err := enc.Encode(d); err != nil {
		return fmt.Errorf("write the difference as JSON: %w", err)
	}
	return nil
}

// Text writes d for a terminal or a log; coloured says whether the terminal takes colours.
func Text(w io.Writer, d Diff, coloured bool) error {
	var out bytes.Buffer
	paint := painter(coloured)
	fmt.Fprintf(&out, "%s\n", clean(headline(d)))
	for _, s := range sections(d) {
		fmt.Fprintf(&out, "\n%s\n", joined("  ", paint("bold", s.title), clean(s.note)))
		for _, item := range s.items {
			for _, l := range item {
				fmt.Fprintf(&out, "%s\n", paint(l.sign, "  "+marked(l)))
			}
		}
	}
	if _, err := w.Write(out.Bytes()); err != nil {
		return fmt.Errorf("write the difference: %w", err)
	}
	return nil
}

// marked is a line with its sign before it, or in place of the room for one.
func marked(l line) string {
	sign := l.sign
	if sign == "" {
		sign = " "
	}
	return strings.TrimRight(sign+" "+clean(l.text), " ")
}

// headline says what is compared, and what comes of it.
func headline(d Diff) string {
	of := fmt.Sprintf("%s -> %s", d.Base.Name, d.Head.Name)
	if d.Path != "." && d.Path != "" {
		of += ", " + d.Path
	}
	return of + ": " + Summary(d)
}

// Summary says in one line what a diff comes to: "refused: 2 errors", "no changes", "2 created, 1 changed; traffic of 1 host".
func Summary(d Diff) string {
	parts := []string{}
	if n := len(d.Refused); n > 0 {
		parts = append(parts, "refused with "+plural(n, "error"))
	}
	if d.Brake != nil && d.Brake.Held {
		parts = append(parts, "held by the brakes")
	}
	parts = append(parts, Counted(d))
	if n := len(d.Reach.Hosts); n > 0 {
		parts = append(parts, "traffic of "+plural(n, "host")+" changes")
	}
	steps := 0
	for _, t := range d.Time {
		if strings.HasPrefix(t.Subject, ofSplit) {
			steps++
		}
	}
	if n := len(d.Time) - steps; n > 0 {
		parts = append(parts, plural(n, "schedule"))
	}
	if steps > 0 {
		parts = append(parts, plural(steps, "step")+" of splits")
	}
	if !d.Changed && len(d.Refused) == 0 {
		parts = append(parts, "no changes")
	}
	return joined("; ", parts...)
}

// painter returns a function that colours a line by its sign.
func painter(coloured bool) func(sign, text string) string {
	codes := map[string]string{"bold": "1", "+": "32", "-": "31", "~": "33", "!": "1;31"}
	return func(sign, text string) string {
		code := codes[sign]
		if !coloured || code == "" {
			return text
		}
		return "\x1b[" + code + "m" + text + "\x1b[0m"
	}
}
