package source_test

import (
	"bytes"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh/knownhosts"

	"github.com/tidelock/tidelock/internal/source"
)

func TestHTTPLogsInAndShowsNoCredential(t *testing.T) {
	t.Parallel()
	const secret = "s3cr3t/p+ss %word"
	f := newFixture(t)
	first := f.push("a.yaml", configMap("a", "1"))
	for name, test := range map[string]struct {
		user   string
		in     *url.Userinfo // of the URL
		auth   source.Auth
		reason string
	}{
		"token": {
			"x-access-token", nil,
			source.Auth{Token: secret},
			"forges take a token as the password of any user",
		},
		"token with a user":  {"oauth2", nil, source.Auth{Token: secret, Username: "oauth2"}, "GitLab's spelling"},
		"password":           {"ann", nil, source.Auth{Username: "ann", Password: secret}, "basic authentication"},
		"password in URL":    {"ann", url.UserPassword("ann", secret), source.Auth{}, "taken from the URL"},
		"token alone in URL": {"x-access-token", url.User(secret), source.Auth{}, "a lone user of https is a token"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			remote := serveHTTP(t, f)
			remote.set(func() { remote.user, remote.password = test.user, secret })
			u, err := url.Parse(remote.repo())
			if err != nil {
				t.Fatal(err)
			}
			u.User = test.in
			var log bytes.Buffer
			cfg := source.Config{
				Repository: u.String(), Auth: test.auth, Interval: always, DataDir: t.TempDir(),
				Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})),
			}
			s := open(t, cfg)
			rev := wantHead(t, s, first, nil)
			remote.set(func() { remote.password = "another" })
			_, _, err = s.Head(t.Context())
			wantErr(t, err, source.ErrUnreachable, remote.repo(), "check token")
			remote.set(func() { remote.password, remote.down = secret, true })
			_, _, down := s.Head(t.Context())
			wantErr(t, down, source.ErrUnreachable)
			remote.set(func() { remote.down = false })
			shown := strings.Join([]string{rev.Repository, rev.String(), s.Repository(), err.Error(), down.Error(), log.String()}, "\n")
			for _, form := range []string{secret, url.QueryEscape(secret), url.PathEscape(secret)} {
				if strings.Contains(shown, form) {
					t.Errorf("the secret stands in:\n%s", shown)
				}
			}
			wantNoSecretOnDisk(t, cfg.DataDir, secret)
		})
	}
	remote := serveHTTP(t, f)
	remote.set(func() { remote.user, remote.password = "ann", secret })
	_, _, err := open(t, source.Config{Repository: remote.repo()}).Head(t.Context())
	wantErr(t, err, source.ErrUnreachable, remote.repo(), "set a token")
}

