package diff

import (
	"regexp"
	"strings"
)

// assignments finds, in a text, values that stand under the name of a secret: password: x, DB_PASSWORD=x, "apiKey": "x",
// <token>x</token>. Configuration files are such texts, and what holds them is seldom a Secret.
type assignments struct{ line, part, element *regexp.Regexp }

func newAssignments() assignments {
	ends := strings.ReplaceAll(strings.Join(secretEnds(), "|"), "-", "[_.-]?")
	name := `[\w.-]*(?:` + ends + `)\\?["']?\s*[:=]\s*`
	return assignments{
		line:    regexp.MustCompile(`(?i)^(\s*(?:- +|export +)?["']?` + name + `)[^\s{[|>].*`),
		part:    regexp.MustCompile(`(?i)(` + name + `)(?:\\".*?\\"|"[^"]*"|'[^']*'|[^\s\\"',;&|{[}\])<>][^\\"',;&}\])<>]*)`),
		element: regexp.MustCompile(`(?i)(<[\w.:-]*(?:` + ends + `)>)[^<]+`),
	}
}

// hide returns a text on one line with the mark in place of such values.
func (a assignments) hide(text string) string {
	if out := a.line.ReplaceAllString(text, "${1}"+mark); out != text {
		return out
	}
	return a.element.ReplaceAllString(a.part.ReplaceAllString(text, "${1}"+mark), "${1}"+mark)
}

// hideAssigned hides such values in fields. Two that look alike then are told apart by their marks.
func (a assignments) hideAssigned(objects []Object) {
	for i := range objects {
		for j := range objects[i].Fields {
			f := &objects[i].Fields[j]
			for k := range f.Lines {
				f.Lines[k].Text = a.hide(f.Lines[k].Text)
			}
			for _, v := range []*string{f.Before, f.After} {
				if v != nil {
					*v = a.hide(*v)
				}
			}
			if f.Before != nil && f.After != nil && *f.Before == *f.After {
				f.Before, f.After = new(*f.Before+" (before)"), new(*f.After+" (after)")
			}
		}
		a.hideAssigned(objects[i].Generated)
	}
}
