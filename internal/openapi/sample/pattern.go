package sample

import (
	"regexp/syntax"
	"strings"
	"unicode"

	"github.com/tidelock/tidelock/internal/openapi"
)

// matching returns a text that matches a pattern, the n-th of them; false where the pattern is not one that Go reads.
func matching(pattern string, n int) (string, bool) { return matchingAtLeast(pattern, n, 0) }

// matchingAtLeast is matching, where each part that may be repeated is, as often as spare says.
func matchingAtLeast(pattern string, n, spare int) (string, bool) {
	re, err := syntax.Parse(openapi.GoPattern(pattern), syntax.Perl)
	if err != nil {
		return "", false
	}
	m := matcher{n: n, spare: spare}
	m.write(re)
	return m.b.String(), m.b.Len() <= hardSize
}

// matcher writes a text that matches an expression.
type matcher struct {
	b     strings.Builder
	n     int // which text, used up choice by choice
	spare int
}

// draw returns a number below of, and uses that part of n up.
func (m *matcher) draw(of int) int {
	if of <= 1 {
		return 0
	}
	d := m.n % of
	m.n /= of
	return d
}

func (m *matcher) write(re *syntax.Regexp) {
	if m.b.Len() > hardSize {
		return
	}
	switch re.Op {
	case syntax.OpLiteral:
		m.b.WriteString(string(re.Rune))
	case syntax.OpCharClass:
		m.class(re.Rune)
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		m.b.WriteByte('a' + byte(m.draw(26))) //nolint:gosec // below 26
	case syntax.OpCapture, syntax.OpConcat:
		for _, sub := range re.Sub {
			m.write(sub)
		}
	case syntax.OpAlternate:
		m.write(re.Sub[m.draw(len(re.Sub))])
	case syntax.OpStar:
		m.repeat(re.Sub[0], 0, -1)
	case syntax.OpPlus:
		m.repeat(re.Sub[0], 1, -1)
	case syntax.OpQuest:
		m.repeat(re.Sub[0], 0, 1)
	case syntax.OpRepeat:
		m.repeat(re.Sub[0], re.Min, re.Max)
	case syntax.OpNoMatch, syntax.OpEmptyMatch, syntax.OpBeginLine, syntax.OpEndLine, syntax.OpBeginText, syntax.OpEndText,
		syntax.OpWordBoundary, syntax.OpNoWordBoundary:
	}
}

// repeat writes an expression as often as it must be, and more where that is asked for.
func (m *matcher) repeat(re *syntax.Regexp, least, most int) {
	times := least
	if most < 0 || most > least {
		times += m.spare
		if m.spare == 0 && m.n > 0 {
			times += m.draw(2)
		}
	}
	if most >= 0 {
		times = min(times, most)
	}
	for range times {
		m.write(re)
	}
}

// class writes a character of a class: a letter or a digit where it has one.
func (m *matcher) class(ranges []rune) {
	const printable, size = "azAZ09", 26
	for i := 0; i < len(printable); i += 2 {
		low, high := rune(printable[i]), rune(printable[i+1])
		for j := 0; j+1 < len(ranges); j += 2 {
			if from, to := max(low, ranges[j]), min(high, ranges[j+1]); from <= to {
				m.b.WriteRune(from + rune(m.draw(min(size, int(to-from)+1)))) //nolint:gosec // below 26
				return
			}
		}
	}
	for j := 0; j+1 < len(ranges); j += 2 {
		for r := ranges[j]; r <= ranges[j+1]; r++ {
			if unicode.IsPrint(r) {
				m.b.WriteRune(r)
				return
			}
		}
	}
	if len(ranges) > 0 {
		m.b.WriteRune(ranges[0])
	}
}