func wantNoSecretOnDisk(t *testing.T, dir, secret string) {
	t.Helper()
	err := filepath.Walk(dir, func(name string, info os.FileInfo, err error) error {
		if err != nil || info.IsDir() {
			return err
		}
		b, err := os.ReadFile(name)
		if bytes.Contains(b, []byte(secret)) || bytes.Contains(b, []byte(url.QueryEscape(secret))) {
			t.Errorf("the secret stands in %s", name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestAServerThatEchoesCredentialsIsRedacted(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		switch r.URL.Path {
		case "/pkt.git/info/refs":
			line := "ERR no access for " + user + ":" + password + " " + r.Header.Get("Authorization")
			_, _ = w.Write([]byte("001e# service=git-upload-pack\n0000"))
			_, _ = w.Write([]byte(strings.ToLower(hex4(len(line)+4)) + line))
		default:
			http.Redirect(w, r, "http://"+user+":"+password+"@127.0.0.1:1/"+password, http.StatusFound)
		}
	}))
	t.Cleanup(server.Close)
	for _, path := range []string{"/pkt.git", "/redirect.git"} {
		_, _, err := open(t, source.Config{
			Repository: server.URL + path, Auth: source.Auth{Username: "ann", Password: "hunter2"},
		}).Head(t.Context())
		wantErr(t, err, source.ErrUnreachable)
		for _, form := range []string{"hunter2", "YW5uOmh1bnRlcjI"} {
			if strings.Contains(err.Error(), form) {
				t.Errorf("%s: the secret stands in %q", path, err)
			}
		}
	}
}

func hex4(n int) string {
	const digits = "0123456789abcdef"
	return string([]byte{digits[n>>12&15], digits[n>>8&15], digits[n>>4&15], digits[n&15]})
}

func TestASilentServerIsGivenUp(t *testing.T) {
	t.Parallel()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	r := serveSSH(t)
	known := filepath.Join(t.TempDir(), "known_hosts")
	writeFile(t, known, knownhosts.Line([]string{l.Addr().String()}, r.hostKey.PublicKey())+"\n")
	for _, repository := range []string{"http://" + l.Addr().String() + "/x.git", "ssh://git@" + l.Addr().String() + "/x.git"} {
		_, _, err := open(t, source.Config{
			Repository: repository, Timeout: 50 * time.Millisecond,
			Auth: source.Auth{SSHKeyFile: r.keyFile, SSHKeyPassphrase: "open sesame", KnownHostsFile: known},
		}).Head(t.Context())
		wantErr(t, err, source.ErrUnreachable, repository, "no answer within 50ms")
	}
}

func TestSSHChecksTheHostAndFollows(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	first := f.push("a.yaml", configMap("a", "1"))
	r := serveSSH(t)
	auth := source.Auth{SSHKeyFile: r.keyFile, SSHKeyPassphrase: "open sesame", KnownHostsFile: r.knownHosts}
	cfg := source.Config{Repository: "ssh://git@" + r.addr + f.origin, Interval: always, Auth: auth}
	s := open(t, cfg)
	if rev := wantHead(t, s, first, map[string]string{"a.yaml": configMap("a", "1")}); rev.Repository != cfg.Repository {
		t.Errorf("repository is %q", rev.Repository)
	}
	second := f.push("a.yaml", configMap("a", "2"))
	wantHead(t, s, second, map[string]string{"a.yaml": configMap("a", "2")})
	f.git("push", "-q", "-f", "origin", first+":refs/heads/main")
	wantHead(t, s, first, nil)

	for name, test := range map[string]struct {
		change func(*source.Config)
		parts  []string
	}{
		"the host is not known": {
			func(c *source.Config) {
				c.Auth.KnownHostsFile = filepath.Join(t.TempDir(), "empty")
				writeFile(t, c.Auth.KnownHostsFile, "")
			}, []string{"host key", "ssh-keyscan", "empty"},
		},
		"there is no such file": {
			func(c *source.Config) { c.Auth.KnownHostsFile = "/nowhere/known_hosts" },
			[]string{"/nowhere/known_hosts", "ssh-keyscan"},
		},
		"the host has another key": {
			func(c *source.Config) {
				other, _ := newKey(t, "")
				c.Auth.KnownHostsFile = filepath.Join(t.TempDir(), "changed")
				writeFile(t, c.Auth.KnownHostsFile, knownhosts.Line([]string{r.addr}, other.PublicKey())+"\n")
			}, []string{"not the one in known_hosts"},
		},
		"the passphrase is wrong":   {func(c *source.Config) { c.Auth.SSHKeyPassphrase = "sesame close" }, []string{r.keyFile, "wrong"}},
		"the passphrase is missing": {func(c *source.Config) { c.Auth.SSHKeyPassphrase = "" }, []string{r.keyFile, "encrypted"}},
		"the key is not let in": {
			func(c *source.Config) {
				_, pem := newKey(t, "")
				c.Auth.SSHKeyFile, c.Auth.SSHKeyPassphrase = filepath.Join(t.TempDir(), "other"), ""
				writeFile(t, c.Auth.SSHKeyFile, string(pem))
			}, []string{"log in", "unable to authenticate"},
		},
		"there is no such repository": {
			func(c *source.Config) { c.Repository += ".none" }, []string{"does not appear to be a git repository"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := cfg
			c.DataDir = t.TempDir()
			test.change(&c)
			_, _, err := open(t, c).Head(t.Context())
			wantErr(t, err, source.ErrUnreachable, append(test.parts, c.Repository)...)
			if strings.Contains(err.Error(), "sesame") {
				t.Errorf("the passphrase stands in %q", err)
			}
		})
	}
}

func TestHostsAreKnownInEveryFormOfTheirFile(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	first := f.push("a.yaml", configMap("a", "1"))
	r := serveSSH(t)
	other, _ := newKey(t, "")
	host, key := knownhosts.Normalize(r.addr), r.hostKey.PublicKey()
	for name, test := range map[string]struct{ file, refused string }{
		"hashed":           {knownhosts.Line([]string{knownhosts.HashHostname(host)}, key), ""},
		"a pattern":        {knownhosts.Line([]string{"elsewhere," + strings.Replace(host, "127.0.0.1", "127.*", 1)}, key), ""},
		"several of a key": {knownhosts.Line([]string{host}, other.PublicKey()) + "\n" + knownhosts.Line([]string{host}, key), ""},
		"an authority":     {"@cert-authority " + knownhosts.Line([]string{host}, r.authority.PublicKey()), ""},
		"revoked":          {"@revoked " + knownhosts.Line([]string{"*"}, key) + "\n" + knownhosts.Line([]string{host}, key), "revoked"},
		"another's":        {"@cert-authority " + knownhosts.Line([]string{host}, other.PublicKey()), "no authorities"},
		"another port":     {knownhosts.Line([]string{"127.0.0.1"}, key), "ssh-keyscan"},
		"not in that form": {"127.0.0.1 ssh-ed25519\n", "known_hosts"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			known := filepath.Join(t.TempDir(), "known_hosts")
			writeFile(t, known, "# comment\n\n"+test.file+"\n")
			s := open(t, source.Config{
				Repository: "ssh://git@" + r.addr + f.origin,
				Auth:       source.Auth{SSHKeyFile: r.keyFile, SSHKeyPassphrase: "open sesame", KnownHostsFile: known},
			})
			if test.refused == "" {
				wantHead(t, s, first, nil)
				return
			}
			_, _, err := s.Head(t.Context())
			wantErr(t, err, source.ErrUnreachable, test.refused)
		})
	}
}

func TestOpenRefusesWhatCannotBeRight(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		cfg    source.Config
		part   string
		reason string
	}{
		"no repository":    {source.Config{}, "no repository", "nothing to follow"},
		"unknown scheme":   {source.Config{Repository: "git://h/x.git"}, `"git"`, "it is neither encrypted nor authenticated"},
		"remote file URL":  {source.Config{Repository: "file://host/x.git"}, "file:///", "a file URL is local"},
		"no path":          {source.Config{Repository: "https://host"}, "path is missing", "a host is no repository"},
		"broken URL":       {source.Config{Repository: "https://ann:pass%word@h/x"}, "percent-encoded", "it may hold a password"},
		"hostile ref":      {source.Config{Repository: ".", Ref: "../../etc/passwd"}, "no name of a branch", "a path is no ref"},
		"ref with a blank": {source.Config{Repository: ".", Ref: "a b"}, "no name of a branch", "git knows none"},
		"hostile name":     {source.Config{Repository: ".", Name: "../x"}, "name", "it becomes part of a ref"},
		"negative":         {source.Config{Repository: ".", Interval: -1}, "negative", "time goes on"},
	} {
		_, err := source.Open(t.Context(), test.cfg)
		if err == nil || !strings.Contains(err.Error(), test.part) || strings.Contains(err.Error(), "pass%word") {
			t.Errorf("%s: error is %v, want one with %q: %s", name, err, test.part, test.reason)
		}
	}
	for _, repository := range []string{"git@host:team/x.git", "host:x.git", "ssh://host/~ann/x.git", "https://host:8443/x.git"} {
		if _, err := source.Open(t.Context(), source.Config{Repository: repository}); err != nil {
			t.Errorf("%s: %v", repository, err)
		}
	}
}
