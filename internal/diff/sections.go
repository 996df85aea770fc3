package diff

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// section is one part of what people read. Text and Markdown show the same lines.
type section struct {
	title string
	// note stands behind the title.
	note string
	// items are never told in part: an object with its fields.
	items [][]line
	// noun is what an item is called where some are left out.
	noun string
}

// line is one line; sign is what it is marked and coloured by: "+", "-", "~", "!", or "".
type line struct {
	sign string
	text string
}

const (
	// widest is up to where columns are aligned, in characters.
	widest = 44
	// shortValue is how much of a value people are shown, in bytes.
	shortValue = 100
)

// sections returns what people read, in the order in which reviewers ask. Parts without content are left out.
func sections(d Diff) []section {
	all := []section{
		{title: "Base is refused", note: "the head is shown whole", items: problemItems(d.BaseRefused, "!"), noun: "error"},
		{title: "Refused", note: "the commit would not be accepted", items: problemItems(d.Refused, "!"), noun: "error"},
		{title: "Not known", items: textItems(d.Unknown), noun: "line"},
		brakeSection(d.Brake),
		{title: "Warnings", note: older(d.OldWarnings), items: problemItems(d.Warnings, "~"), noun: "warning"},
		{title: "Traffic", items: trafficItems(d.Traffic), noun: "change"},
		{title: "Time", items: timeItems(d.Time), noun: "schedule"},
		pruneSection(d),
		{title: "Objects", note: Counted(d), items: objectItems(d.Objects), noun: "object"},
		{title: "Reach", items: reachItems(d), noun: "line"},
	}
	var out []section
	for _, s := range all {
		if len(s.items) > 0 {
			out = append(out, s)
		}
	}
	return out
}

func older(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%s as before", plural(n, "other"))
}

// plural says "1 error" or "2 errors".
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

func problemItems(ps []Problem, sign string) [][]line {
	var out [][]line
	for _, p := range ps {
		head := joined("  ", place2(p.File, p.Line), p.Object, p.Field)
		text := strings.Split(p.Text, "\n")
		item := []line{{sign: sign, text: head}}
		if head == "" {
			item, text = []line{{sign: sign, text: text[0]}}, text[1:]
		}
		for _, t := range text {
			for _, l := range wrap(t, wrapAt) {
				item = append(item, line{text: "    " + l})
			}
		}
		out = append(out, item)
	}
	return out
}

func place2(file string, at int) string {
	if file != "" && at > 0 {
		return fmt.Sprintf("%s:%d", file, at)
	}
	return file
}

func joined(sep string, parts ...string) string {
	var some []string
	for _, p := range parts {
		if p != "" {
			some = append(some, p)
		}
	}
	return strings.Join(some, sep)
}

func textItems(texts []string) [][]line {
	var out [][]line
	for _, t := range texts {
		out = append(out, []line{{text: t}})
	}
	return out
}

func brakeSection(b *Brake) section {
	s := section{title: "Held", note: "by the prune brakes of tidelock.yaml", noun: "line"}
	if b != nil && b.Held {
		s.items = textItems(wrap(b.Text, wrapAt))
	}
	return s
}

func trafficItems(all []Traffic) [][]line {
	width := 0
	for _, t := range all {
		width = widen(width, t.Subject)
	}
	var out [][]line
	for _, t := range all {
		item := []line{{sign: "~", text: pad(t.Subject, width) + "  " + t.Text}}
		indent := strings.Repeat(" ", width+len("  "))
		switch others := slices.DeleteFunc(slices.Clone(t.Where), func(w string) bool { return w == t.Subject }); {
		case len(others) == 0:
		case len(others) < len(t.Where):
			item = append(item, line{text: indent + "also " + some(others)})
		default:
			item = append(item, line{text: indent + "on " + some(others)})
		}
		if len(t.Proxies) > 0 {
			item = append(item, line{text: indent + "of proxies " + strings.Join(t.Proxies, ", ")})
		}
		out = append(out, item)
	}
	return out
}

// some names the first of many.
func some(names []string) string {
	const most = 5
	if n := len(names) - most; n > 0 {
		return strings.Join(names[:most], ", ") + fmt.Sprintf(" and %d more", n)
	}
	return strings.Join(names, ", ")
}

