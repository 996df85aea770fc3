package source_test

import (
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/tidelock/tidelock/internal/source"
)

func TestAnAnswerThatIsNoneSaysWhatToMend(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		status int
		kind   string
		auth   source.Auth
		want   string
		reason string
	}{
		"a page to log in":    {http.StatusOK, "text/html", source.Auth{}, "check the URL", "a proxy of the company answers"},
		"files":               {http.StatusOK, "text/plain", source.Auth{}, "git http-backend", "a web server hands out a bare repository"},
		"nothing":             {http.StatusNoContent, "", source.Auth{}, "204 No Content", "a health check answers"},
		"a broken server":     {http.StatusBadGateway, "text/html", source.Auth{}, "answers 502 Bad Gateway", "its own words, once"},
		"forbidden to nobody": {http.StatusForbidden, "", source.Auth{}, "set a token", "GitHub lets few questions through without"},
		"forbidden":           {http.StatusForbidden, "", source.Auth{Token: "s3cret"}, "rights", "a token that may not read"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", test.kind)
				w.WriteHeader(test.status)
			}))
			t.Cleanup(server.Close)
			_, _, err := open(t, source.Config{Repository: server.URL + "/x.git", Auth: test.auth}).Head(t.Context())
			wantErr(t, err, source.ErrUnreachable, test.want)
			if n := strings.Count(err.Error(), server.URL); n != 1 {
				t.Errorf("the URL stands %d times in %q: %s", n, err, test.reason)
			}
		})
	}
}

func TestAServerThatAsksForQuietGetsIt(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	first := f.push("a.yaml", configMap("a", "1"))
	remote := serveHTTP(t, f)
	var tired atomic.Bool
	var asked atomic.Int32
	server := front(t, remote, func(w http.ResponseWriter, _ *http.Request) bool {
		asked.Add(1)
		if tired.Load() {
			w.Header().Set("Retry-After", "3600")
			http.Error(w, "slow down", http.StatusTooManyRequests)
		}
		return tired.Load()
	})
	s := open(t, source.Config{Repository: server.URL + "/origin.git/", Interval: always}) // a slash too many is none
	wantHead(t, s, first, nil)
	tired.Store(true)
	asked.Store(0)
	for range 3 {
		rev, _, err := s.Head(t.Context())
		wantErr(t, err, source.ErrUnreachable, "429", "left alone for 15m0s")
		if rev.Commit != first {
			t.Errorf("with the error came %s", rev)
		}
	}
	if n := asked.Load(); n != 1 {
		t.Errorf("the server was asked %d times, want once", n)
	}
}

func TestACertificateOfTheHouseIsTrustedByItsFile(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	first := f.push("a.yaml", configMap("a", "1"))
	remote := serveHTTP(t, f)
	backend, err := url.Parse(remote.URL)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewTLSServer(httputil.NewSingleHostReverseProxy(backend))
	t.Cleanup(server.Close)
	ca := filepath.Join(t.TempDir(), "ca.pem")
	writeFile(t, ca, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})))
	cfg := source.Config{Repository: server.URL + "/origin.git", CAFile: ca}
	wantHead(t, open(t, cfg), first, nil)
	cfg.CAFile = ""
	_, _, err = open(t, cfg).Head(t.Context())
	wantErr(t, err, source.ErrUnreachable, "certificate of its authority")
	for _, file := range []string{filepath.Join(t.TempDir(), "none"), filepath.Join(f.dev, "a.yaml")} {
		cfg.CAFile = file
		if _, err := source.Open(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), file) {
			t.Errorf("%s: error is %v", file, err)
		}
	}
}

func TestARepositoryOfSHA256IsRefusedByName(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	dir := filepath.Dir(f.origin)
	f.run(dir, "init", "-q", "--bare", "--object-format=sha256", "-b", "main", "new.git")
	f.run(dir, "init", "-q", "--object-format=sha256", "-b", "main", "work")
	f.run(dir+"/work", "commit", "-q", "--allow-empty", "-m", "first")
	f.run(dir+"/work", "push", "-q", dir+"/new.git", "HEAD:main")
	remote := serveHTTP(t, f)
	for _, repository := range []string{remote.URL + "/new.git", dir + "/new.git"} {
		_, _, err := open(t, source.Config{Repository: repository}).Head(t.Context())
		wantErr(t, err, source.ErrUnreachable, "named by sha256, which is not supported")
	}
}

// front stands before a remote; what own answers does not reach it.
func front(t *testing.T, remote *httpRemote, own func(http.ResponseWriter, *http.Request) bool) *httptest.Server {
	t.Helper()
	backend, err := url.Parse(remote.URL)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(backend)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !own(w, r) {
			proxy.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(server.Close)
	return server
}
