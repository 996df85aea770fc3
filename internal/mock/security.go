package mock

import (
	"encoding/base64"
	"net/http"
	"slices"
	"strings"

	"github.com/tidelock/tidelock/internal/openapi"
)

// security are the alternatives of which a request has to satisfy one; nil where it needs none. That credentials are there
// is checked, and their form; a mock has no users.
type security []alternative

// alternative is a list of schemes that all have to be satisfied.
type alternative []scheme

// scheme is one way in which a client says who it is.
type scheme struct {
	title     string // as the document has it
	kind      string // apiKey, basic, bearer, another scheme of HTTP, or mutualTLS
	in, name  string // of an apiKey
	challenge string // for WWW-Authenticate
}

// security compiles the security of an operation, or that of the document.
func (c *compiler) security(op *openapi.Node) security {
	declared := op.Member("security")
	if declared == nil {
		declared = c.root.Member("security")
	}
	var out security
	for _, requirement := range declared.Elements() {
		var all alternative
		for title := range requirement.Members() {
			all = append(all, c.scheme(title))
		}
		if len(all) == 0 {
			return nil // {}: nothing is needed
		}
		out = append(out, all)
	}
	return out
}

func (c *compiler) scheme(title string) scheme {
	declared := c.root.Follow(c.root.Member("components").Member("securitySchemes").Member(title))
	s := scheme{title: title}
	switch kind := declared.Member("type").Text(); kind {
	case "apiKey":
		s.kind, s.in, s.name = kind, declared.Member("in").Text(), declared.Member("name").Text()
		s.challenge = `ApiKey in="` + s.in + `", name="` + strings.Map(printable, s.name) + `"`
	case "http":
		s.kind = strings.ToLower(declared.Member("scheme").Text())
		s.challenge = strings.Map(printable, declared.Member("scheme").Text()) + ` realm="mock"`
	case "oauth2", "openIdConnect":
		s.kind, s.challenge = "bearer", `Bearer realm="mock"`
	default: // mutualTLS, which ends before a mock
		s.kind = kind
	}
	return s
}

// printable drops what cannot stand in a quoted string.
func printable(r rune) rune {
	if r < ' ' || r > '~' || r == '"' || r == '\\' {
		return -1
	}
	return r
}

func (s security) satisfied(c *call) bool {
	return slices.ContainsFunc(s, func(all alternative) bool {
		return !slices.ContainsFunc(all, func(x scheme) bool { return !x.satisfied(c) })
	})
}

func (s *scheme) satisfied(c *call) bool {
	switch s.kind {
	case "apiKey":
		return s.hasKey(c.r)
	case "", "mutualTLS":
		return true
	}
	name, credentials, _ := strings.Cut(c.r.Header.Get("Authorization"), " ")
	credentials = strings.TrimSpace(credentials)
	if !strings.EqualFold(name, s.kind) || credentials == "" {
		return false
	}
	if s.kind != "basic" {
		return true
	}
	plain, err := base64.StdEncoding.DecodeString(credentials)
	return err == nil && slices.Contains(plain, ':')
}

func (s *scheme) hasKey(r *http.Request) bool {
	switch s.in {
	case inHeader:
		return r.Header.Get(s.name) != ""
	case inCookie:
		return slices.ContainsFunc(r.CookiesNamed(s.name), func(c *http.Cookie) bool { return c.Value != "" })
	}
	return slices.ContainsFunc(pairsOf(nil, r.URL.RawQuery), func(p pair) bool { return p.name == s.name && p.raw != "" })
}

// challenges are the values of WWW-Authenticate (RFC 9110, section 11.6.1), each once.
func (s security) challenges() []string {
	var out []string
	for _, all := range s {
		for i := range all {
			if c := all[i].challenge; c != "" && !slices.Contains(out, c) {
				out = append(out, c)
			}
		}
	}
	return out
}

// String returns the alternatives in words: "key (apiKey in header X-Key), or oauth (bearer)".
func (s security) String() string {
	alternatives := make([]string, len(s))
	for i, all := range s {
		parts := make([]string, len(all))
		for j := range all {
			parts[j] = all[j].title + " (" + all[j].where() + ")"
		}
		alternatives[i] = strings.Join(parts, " and ")
	}
	return strings.Join(alternatives, ", or ")
}

func (s *scheme) where() string {
	if s.kind == "apiKey" {
		return "apiKey in " + s.in + " " + s.name
	}
	return s.kind
}

// violations names what would satisfy the first alternative.
func (s security) violations() []violation {
	var out []violation
	for i := range s[0] {
		x := &s[0][i]
		switch x.kind {
		case "apiKey":
			out = append(out, violation{In: x.in, Name: x.name, Detail: "is required by the security scheme " + x.title})
		case "", "mutualTLS":
		default:
			out = append(out, violation{
				In: inHeader, Name: "Authorization", Detail: "must be of the scheme " + x.kind + ", by the security scheme " + x.title,
			})
		}
	}
	return out
}
