//go:build e2e

package e2e

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tidelock/tidelock/test/env"
)

// A remote over HTTP that is polled once an hour is followed at once when its forge tells of a push; an event that is not
// signed is refused.
func TestPushEventIsFollowedAtOnce(t *testing.T) {
	t.Parallel()
	r := env.NewRepo(t)
	srv := httptest.NewServer(gitBackend(t, filepath.Dir(r.Bare)))
	t.Cleanup(srv.Close)
	d := newDaemon(t, r)
	d.repo = srv.URL + "/origin.git"
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("known-answer\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	d.extra = []string{"--webhook-secret-file", secret, "--ref", "main", "--interval", "1h"}
	d.settledAfterStart(t, r.Push(t, files{"a.yaml": configMap(d.namespace, "a", "1")}))

	commit := r.Push(t, files{"a.yaml": configMap(d.namespace, "a", "2")})
	body := `{"ref":"refs/heads/main","after":"` + commit + `"}`
	if status := d.tell(t, body, "sha256=00"); status != http.StatusUnauthorized {
		t.Errorf("an event with a wrong signature: status %d, want 401", status)
	}
	mac := hmac.New(sha256.New, []byte("known-answer"))
	mac.Write([]byte(body))
	if status := d.tell(t, body, "sha256="+hex.EncodeToString(mac.Sum(nil))); status != http.StatusAccepted {
		t.Errorf("a signed event: status %d, want 202", status)
	}
	d.settled(t, commit)
	wantData(t, d, "a", "2")
}

// tell posts a push event and returns the status.
func (d *daemon) tell(t *testing.T, body, signature string) int {
	t.Helper()
	url := fmt.Sprintf("http://127.0.0.1:%d/webhook", d.webPort)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-GitHub-Event", "push")
	req.Header.Set("X-Hub-Signature-256", signature)
	resp, err := (&http.Client{Timeout: patience}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	if err := resp.Body.Close(); err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode
}

// gitBackend serves the repositories of a folder as git's own smart HTTP server does.
func gitBackend(t *testing.T, root string) http.Handler {
	t.Helper()
	out, err := exec.CommandContext(context.WithoutCancel(t.Context()), "git", "--exec-path").Output()
	if err != nil {
		t.Fatal(err)
	}
	return &cgi.Handler{
		Path: filepath.Join(strings.TrimSpace(string(out)), "git-http-backend"),
		Env:  []string{"GIT_PROJECT_ROOT=" + root, "GIT_HTTP_EXPORT_ALL=1", "GIT_CONFIG_GLOBAL=/dev/null"},
	}
}
