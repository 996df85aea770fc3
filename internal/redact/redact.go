// Package redact takes secrets out of text. In go the values that must not show (as they are, or as base64) and a text;
// out comes the text with a mark in their place. It is the one redactor for errors, logs, events and statuses.
package redact

import (
	"cmp"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Mark stands where a secret was.
const Mark = "***"

// minLength of a value that is hidden, in bytes. Shorter ones would tear every text apart ("a", "1", "on") and would be
// guessed from what is torn.
const minLength = 4

// Redactor hides values. The zero value hides nothing. It is not for concurrent use while values are added.
type Redactor struct {
	// needles are what is looked for, the longest first, each once.
	needles []string
}

// New returns a redactor that hides values.
func New(values ...string) *Redactor {
	r := &Redactor{}
	r.Add(values...)
	return r
}

// Add hides values too: each as it is, as it reads with or without base64, quoted as in Go, JSON and URLs, in hex, inside a
// longer text in base64 ("user:password"), and line by line.
func (r *Redactor) Add(values ...string) {
	for _, v := range values {
		r.add(v)
		r.add(base64.StdEncoding.EncodeToString([]byte(v)))
		r.encoded(v)
		if b, err := base64.StdEncoding.DecodeString(strings.TrimSpace(v)); err == nil && utf8.Valid(b) {
			r.add(string(b))
			r.encoded(string(b))
		}
	}
	slices.SortFunc(r.needles, func(a, b string) int {
		return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b))
	})
	r.needles = slices.Compact(r.needles)
}

func (r *Redactor) add(v string) {
	quoted := strings.Trim(strconv.Quote(v), `"`)
	for _, form := range []string{v, strings.TrimSpace(v), inJSON(v), quoted, url.QueryEscape(v), url.PathEscape(v)} {
		r.needle(form)
	}
	if !strings.Contains(v, "\n") {
		return
	}
	for line := range strings.SplitSeq(v, "\n") {
		r.needle(strings.TrimSpace(line))
	}
}

// encoded hides v in hex and in both alphabets of base64, wherever it stands in what is encoded: of the first and the last
// character only a part is its own, and these are left.
func (r *Redactor) encoded(v string) {
	const least = 6 // of v: less would be found in other texts too
	if len(v) < least {
		return
	}
	h := hex.EncodeToString([]byte(v))
	r.needle(h)
	r.needle(strings.ToUpper(h))
	for before, skip := range []int{0, 2, 3} {
		b := append(make([]byte, before), v...)
		for _, alphabet := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			text := alphabet.EncodeToString(b)
			r.needle(text[skip : len(b)*8/6]) //nolint:mnd // bits of a byte, and of a character
		}
	}
}

func (r *Redactor) needle(s string) {
	if len(s) >= minLength {
		r.needles = append(r.needles, s)
	}
}

// inJSON returns v as it stands between the quotes of a JSON string.
func inJSON(v string) string {
	b, err := json.Marshal(v)
	if err != nil || len(b) < len(`""`) {
		return v
	}
	return string(b[1 : len(b)-1])
}

// String returns s with Mark in the place of every value that is hidden.
func (r *Redactor) String(s string) string {
	if r == nil {
		return s
	}
	for _, n := range r.needles {
		s = strings.ReplaceAll(s, n, Mark)
	}
	return s
}

// URL returns a repository's address without the user and password in it. An address that cannot be read is cut at its
// last "@". The user of an SSH address ("git@host:path") stays: it is no secret.
func URL(address string) string {
	u, err := url.Parse(address)
	switch {
	case err == nil && u.Scheme == "ssh" && u.User != nil:
		u.User = url.User(u.User.Username())
		return u.String()
	case err == nil && u.Scheme == "file":
		return address
	case err == nil && u.Host != "":
		u.User = nil
		u.RawQuery, u.Fragment = "", ""
		return u.String()
	}
	at := strings.LastIndex(address, "@")
	if at < 0 || !strings.ContainsAny(address[:at], ":/") {
		return address
	}
	if i := strings.Index(address, "://"); i >= 0 && i < at {
		return address[:i+len("://")] + address[at+1:]
	}
	return address[at+1:]
}
