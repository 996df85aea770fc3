package source

import (
	"errors"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/go-git/go-git/v5/plumbing/transport"
	githttp "github.com/go-git/go-git/v5/plumbing/transport/http"
)

// newHTTP returns the client of one remote. It keeps the connection open between polls.
func newHTTP(timeout time.Duration) transport.Transport {
	return githttp.NewClient(&http.Client{Transport: bounded{&http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: timeout}).DialContext,
		ForceAttemptHTTP2:     true,
		MaxIdleConnsPerHost:   1,
		IdleConnTimeout:       2 * time.Minute,
		TLSHandshakeTimeout:   timeout,
		ResponseHeaderTimeout: transferFactor * timeout, // a large pack is counted before its first byte
	}}})
}

// bounded cuts answers off: refusals, which the library reads whole into its error, and lists of refs.
type bounded struct {
	next http.RoundTripper
}

func (b bounded) RoundTrip(req *http.Request) (*http.Response, error) {
	res, err := b.next.RoundTrip(req)
	if err != nil {
		return nil, err //nolint:wrapcheck // the http client wraps it
	}
	body := res.Body
	var r io.Reader
	switch {
	case res.StatusCode != http.StatusOK:
		r = io.LimitReader(body, maxRefusal)
	case req.Method == http.MethodGet:
		r = &limited{r: body, n: maxRefs, err: errors.New("the list of refs is too large")}
	default:
		r = &limited{r: body, n: maxPack, err: errors.New("the pack is too large")}
	}
	res.Body = struct {
		io.Reader
		io.Closer
	}{r, body}
	return res, nil
}

func openHTTP(client transport.Transport, loc location, auth Auth) (session, error) {
	ep, err := transport.NewEndpoint(loc.url.String())
	if err != nil {
		return nil, errors.New("this is no URL of a git repository")
	}
	var method transport.AuthMethod
	if name, password := auth.basic(); name != "" || password != "" {
		method = &githttp.BasicAuth{Username: name, Password: password}
	}
	s, err := client.NewUploadPackSession(ep, method)
	if err != nil {
		return nil, err //nolint:wrapcheck // the caller says which repository
	}
	return httpSession{s}, nil
}
