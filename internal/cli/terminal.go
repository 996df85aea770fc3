package cli

import (
	"io"
	"os"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/term"
)

// isTerminal reports whether a person reads w as it is written.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// style is how a text shows on a terminal; the zero value is plain.
type style string

const (
	plain  style = ""
	bold   style = "1"
	faint  style = "2"
	red    style = "31"
	green  style = "32"
	yellow style = "33"
)

// painter colours text where a terminal shows it, and the user has not asked for none (https://no-color.org).
type painter bool

func newPainter(w io.Writer) painter {
	return painter(isTerminal(w) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb")
}

func (p painter) paint(s style, text string) string {
	if !p || s == plain || text == "" {
		return text
	}
	return "\x1b[" + string(s) + "m" + text + "\x1b[0m"
}

// cell is one text of a table.
type cell struct {
	text  string
	style style
}

// cells are plain ones.
func cells(texts ...string) []cell {
	out := make([]cell, len(texts))
	for i, t := range texts {
		out[i].text = t
	}
	return out
}

// head is the first row of a table.
func head(texts ...string) []cell {
	out := cells(texts...)
	for i := range out {
		out[i].style = faint
	}
	return out
}

// table writes rows with aligned columns; the last column is as long as it is. Colours take no room.
func (p painter) table(w *strings.Builder, indent string, rows [][]cell) {
	var widths []int
	for _, row := range rows {
		for i, c := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(clean(c.text)))
		}
	}
	for _, row := range rows {
		var line strings.Builder
		for i, c := range row {
			text := clean(c.text)
			line.WriteString(p.paint(c.style, text))
			if i < len(row)-1 {
				line.WriteString(strings.Repeat(" ", widths[i]-utf8.RuneCountInString(text)+2))
			}
		}
		w.WriteString(strings.TrimRight(indent+line.String(), " ") + "\n")
	}
}

// clean takes what could control a terminal out of a text that others wrote: a commit's subject, the words of a proxy.
func clean(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n', r == '\t':
			return ' '
		case !unicode.IsPrint(r):
			return '?'
		default:
			return r
		}
	}, text)
}
