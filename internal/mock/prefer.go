package mock

import (
	"strings"
)

// preferences are what a client would like (RFC 7240). Of a preference that is there twice the first counts, and what is
// not known is ignored.
type preferences struct {
	code    string
	example string
	named   bool // an example is asked for
	dynamic bool
}

// preferred reads the headers Prefer: several of them, several preferences in each. What should stand between commas may
// stand behind a semicolon too: none of ours has parameters.
func preferred(lines []string) preferences {
	var p preferences
	code, dynamic := false, false
	for _, line := range lines {
		for line != "" {
			var name, value string
			name, value, line = nextPreference(line)
			switch {
			case strings.EqualFold(name, "code") && !code:
				p.code, code = value, true
			case strings.EqualFold(name, "example") && !p.named:
				p.example, p.named = value, true
			case strings.EqualFold(name, "dynamic") && !dynamic:
				p.dynamic = value == "" || strings.EqualFold(value, "true") // no value is the same as an empty one
				dynamic = true
			}
		}
	}
	return p
}

// nextPreference cuts the first preference off: token [= word], and the separator behind it.
func nextPreference(line string) (name, value, rest string) {
	line = strings.TrimLeft(line, " \t,;")
	end := strings.IndexAny(line, "=,;")
	if end < 0 {
		return strings.TrimSpace(line), "", ""
	}
	name = strings.TrimSpace(line[:end])
	if line[end] != '=' {
		return name, "", line[end+1:]
	}
	rest = strings.TrimLeft(line[end+1:], " \t")
	if !strings.HasPrefix(rest, `"`) {
		end = strings.IndexAny(rest, ",;")
		if end < 0 {
			return name, strings.TrimSpace(rest), ""
		}
		return name, strings.TrimSpace(rest[:end]), rest[end+1:]
	}
	value, rest = unquote(rest[1:])
	return name, value, rest
}

// unquote reads a quoted string (RFC 9110, section 5.6.4) whose opening quote is gone.
func unquote(s string) (value, rest string) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '"':
			return b.String(), s[i+1:]
		case s[i] == '\\' && i+1 < len(s):
			i++
		}
		b.WriteByte(s[i])
	}
	return b.String(), ""
}

// applied is the header that says which preferences were followed (RFC 7240, section 3).
func (p preferences) applied() string {
	var out []string
	if p.code != "" {
		out = append(out, "code="+word(p.code))
	}
	if p.named {
		out = append(out, "example="+word(p.example))
	}
	if p.dynamic {
		out = append(out, "dynamic=true")
	}
	return strings.Join(out, ", ")
}

// word writes a token as it is and anything else quoted.
func word(s string) string {
	for i := range len(s) {
		c := s[i]
		if (c|0x20 < 'a' || c|0x20 > 'z') && (c < '0' || c > '9') && !strings.ContainsRune("!#$%&'*+-.^_`|~", rune(c)) {
			return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
		}
	}
	if s == "" {
		return `""`
	}
	return s
}
