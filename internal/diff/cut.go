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
		for _, v := range []*string{f.Before, f.After} {
			if v != nil {
				*v = clip(*v, longestValue)
			}
		}
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
