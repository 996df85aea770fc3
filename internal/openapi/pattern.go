package openapi

import (
	"fmt"
	"regexp"
	"strings"
)

// CompilePattern compiles a pattern of a schema. Patterns are of ECMA-262; one that Go cannot express (lookahead,
// repetitions over 1000) is an error.
func CompilePattern(expr string) (*regexp.Regexp, error) { return regexp.Compile(GoPattern(expr)) }

// GoPattern rewrites what ECMA-262 writes in another way than Go: \u0041, \u{41}, \cA, \s, and a hyphen behind \w in a
// class.
func GoPattern(expr string) string {
	if !strings.ContainsAny(expr, `\[`) {
		return expr
	}
	var b strings.Builder
	inClass := false
	for i := 0; i < len(expr); i++ {
		c := expr[i]
		switch {
		case c == '[' && inClass:
			b.WriteByte('\\') // it stands for itself
		case c == '[':
			inClass = true
			if rest := expr[i:]; strings.HasPrefix(rest, "[]") || strings.HasPrefix(rest, "[^]") {
				size := strings.IndexByte(rest, ']') + 1
				b.WriteString(map[int]string{2: `[^\x00-\x{10FFFF}]`, 3: `[\x00-\x{10FFFF}]`}[size])
				i += size - 1
				inClass = false
				continue
			}
		case c == ']':
			inClass = false
		case c == '\\' && i+1 < len(expr):
			size, to := escape(expr[i:], inClass)
			b.WriteString(to)
			i += size - 1
			continue
		}
		b.WriteByte(c)
	}
	return b.String()
}

// escape returns the length of an escape sequence of ECMA-262, and how Go writes it.
func escape(s string, inClass bool) (size int, to string) {
	const hex, control = 4, 3
	to = s[:2]
	switch s[1] {
	case 'u':
		if end := strings.IndexByte(s, '}'); strings.HasPrefix(s, `\u{`) && end > 0 {
			return end + 1, `\x` + s[2:end+1]
		}
		if len(s) >= 2+hex {
			return 2 + hex, `\x{` + s[2:2+hex] + `}`
		}
	case 'c':
		if len(s) >= control {
			return control, fmt.Sprintf(`\x%02x`, s[2]&0x1f)
		}
	case 's':
		to = `\t\n\v\f\r \x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}\x{feff}`
		if !inClass {
			to = "[" + to + "]"
		}
	case 'w', 'd', 'S', 'W', 'D':
	default:
		return 2, to
	}
	// "[\w-.]" is no range.
	if inClass && len(s) > 2 && s[2] == '-' && (len(s) == 3 || s[3] != ']') {
		return 3, to + `\-`
	}
	return 2, to
}
