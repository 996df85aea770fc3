package diff

import (
	"fmt"
	"unicode/utf8"
)

const (
	// longestValue and longestText bound one value and one sentence, in bytes.
	longestValue = 2000
	longestText  = 8000
	// mostLines bounds the lines of one text that are told.
	mostLines = 300
)

// cut bounds what is told of each object. It comes after hide: the rest of a secret that was cut in two would not be known.
func (d *Diff) cut() {
	for _, ps := range [][]Problem{d.BaseRefused, d.Refused, d.Warnings} {
		for i := range ps {
			ps[i].Text = clip(ps[i].Text, longestText)
		}
	}
	for i := range d.Objects {
		d.Objects[i].cut()
	}
}

func (o *Object) cut() {
	for i := range o.Fields {
		f := &o.Fields[i]
		f.clip(longestValue)
		if n := len(f.Lines) - mostLines; n > 0 {
			f.Lines = append(f.Lines[:mostLines], Line{Op: "@", Text: fmt.Sprintf("%d more lines", n)})
		}
		for j := range f.Lines {
			f.Lines[j].Text = clip(f.Lines[j].Text, longestValue)
		}
	}
	for i := range o.Generated {
		o.Generated[i].cut()
	}
}

// clip shortens the values to about so many bytes each; where both begin alike, to those from where they differ.
func (f *Field) clip(most int) {
	if f.Before != nil && f.After != nil && max(len(*f.Before), len(*f.After)) > most {
		f.Before, f.After = new(*f.Before), new(*f.After)
		fromDifference(f.Before, f.After)
	}
	for _, v := range []**string{&f.Before, &f.After} {
		if *v != nil {
			*v = new(clip(**v, most))
		}
	}
}

// fromDifference leaves out what two texts begin with alike, but for a little.
func fromDifference(a, b *string) {
	const shown = 20
	n := 0
	for n < len(*a) && n < len(*b) && (*a)[n] == (*b)[n] {
		n++
	}
	n -= shown
	for n > 0 && !utf8.RuneStart((*a)[n]) {
		n--
	}
	if n > shown {
		*a, *b = "…"+(*a)[n:], "…"+(*b)[n:]
	}
}

// clip shortens a text to about so many bytes, between two characters, and says that it did.
func clip(s string, most int) string {
	const note = 20 // what is shorter than the note that it is left out stays
	if len(s) <= most+note {
		return s
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return fmt.Sprintf("%s… (%d bytes more)", s[:most], len(s)-most)
}
