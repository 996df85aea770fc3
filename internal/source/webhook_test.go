package source_test

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/tidelock/tidelock/internal/source"
)

const (
	secret = "known-answer-secret"
	// event has two blanks in a row, a raw letter of two bytes and an escape: only the bytes as sent give known.
	event = "{\"ref\":\"refs/heads/main\",  \"note\":\"caf\xc3\xa9 \\u00e9\"}\n"
	known = "sha256=2301af6cfcc4acf2a338049592edddbe1648ad1e0702e9e7eea1a1f79929f8ca"
)

func sign(body string) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(body))
	return "sha256=" + hex.EncodeToString(mac.Sum(nil))
}

func post(t *testing.T, h http.Handler, body io.Reader, header ...string) int {
	t.Helper()
	req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/hook", body)
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	res := httptest.NewRecorder()
	h.ServeHTTP(res, req)
	return res.Code
}

// hooked returns a source that Run polls only when it is told to, its webhook, and how many times it has polled since.
func hooked(t *testing.T, f *fixture, ref string) (*source.Source, http.Handler, func() int) {
	t.Helper()
	remote := serveHTTP(t, f)
	s := open(t, source.Config{Repository: remote.repo(), Ref: ref, Interval: time.Hour})
	h, err := s.Webhook([]byte(secret))
	if err != nil {
		t.Fatal(err)
	}
	running(t, s)
	eventually(t, s, "the first look", func() bool {
		rev, _, _ := s.Head(t.Context())
		return rev.Commit != ""
	})
	remote.asked()
	return s, h, func() int {
		polls := 0
		requests, _ := remote.asked()
		for _, r := range requests {
			if strings.HasPrefix(r, http.MethodGet) {
				polls++
			}
		}
		return polls
	}
}

func TestOnlySignedEventsAreTaken(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.push("a.yaml", configMap("a", "1"))
	s, h, polls := hooked(t, f, "main")
	legacy := hmac.New(sha1.New, []byte(secret))
	legacy.Write([]byte(event))
	for name, test := range map[string]struct {
		body   io.Reader
		header []string
		want   int
	}{
		"no signature":      {strings.NewReader(event), nil, http.StatusUnauthorized},
		"a digit is wrong":  {strings.NewReader(event), []string{"X-Hub-Signature-256", known[:len(known)-1] + "b"}, http.StatusUnauthorized},
		"SHA-1 alone":       {strings.NewReader(event), []string{"X-Hub-Signature", "sha1=" + hex.EncodeToString(legacy.Sum(nil))}, http.StatusUnauthorized},
		"a byte is missing": {strings.NewReader(event[:len(event)-1]), []string{"X-Hub-Signature-256", known}, http.StatusUnauthorized},
		"64 MiB":            {bytes.NewReader(make([]byte, 64<<20)), []string{"X-Hub-Signature-256", known}, http.StatusRequestEntityTooLarge},
		"64 MiB in chunks":  {io.MultiReader(bytes.NewReader(make([]byte, 64<<20))), []string{"X-Hub-Signature-256", known}, http.StatusRequestEntityTooLarge},
		"signed, no JSON":   {strings.NewReader("ref=x"), []string{"X-Hub-Signature-256", sign("ref=x")}, http.StatusBadRequest},
		"signed, a ping":    {strings.NewReader(event), []string{"X-Hub-Signature-256", known, "X-GitHub-Event", "ping"}, http.StatusAccepted},
	} {
		if got := post(t, h, test.body, test.header...); got != test.want {
			t.Errorf("%s: answer is %d, want %d", name, got, test.want)
		}
	}
	head := f.push("a.yaml", configMap("a", "2"))
	if got := post(t, h, strings.NewReader(event), "X-Hub-Signature-256", known, "X-GitHub-Event", "push"); got != http.StatusAccepted {
		t.Errorf("a signed push: answer is %d", got)
	}
	eventually(t, s, "the push", atCommit(t, s, head))
	if n := polls(); n != 1 {
		t.Errorf("the remote was asked %d times, want once: for the push alone", n)
	}
	if _, err := s.Webhook(nil); err == nil {
		t.Error("a webhook without a secret was made")
	}
}

