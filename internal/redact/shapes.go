package redact

import (
	"regexp"
	"strings"
)

// shape is how a kind of secret looks wherever it stands. hint is a part that every one of them has, as lower case: it saves
// the search where there is none.
type shape struct {
	hint string
	find *regexp.Regexp
	with string
}

// Shapes hides what looks like a secret, though nobody said that it is one: the password in a URL, --password=… and
// ?token=…, what follows Bearer or Basic, private keys, and tokens of well-known services. It is the second line of defence, behind a Redactor that knows.
type Shapes struct{ all []shape }

// NewShapes returns the shapes that are known.
func NewShapes() Shapes {
	s := Shapes{}
	for _, it := range [][3]string{
		{"@", `(://[^/\s:@"']*):[^/\s"']+@`, "$1:" + Mark + "@"},
		{"://", `://[^/\s:@"']{20,}@`, "://" + Mark + "@"}, // https://TOKEN@host
		{"=", `(?i)([-?&][\w-]*(?:password|passwd|passphrase|token|secret|api[_-]?key|access[_-]?key|signature)=)[^\s"'&,]+`, "${1}" + Mark},
		{"bearer ", `(?i)\b(bearer) +[^\s"',;]{6,}`, "$1 " + Mark},
		{"basic ", `(?i)\b(basic) +[A-Za-z0-9+/_-]{8,}=*`, "$1 " + Mark},
		{"private key", `-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(-----END [A-Z ]*PRIVATE KEY-----|$)`, Mark},
		{"gh", `\bgh[pousr]_[A-Za-z0-9]{20,}`, Mark},
		{"github_pat_", `\bgithub_pat_[A-Za-z0-9_]{20,}`, Mark},
		{"glpat-", `\bglpat-[A-Za-z0-9_-]{16,}`, Mark},
		{"xox", `\bxox[abposr]-[A-Za-z0-9-]{10,}`, Mark},
		{"hooks.slack.com/", `(hooks\.slack\.com/services/)[A-Za-z0-9/_-]+`, "${1}" + Mark},
		{"akia", `\bAKIA[A-Z0-9]{16}\b`, Mark},
		{"_live_", `\b[rs]k_live_[A-Za-z0-9]{16,}`, Mark},
		{"eyj", `\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*`, Mark},
	} {
		s.all = append(s.all, shape{hint: it[0], find: regexp.MustCompile(it[1]), with: it[2]})
	}
	return s
}

// String returns text with Mark in the place of what looks like a secret.
func (s Shapes) String(text string) string {
	lower := ""
	for _, it := range s.all {
		if lower == "" {
			lower = strings.ToLower(text)
		}
		if strings.Contains(lower, it.hint) {
			text = it.find.ReplaceAllString(text, it.with)
		}
	}
	return text
}