func timeItems(all []Timing) [][]line {
	width := 0
	for _, t := range all {
		width = widen(width, t.Subject)
	}
	signs := map[string]string{"added": "+", "removed": "-"}
	var out [][]line
	for _, t := range all {
		sign := signs[t.Change]
		if sign == "" {
			sign = "~"
		}
		item := []line{{sign: sign, text: pad(t.Subject, width) + "  " + t.Text}}
		if len(t.Next) > 0 {
			item = append(item, line{text: strings.Repeat(" ", width+len("  ")) + "next " + instants(t.Next)})
		}
		out = append(out, item)
	}
	return out
}

// instants writes moments in their own zone; the zone is named once where it is the same for all.
func instants(all []time.Time) string {
	const day, zoned = "Mon 2006-01-02 15:04", "Mon 2006-01-02 15:04 MST"
	first, _ := all[0].Zone()
	var parts []string
	for i, at := range all {
		layout := day
		if zone, _ := at.Zone(); i == len(all)-1 || zone != first {
			layout = zoned
		}
		parts = append(parts, at.Format(layout))
	}
	return strings.Join(parts, ", ")
}

func pruneSection(d Diff) section {
	s := section{title: "Deleted", noun: "object"}
	if d.Brake != nil && d.Brake.Deletes > 0 {
		s.note = fmt.Sprintf("%d of %s", d.Brake.Deletes, plural(d.Brake.Owned, "object"))
	}
	width := 0
	for _, p := range d.Prunes {
		width = widen(width, p.Object)
	}
	for _, p := range d.Prunes {
		sign, text := "-", p.Reason
		switch {
		case p.ReplacedBy != "":
			text = "replaced by " + p.ReplacedBy
		case p.Action == Release:
			sign = ""
		case p.Action == Recreate:
			sign, text = "!", joined(": ", "deleted and made anew", p.Reason)
		}
		if p.WaitsFor != "" {
			text = joined(", ", text, "waits for "+p.WaitsFor)
		}
		text = pad(p.Object, width) + "  " + joined("  ", place2(p.File, p.Line), text)
		s.items = append(s.items, []line{{sign: sign, text: strings.TrimRight(text, " ")}})
	}
	return s
}

func reachItems(d Diff) [][]line {
	r := d.Reach
	var out [][]line
	add := func(name, text string) {
		if text != "" {
			out = append(out, []line{{text: pad(name, len("namespaces")) + "  " + text}})
		}
	}
	spaces := some(r.Namespaces)
	if r.ClusterScoped > 0 {
		spaces = joined(", ", spaces, plural(r.ClusterScoped, "cluster-scoped object"))
	}
	add("namespaces", spaces)
	for i, h := range r.Hosts {
		const most = 10
		if i == most {
			add("", fmt.Sprintf("and %d more", len(r.Hosts)-most))
			break
		}
		name := "hosts"
		if i > 0 {
			name = ""
		}
		add(name, fmt.Sprintf("%s: %d of %s, up to %s of its requests move", h.Host, h.Routes, plural(h.All, "route"), percent(h.Moved)))
	}
	switch {
	case len(d.Traffic) == 0:
	case r.AllProxies:
		add("proxies", "all")
	default:
		add("proxies", strings.Join(r.Proxies, ", "))
	}
	return out
}

func widen(width int, s string) int {
	if n := utf8.RuneCountInString(s); n <= widest {
		return max(width, n)
	}
	return width
}

func pad(s string, width int) string {
	return s + strings.Repeat(" ", max(0, width-utf8.RuneCountInString(s)))
}

// wrapAt is how long a line of a sentence becomes, in bytes.
const wrapAt = 100

// wrap breaks a sentence between words.
func wrap(text string, at int) []string {
	var out []string
	row := ""
	for word := range strings.FieldsSeq(text) {
		if row != "" && len(row)+1+len(word) > at {
			out = append(out, row)
			row = ""
		}
		row = joined(" ", row, word)
	}
	return append(out, row)
}

// clean makes a text fit for a terminal and a comment: on one line, without what would control either.
func clean(s string) string {
	odd := func(r rune) bool {
		return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == utf8.RuneError || r == '\u2028' || r == '\u2029'
	}
	if !strings.ContainsFunc(s, odd) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '\t':
			b.WriteString("  ")
		case odd(r):
			fmt.Fprintf(&b, "\\u%04x", r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
