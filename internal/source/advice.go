package source

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing/transport"
)

// advice adds how to mend what a server answers.
func (r *remoteOrigin) advice(limit context.Context, err error) error {
	if wrapped := (*url.Error)(nil); errors.As(err, &wrapped) {
		err = wrapped.Err // which URL that was is said already
	}
	unknown := x509.UnknownAuthorityError{}
	switch {
	case limit.Err() != nil:
		return fmt.Errorf("no answer within %s: is the address right, and open to this machine?", r.time)
	case errors.Is(err, transport.ErrAuthenticationRequired) && r.auth.anonymous():
		return errors.New("the server wants a login, or has no such repository: set a token, or user name and password")
	case errors.Is(err, transport.ErrAuthorizationFailed) && r.auth.anonymous():
		return errors.New("the server refuses (403): set a token, or user name and password; without, some allow few questions")
	case errors.Is(err, transport.ErrAuthenticationRequired), errors.Is(err, transport.ErrAuthorizationFailed):
		return errors.New("the server refuses these credentials: check token, user name and password, and their rights")
	case errors.Is(err, transport.ErrRepositoryNotFound):
		return errors.New("there is no such repository, or it is not shown to this user: check the URL and the credentials")
	case errors.As(err, &unknown):
		return fmt.Errorf("%w: name the file with the certificate of its authority", err)
	case strings.Contains(err.Error(), "object-format=sha256"):
		return errors.New("its objects are named by sha256, which is not supported")
	}
	return err
}

// what names the ref for messages.
func (r *remoteOrigin) what() string {
	if r.ref == "" {
		return head + " of " + r.loc.shown
	}
	return fmt.Sprintf("%q of %s", r.ref, r.loc.shown)
}

// shown is the ref as the user gave it, or the branch that HEAD stands for.
func (r *remoteOrigin) shown(found string) string {
	if r.ref == "" {
		return shortRef(found)
	}
	return r.ref
}

// fail notes until when the server wants to be left alone, too.
func (r *remoteOrigin) fail(ctx context.Context, kind error, what string, why error) error {
	if refused := (*refusal)(nil); errors.As(why, &refused) && refused.after > 0 {
		r.quiet = time.Now().Add(refused.after)
	}
	return r.hide.fail(ctx, kind, what, why)
}

// anonymous tells whether nothing to log in with was given.
func (a Auth) anonymous() bool {
	return a.Token == "" && a.Password == ""
}
