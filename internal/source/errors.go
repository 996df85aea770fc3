package source

import (
	"context"
	"encoding/base64"
	"errors"
	"net/url"
	"slices"
	"strings"
)

// What a caller decides on. Each comes wrapped with what was asked, where, and how to mend it.
var (
	// ErrUnknownRef says that the repository has no such branch, tag or commit (any more).
	ErrUnknownRef = errors.New("unknown ref")
	// ErrEmptyRepository says that the repository has no commit yet.
	ErrEmptyRepository = errors.New("empty repository")
	// ErrUnreachable says that the repository cannot be read now: network, access, a folder that is not there.
	ErrUnreachable = errors.New("unreachable repository")
	// ErrUnknownCommit says that a commit is neither kept nor to be had from the repository.
	ErrUnknownCommit = errors.New("unknown commit")
	// ErrLink says that a path is, or leads through, a symbolic link.
	ErrLink = errors.New("is a symbolic link, which the source does not follow")
)

// failure is an error of a kind of ours whose text is complete. It keeps no other error, which might print a credential.
type failure struct {
	kind error
	text string
}

func (f *failure) Error() string { return f.text }
func (f *failure) Unwrap() error { return f.kind }

// redactor takes credentials out of texts.
type redactor struct {
	secrets []string
}

func newRedactor(secrets ...string) redactor {
	var r redactor
	for _, s := range secrets {
		if s == "" {
			continue
		}
		r.secrets = append(r.secrets, s, url.QueryEscape(s), url.PathEscape(s), base64.StdEncoding.EncodeToString([]byte(s)))
	}
	slices.SortFunc(r.secrets, func(a, b string) int { return len(b) - len(a) })
	return r
}

func (r redactor) text(s string) string {
	for _, secret := range r.secrets {
		s = strings.ReplaceAll(s, secret, "***")
	}
	return strings.Map(printable, s)
}

// printable keeps what another machine wrote from moving the cursor of a terminal.
func printable(r rune) rune {
	switch {
	case r == '\n' || r == '\t':
		return ' '
	case r < ' ' || r == 0x7f:
		return -1
	}
	return r
}

// fail returns an error of kind that says "what: why". A cancelled ctx stays recognisable, and is no fault of the
// repository.
func (r redactor) fail(ctx context.Context, kind error, what string, why error) error {
	if err := ctx.Err(); err != nil {
		return &failure{kind: err, text: what + ": " + err.Error()}
	}
	if f := (*failure)(nil); errors.As(why, &f) {
		return &failure{kind: f.kind, text: what + ": " + r.text(f.text)}
	}
	return &failure{kind: kind, text: what + ": " + r.text(why.Error())}
}
