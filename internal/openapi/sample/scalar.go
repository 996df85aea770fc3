package sample

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tidelock/tidelock/internal/openapi"
)

// text returns a text of the right format, pattern and length.
func (g *generator) text(v view) (string, bool) {
	least, most := v.limits("minLength", "maxLength")
	n := g.pick()
	format := v.keyword("format").Text()
	s, ok := formatted(format, n, least)
	if patterns := v.all("pattern"); len(patterns) > 0 {
		return patterned(s, patterns, n, least, most)
	}
	if ok {
		return s, true // a format says more than a length that it cannot have
	}
	if n > 0 {
		s += strconv.Itoa(n)
	}
	if length := len(s); length < least { // all of them are ASCII
		s += strings.Repeat("s", least-length)
	}
	if most >= 0 && most < len(s) {
		s = s[len(s)-most:] // what differs stands at the end
		if n == 0 {
			s = "string"[:min(most, len("string"))]
		}
	}
	return s, true
}

// patterned returns a text that matches all patterns: plain where that does, else one that is made from a pattern.
func patterned(plain string, patterns []*openapi.Node, n, least, most int) (string, bool) {
	suits := func(s string) bool {
		length := utf8.RuneCountInString(s)
		return length >= least && (most < 0 || length <= most) && !slices.ContainsFunc(patterns, func(p *openapi.Node) bool {
			re, err := openapi.CompilePattern(p.Text())
			return err == nil && !re.MatchString(s)
		})
	}
	if suits(plain) && n == 0 {
		return plain, true
	}
	for _, p := range patterns {
		for _, spare := range []int{0, 1, least, least / 2} {
			if s, ok := matchingAtLeast(p.Text(), n, spare); ok && suits(s) {
				return s, true
			}
		}
	}
	return plain, suits(plain)
}

// formatted returns a text of a format that is one of OpenAPI's or JSON Schema's, the n-th of them, of a length at least
// where that can be. It says false for another format.
func formatted(format string, n, least int) (string, bool) {
	pad := func(s string) string { return strings.Repeat("a", max(0, least-len(s))) }
	number := ""
	if n > 0 {
		number = strconv.Itoa(n)
	}
	const days, clock = 28, 60
	two := func(n int) string { return string([]byte{'0' + byte(n/10%10), '0' + byte(n%10)}) } //nolint:gosec // digits
	switch format {
	case "date":
		return "2024-01-" + two(1+n%days), true
	case "date-time":
		return "2024-01-" + two(1+n/clock%days) + "T00:00:" + two(n%clock) + "Z", true
	case "time":
		return "00:00:" + two(n%clock) + "Z", true
	case "duration":
		return "PT" + strconv.Itoa(1+n) + "S", true
	case "uuid":
		const digits = 12
		tail := strconv.FormatInt(int64(n), 16)
		return "00000000-0000-4000-8000-" + strings.Repeat("0", digits-len(tail)) + tail, true
	case "email", "idn-email":
		return "user" + number + pad("user@example.com"+number) + "@example.com", true
	case "hostname", "idn-hostname":
		if n > 0 {
			return "host" + number + ".example.com", true
		}
		return "example.com", true
	case "uri", "url", "iri":
		return "https://example.com/" + number + pad("https://example.com/"+number), true
	case "uri-reference", "iri-reference":
		return "/" + number + pad("/"+number), true
	case "uri-template":
		return "/" + number + "{id}", true
	case "ipv4":
		return "192.0.2." + strconv.Itoa(1+n%254), true
	case "ipv6":
		return "2001:db8::" + strconv.FormatInt(int64(1+n%0xfffe), 16), true
	case "json-pointer":
		return "/" + strconv.Itoa(n), true
	case "relative-json-pointer":
		return strconv.Itoa(n), true
	case "regex":
		return "^" + number + "a*$", true
	case "byte":
		return "c3RyaW5n" + strings.Repeat("c3Ry", max(0, least-len("c3RyaW5n")+3)/4), true // "string"
	}
	return "string", false
}
