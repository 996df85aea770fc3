package render

import (
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/tidelock/tidelock/api/v1alpha1"
	"github.com/tidelock/tidelock/internal/desired"
)

// everyPath matches every request.
func everyPath() desired.Match { return desired.Match{PathType: desired.PathPrefix, Path: "/"} }

func (rl ruler) match(m v1alpha1.Match) desired.Match {
	at := rl.at.child("match")
	out := everyPath()
	if m.Path != nil {
		out.PathType, out.Path = rl.path(at.child("path"), *m.Path)
	}
	if m.Method == http.MethodConnect {
		rl.wrong(at.child("method"), "CONNECT is not supported yet")
	}
	out.Method = m.Method
	out.Headers = rl.values(at.child("headers"), m.Headers, rl.matchedHeader)
	out.Query = rl.values(at.child("queryParams"), m.QueryParams, func(_ fieldPath, name string) string { return name })
	return out
}

func (rl ruler) path(at fieldPath, m v1alpha1.PathMatch) (desired.PathType, string) {
	kind, value := desired.PathType(m.Type), m.Value
	if kind == "" {
		kind = desired.PathPrefix
	}
	switch {
	case kind == desired.PathRegex:
		rl.regex(at.child("value"), value)
	case !strings.HasPrefix(value, "/"):
		rl.wrong(at.child("value"), `want a path that begins with "/"`)
	case strings.ContainsAny(value, "?#"):
		rl.wrong(at.child("value"), "holds a query or a fragment: match a query with queryParams")
	case isUnsent(value):
		rl.wrong(at.child("value"), "%s", escapeHint(value))
	case hasDots(value):
		rl.wrong(at.child("value"), "has a segment . or .., which is resolved before paths are compared: write %s",
			(&url.URL{Path: "/"}).ResolveReference(&url.URL{Path: value}).Path)
	case kind == desired.PathPrefix:
		if strings.HasPrefix(value, "//") || len(value) > 1 && strings.HasSuffix(value, "//") {
			rl.wrong(at.child("value"), "a prefix cannot begin or end with an empty segment: write %s", "/"+strings.Trim(value, "/"))
		}
		// By segment, "/a/" is the same as "/a".
		value = "/" + strings.Trim(value, "/")
	}
	return kind, value
}

// isUnsent reports whether a path has what no request line can carry as it is (RFC 3986, section 2).
func isUnsent(path string) bool {
	return strings.ContainsFunc(path, func(r rune) bool { return r <= ' ' || r >= 0x7f })
}

func escapeHint(path string) string {
	return "has what a request's path cannot hold as it is: write " + (&url.URL{Path: path}).EscapedPath()
}

// hasDots reports whether a path has a segment that RFC 3986 resolves.
func hasDots(value string) bool {
	return slices.ContainsFunc(strings.Split(value, "/"), func(s string) bool { return s == "." || s == ".." })
}

// regex checks an expression of RE2, which is what Go and Envoy share.
func (rl ruler) regex(at fieldPath, text string) {
	if _, err := regexp.Compile(text); err != nil {
		rl.wrong(at, "no RE2 expression: %v", err)
	}
}

// matchedHeader returns the name of a header as it is matched; a pseudo header has a field of its own.
func (rl ruler) matchedHeader(at fieldPath, name string) string {
	name = strings.ToLower(name)
	switch {
	case name == "host" || name == ":authority":
		rl.wrong(at, "%s is matched by spec.hosts", name)
	case name == ":path" || name == ":method":
		rl.wrong(at, "%s is matched by match%s", name, strings.Replace(name, ":", ".", 1))
	case !isToken(name):
		rl.wrong(at, "no name of a header")
	}
	return name
}

// isToken says whether a text can be the name of a header (RFC 9110, section 5.6.2).
func isToken(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(r rune) bool {
		return isOdd(r) && !strings.ContainsRune("!#$%&'*+.^`|~", r)
	})
}

// values checks matches of headers or query parameters and returns them by name.
func (rl ruler) values(
	at fieldPath, in []v1alpha1.ValueMatch, normal func(at fieldPath, name string) string,
) []desired.ValueMatch {
	var out []desired.ValueMatch
	for i, v := range in {
		at := at.child(i)
		m := desired.ValueMatch{
			Name: normal(at.child("name"), v.Name), Type: desired.ValueType(v.Type), Value: v.Value,
		}
		if m.Type == "" {
			m.Type = desired.ValueExact
		}
		switch {
		case slices.ContainsFunc(out, func(o desired.ValueMatch) bool { return o.Name == m.Name }):
			rl.wrong(at.child("name"), "%q is matched twice", m.Name)
		case m.Type == desired.ValueRegex:
			rl.regex(at.child("value"), m.Value)
		case m.Type == desired.ValuePresent && m.Value != "":
			rl.wrong(at.child("value"), "is not used with type Present")
		case m.Type == desired.ValueExact && m.Value == "":
			rl.wrong(at, "want a value, or type: Present")
		}
		out = append(out, m)
	}
	slices.SortFunc(out, func(a, b desired.ValueMatch) int { return strings.Compare(a.Name, b.Name) })
	return out
}
