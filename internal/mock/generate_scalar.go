package mock

import (
	"math/big"
	"strings"
	"unicode/utf8"

	"github.com/tidelock/tidelock/internal/openapi"
)

// size reads a keyword that counts.
func (v view) size(name string, otherwise int) int {
	n := v.keyword(name)
	if n.Kind() != openapi.Number {
		return otherwise
	}
	r, ok := new(big.Rat).SetString(n.Text())
	if !ok || !r.IsInt() || !r.Num().IsInt64() {
		return otherwise
	}
	return int(r.Num().Int64())
}

// formatted returns a text of a format that is one of OpenAPI's or JSON Schema's.
func formatted(format string) string {
	switch format {
	case "date":
		return "2024-01-01"
	case "date-time":
		return "2024-01-01T00:00:00Z"
	case "time":
		return "00:00:00Z"
	case "duration":
		return "PT1S"
	case "uuid":
		return "00000000-0000-4000-8000-000000000000"
	case "email", "idn-email":
		return "user@example.com"
	case "hostname", "idn-hostname":
		return "example.com"
	case "uri", "url", "iri":
		return "https://example.com/"
	case "uri-reference", "iri-reference":
		return "/"
	case "ipv4":
		return "192.0.2.1"
	case "ipv6":
		return "2001:db8::1"
	case "byte":
		return "c3RyaW5n" // "string"
	}
	return "string"
}

// text returns a text of the right format and length. A pattern is not looked at.
func (v view) text() string {
	s := formatted(v.keyword("format").Text())
	const longest = hardSize
	if least := min(v.size("minLength", 0), longest); utf8.RuneCountInString(s) < least {
		s += strings.Repeat("s", least-utf8.RuneCountInString(s))
	}
	if most := v.size("maxLength", -1); most >= 0 && most < len(s) {
		s = s[:most] // all of them are ASCII
	}
	return s
}

// number returns the number nearest to 0, from above where it can be, that is within the bounds.
func (v view) number(integer bool) string {
	zero, one := new(big.Rat), big.NewRat(1, 1)
	step := one
	if m := rat(v.keyword("multipleOf")); m != nil && m.Sign() > 0 {
		step = m
	}
	low, lowOut := v.bound("minimum", "exclusiveMinimum")
	high, highOut := v.bound("maximum", "exclusiveMaximum")
	if (low == nil || low.Cmp(zero) < 0 || low.Cmp(zero) == 0 && !lowOut) &&
		(high == nil || high.Cmp(zero) > 0 || high.Cmp(zero) == 0 && !highOut) {
		return "0"
	}
	if low != nil && low.Sign() >= 0 {
		return decimal(multiple(low, step, lowOut, 1, integer || v.keyword("multipleOf") != nil))
	}
	return decimal(multiple(high, step, highOut, -1, integer || v.keyword("multipleOf") != nil))
}

// multiple returns the multiple of step that is nearest to bound, on the side of sign; bound itself where only that is
// asked for.
func multiple(bound, step *big.Rat, exclusive bool, sign int, whole bool) *big.Rat {
	if !whole && !exclusive {
		return bound
	}
	n := new(big.Rat).Quo(bound, step)
	q := new(big.Int).Div(n.Num(), n.Denom()) // rounds down
	out := new(big.Rat).Mul(new(big.Rat).SetInt(q), step)
	stepped := func() { out.Add(out, new(big.Rat).Mul(step, big.NewRat(int64(sign), 1))) }
	if sign > 0 && out.Cmp(bound) < 0 {
		stepped()
	}
	if exclusive && out.Cmp(bound) == 0 {
		stepped()
	}
	return out
}

func rat(n *openapi.Node) *big.Rat {
	if n.Kind() != openapi.Number {
		return nil
	}
	r, ok := new(big.Rat).SetString(n.Text())
	if !ok {
		return nil
	}
	return r
}

// bound returns a bound, and whether it is excluded: by the boolean of OpenAPI 3.0 or the number of 3.1.
func (v view) bound(inclusive, exclusive string) (*big.Rat, bool) {
	in, ex := rat(v.keyword(inclusive)), v.keyword(exclusive)
	if r := rat(ex); r != nil {
		return r, true
	}
	return in, ex.IsTrue()
}

// decimal returns r as a JSON number.
func decimal(r *big.Rat) string {
	if r.IsInt() {
		return r.Num().String()
	}
	const digits = 17
	return strings.TrimRight(r.FloatString(digits), "0")
}