func TestAnEventIsForTheRefOfItsWholeName(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.push("a.yaml", configMap("a", "1"))
	f.git("branch", "eu1")
	f.git("checkout", "-q", "-b", "env/eu1")
	f.git("tag", "v1")
	f.git("push", "-q", "origin", "eu1", "env/eu1", "v1")
	push := func(h http.Handler, ref string) {
		body := fmt.Sprintf(`{"ref":%q,"repository":{"clone_url":"https://git.example.test/team/mocks.git"}}`, ref)
		if got := post(t, h, strings.NewReader(body), "X-Hub-Signature-256", sign(body)); got != http.StatusAccepted {
			t.Errorf("%s: answer is %d", ref, got)
		}
	}
	slash, slashHook, slashPolls := hooked(t, f, "env/eu1")
	_, plainHook, plainPolls := hooked(t, f, "eu1")
	tag, tagHook, tagPolls := hooked(t, f, "v1")
	for _, h := range []http.Handler{slashHook, plainHook, tagHook} {
		push(h, "refs/tags/env/eu1")
		push(h, "refs/heads/other/env/eu1")
		push(h, "refs/heads/v1")
	}
	head := f.push("a.yaml", configMap("a", "2"))
	f.git("tag", "-f", "v1")
	f.git("push", "-q", "-f", "origin", "v1")
	push(slashHook, "refs/heads/env/eu1")
	push(plainHook, "refs/heads/env/eu1")
	push(tagHook, "refs/tags/v1")
	eventually(t, slash, "the push", atCommit(t, slash, head))
	eventually(t, tag, "the moved tag", atCommit(t, tag, head))
	for name, got := range map[string][2]int{
		"env/eu1": {slashPolls(), 1}, "eu1": {plainPolls(), 0}, "v1": {tagPolls(), 1},
	} {
		if got[0] != got[1] {
			t.Errorf("the source of %s asked %d times, want %d", name, got[0], got[1])
		}
	}
}

func TestEachForgeTellsOfAPushInItsOwnWay(t *testing.T) {
	t.Parallel()
	const ping = `{"zen":"x","changes":{"title":{"from":"x"}}}`
	form := url.Values{"payload": {event}}.Encode()
	cloud := `{"push":{"changes":[{"new":null,"old":{"type":"branch","name":"main"}}]}}`
	server := `{"changes":[{"ref":{"id":"refs/heads/main"},"refId":"refs/heads/main","type":"UPDATE"}]}`
	for name, test := range map[string]struct {
		body   string
		header []string
		code   int
		polls  int
		reason string
	}{
		"GitHub, as a form": {
			form,
			[]string{"X-Hub-Signature-256", sign(form), "Content-Type", "application/x-www-form-urlencoded"},
			http.StatusAccepted, 1, "its default content type; the signature is over the form",
		},
		"GitHub, edited": {
			ping,
			[]string{"X-Hub-Signature-256", sign(ping), "X-GitHub-Event", "issues"},
			http.StatusAccepted, 0, "changes is an object there, and no push",
		},
		"GitLab":                    {event, []string{"X-Gitlab-Token", secret}, http.StatusAccepted, 1, "it sends the secret itself"},
		"GitLab, a wrong token":     {event, []string{"X-Gitlab-Token", secret + "x"}, http.StatusUnauthorized, 0, "not the secret"},
		"GitLab, a pipeline":        {`{"ref":"main"}`, []string{"X-Gitlab-Token", secret}, http.StatusAccepted, 0, "no full name"},
		"Bitbucket's cloud":         {cloud, []string{"X-Hub-Signature", sign(cloud)}, http.StatusAccepted, 1, "a branch that was deleted"},
		"Bitbucket's server":        {server, []string{"X-Hub-Signature", sign(server)}, http.StatusAccepted, 1, "its own shape"},
		"signed, and not by GitLab": {event, []string{"X-Hub-Signature-256", known, "X-Gitlab-Token", "x"}, http.StatusUnauthorized, 0, "one of the two is a lie"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			f.push("a.yaml", configMap("a", "1"))
			s, h, polls := hooked(t, f, "main")
			head := f.push("a.yaml", configMap("a", "2"))
			if got := post(t, h, strings.NewReader(test.body), test.header...); got != test.code {
				t.Fatalf("answer is %d, want %d: %s", got, test.code, test.reason)
			}
			if test.polls > 0 {
				eventually(t, s, test.reason, atCommit(t, s, head))
			}
			if n := polls(); n != test.polls {
				t.Errorf("the remote was asked %d times, want %d: %s", n, test.polls, test.reason)
			}
		})
	}
}

func FuzzWebhook(f *testing.F) {
	f.Add(event, known)
	f.Add("{}", sign("{}"))
	f.Add(`{"ref":1}`, "sha256=")
	s, err := source.Open(f.Context(), source.Config{Repository: f.TempDir(), DataDir: f.TempDir()})
	if err != nil {
		f.Fatal(err)
	}
	h, err := s.Webhook([]byte(secret))
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, body, signature string) {
		got := post(t, h, strings.NewReader(body), "X-Hub-Signature-256", signature)
		if got == http.StatusAccepted && !strings.EqualFold(signature, sign(body)) {
			t.Errorf("%q with signature %q was taken", body, signature)
		}
	})
}
