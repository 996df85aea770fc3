package source

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing/transport"
	githttp "github.com/go-git/go-git/v5/plumbing/transport/http"
)

// newHTTP returns the client of one remote, whose certificate chains to roots; nil for those of the system. It keeps the
// connection open between polls.
func newHTTP(timeout time.Duration, roots *x509.CertPool) transport.Transport {
	return githttp.NewClient(&http.Client{Transport: bounded{&http.Transport{
		TLSClientConfig:       &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: timeout}).DialContext,
		ForceAttemptHTTP2:     true,
		MaxIdleConnsPerHost:   1,
		IdleConnTimeout:       2 * time.Minute,
		TLSHandshakeTimeout:   timeout,
		ResponseHeaderTimeout: transferFactor * timeout, // a large pack is counted before its first byte
	}}})
}

// rootsOf returns the system's roots and those of a PEM file; nil where none is named.
func rootsOf(file string) (*x509.CertPool, error) {
	if file == "" {
		return nil, nil //nolint:nilnil // the system's
	}
	pem, err := os.ReadFile(file) //nolint:gosec // the operator names it
	if err != nil {
		return nil, fmt.Errorf("read the certificates that the repository's may chain to: %w", err)
	}
	roots, err := x509.SystemCertPool()
	if err != nil {
		roots = x509.NewCertPool()
	}
	if !roots.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%s: no certificate in PEM", file)
	}
	return roots, nil
}

// refusal is an answer that is none to the question.
type refusal struct {
	text string
	// after is how long the server wants to be left alone; 0 where it does not say.
	after time.Duration
}

func (r *refusal) Error() string { return r.text }

// maxQuiet bounds how long a server is left alone on its own word.
const maxQuiet = 15 * time.Minute

// refused returns what is wrong with an answer; nil where the library can go on with it.
func refused(req *http.Request, res *http.Response) *refusal {
	const discovery = "application/x-git-upload-pack-advertisement"
	switch kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type")); res.StatusCode {
	case http.StatusOK:
		switch {
		case req.Method != http.MethodGet || kind == discovery:
			return nil
		case kind == "text/plain" && strings.HasSuffix(req.URL.Path, "/info/refs"):
			return &refusal{text: "the server hands out files and runs no git (the dumb protocol): serve it with git http-backend"}
		}
		return &refusal{text: fmt.Sprintf("what answers there is no git repository (%s): check the URL", cmp.Or(kind, "no content"))}
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound,
		http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect,
		http.StatusPermanentRedirect:
		return nil
	}
	r := &refusal{text: "the server answers " + res.Status}
	if seconds, err := strconv.Atoi(res.Header.Get("Retry-After")); err == nil && seconds > 0 {
		r.after = min(time.Duration(seconds)*time.Second, maxQuiet)
		r.text += fmt.Sprintf(" and wants to be left alone for %s", r.after)
	}
	return r
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
	if r := refused(req, res); r != nil {
		_ = body.Close()
		return nil, r
	}
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
