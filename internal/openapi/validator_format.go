package openapi

import (
	"math"
	"net/netip"
	"net/url"
	"strings"
	"time"
)

// checkFormat checks a format of what was received, if it is one that leaves no doubt: a client that sends another value
// would be refused by the server that is mocked. What a description says itself, in its examples, is not held against it.
func (r *run) checkFormat(schema, value *Node) {
	format := schema.Member("format")
	if !r.formats || format.Kind() != String || (value.Kind() == Number) != strings.HasPrefix(format.text, "int") {
		return // a format says nothing about a value of another type
	}
	if want := wantedBy(format.text, value); want != "" {
		r.violation(value, "must be %s (format %s)", want, format.text)
	}
}

// wantedBy says in words what a format wants; nothing where the value is so, or the format is not known.
func wantedBy(format string, value *Node) string {
	ok, want := true, ""
	switch format {
	case "int32":
		ok, want = isBetween(value, math.MinInt32, math.MaxInt32), "a whole number of 32 bits"
	case "int64":
		ok, want = isBetween(value, math.MinInt64, math.MaxInt64), "a whole number of 64 bits"
	case "date":
		_, err := time.Parse(time.DateOnly, value.text)
		ok, want = err == nil, "a date, as 2024-01-31 is"
	case "date-time":
		ok, want = isDateTime(value.text), "a date and time with a zone, as 2024-01-31T12:00:00Z is"
	case "uuid":
		ok, want = isUUID(value.text), "a UUID, as 123e4567-e89b-12d3-a456-426614174000 is"
	case "email":
		name, host, _ := strings.Cut(value.text, "@")
		ok, want = name != "" && host != "" && !strings.ContainsAny(value.text, " \t\r\n"), "an address, as user@example.com is"
	case "ipv4":
		addr, err := netip.ParseAddr(value.text)
		ok, want = err == nil && addr.Is4(), "an address, as 192.0.2.1 is"
	case "ipv6":
		addr, err := netip.ParseAddr(value.text)
		ok, want = err == nil && addr.Is6() && addr.Zone() == "", "an address, as 2001:db8::1 is"
	case "uri":
		u, err := url.Parse(value.text)
		ok, want = err == nil && u.IsAbs(), "a URI with a scheme, as https://example.com/ is"
	}
	if ok {
		return ""
	}
	return want
}

func isBetween(value *Node, least, most int64) bool {
	v := rational(value)
	return v.IsInt() && v.Num().IsInt64() && v.Num().Int64() >= least && v.Num().Int64() <= most
}

// isDateTime reports whether a text is a date and time of RFC 3339: in any case, and with a leap second.
func isDateTime(s string) bool {
	_, err := time.Parse(time.RFC3339, strings.Replace(strings.ToUpper(s), ":60", ":59", 1))
	return err == nil
}

func isUUID(s string) bool {
	const length = 36
	if len(s) != length {
		return false
	}
	for i, c := range s {
		allowed := "0123456789abcdefABCDEF"
		if i == 8 || i == 13 || i == 18 || i == 23 {
			allowed = "-"
		}
		if !strings.ContainsRune(allowed, c) {
			return false
		}
	}
	return true
}
