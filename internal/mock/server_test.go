package mock

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/tidelock/tidelock/api/v1alpha1"
	"github.com/tidelock/tidelock/internal/openapi"
)

// lines is a log that a test waits on.
type lines struct{ each chan map[string]any }

func (l lines) Write(p []byte) (int, error) {
	entry := map[string]any{}
	if err := json.Unmarshal(p, &entry); err != nil {
		return 0, err
	}
	l.each <- entry
	return len(p), nil
}

// wait returns the next entry with the message.
func (l lines) wait(t *testing.T, msg string) map[string]any {
	t.Helper()
	for {
		select {
		case entry := <-l.each:
			if entry["msg"] == msg {
				return entry
			}
		case <-t.Context().Done():
			t.Fatalf("no %q in the log", msg)
		}
	}
}

func serverOf(t *testing.T, file string) (*Server, lines) {
	t.Helper()
	log := lines{each: make(chan map[string]any, 1000)}
	s, err := NewServer(t.Context(), Config{
		Definition: file, Listen: "127.0.0.1:0", ListenDocs: "127.0.0.1:0",
		Logger: slog.New(slog.NewJSONHandler(log, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	running(t, s.Run)
	log.wait(t, "mock ready")
	return s, log
}

func write(t *testing.T, file string, text []byte) {
	t.Helper()
	// As editors do it: a new file in the place of the old one.
	if err := os.WriteFile(file+"~", text, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(file+"~", file); err != nil {
		t.Fatal(err)
	}
}

func TestAServerReadsWhatAConfigMapHolds(t *testing.T) {
	file := filepath.Join(t.TempDir(), openapi.ConfigMapKey)
	if err := os.WriteFile(file, packed(t, "testdata/bad-update-keeps-last-good/v1.yaml"), 0o600); err != nil {
		t.Fatal(err)
	}
	s, _ := serverOf(t, file)
	if got := fetch(t, s.Addr(), "/pet"); got != `{"id":1,"v":"one"}` {
		t.Error(got)
	}
	for _, path := range []string{"/healthz", "/readyz"} {
		if got := fetch(t, s.DocsAddr(), path); got != "ok\n" {
			t.Errorf("%s: %q", path, got)
		}
	}
	if got := fetch(t, s.Addr(), "/healthz"); !strings.Contains(got, `"status":404`) {
		t.Errorf("a path is taken from the API: %s", got)
	}
}

func TestAServerSpeaksHTTP2WithoutTLS(t *testing.T) {
	s, _ := serverOf(t, "testdata/checked/openapi.yaml")
	transport := &http.Transport{Protocols: new(http.Protocols)}
	transport.Protocols.SetUnencryptedHTTP2(true)
	defer transport.CloseIdleConnections()
	// Of unknown length, as nothing but the end of the stream says where it ends.
	body := struct{ io.Reader }{strings.NewReader(`{"name":"a"}`)}
	res, err := (&http.Client{Transport: transport}).Post("http://"+s.Addr().String()+"/v1/body", "application/json", body)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.ProtoMajor != 2 || res.StatusCode != http.StatusNoContent {
		t.Errorf("HTTP/%d, %s", res.ProtoMajor, res.Status)
	}
}

func TestAGzipBombIsRefused(t *testing.T) {
	var bomb bytes.Buffer
	w := gzip.NewWriter(&bomb)
	_, _ = w.Write(bytes.Repeat([]byte(" "), openapi.MaxDocument+1))
	_ = w.Close()
	if _, err := openapi.Unpack(bomb.Bytes()); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("over %d bytes", openapi.MaxDocument)) {
		t.Errorf("error is %v", err)
	}
}

func TestAHeaderWithoutEndIsRefusedAndTheServerLives(t *testing.T) {
	file := filepath.Join(t.TempDir(), "openapi.yaml")
	write(t, file, version(t, "v1.yaml"))
	s, _ := serverOf(t, file)
	conn, err := net.Dial("tcp", s.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_, _ = conn.Write([]byte("GET /pet HTTP/1.1\r\nHost: x\r\nX-Long: " + strings.Repeat("a", 1<<20)))
	answer := make([]byte, 64)
	n, err := conn.Read(answer)
	if err != nil || !strings.HasPrefix(string(answer[:n]), "HTTP/1.1 431 ") {
		t.Errorf("%q, %v", answer[:n], err)
	}
	if got := fetch(t, s.Addr(), "/pet"); got != `{"id":1,"v":"one"}` {
		t.Error(got)
	}
}

func TestAMountedConfigMapIsRead(t *testing.T) {
	dir := t.TempDir()
	now := filepath.Join(dir, "..2026_01_01")
	if err := os.Mkdir(now, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(now, openapi.ConfigMapKey), packed(t, "testdata/bad-update-keeps-last-good/v1.yaml"), 0o600); err != nil {
		t.Fatal(err)
	}
	// The kubelet's layout: what is mounted are links into a folder that it swaps.
	for link, to := range map[string]string{"..data": "..2026_01_01", openapi.ConfigMapKey: "..data/" + openapi.ConfigMapKey} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	s, _ := serverOf(t, filepath.Join(dir, openapi.ConfigMapKey))
	if got := fetch(t, s.Addr(), "/pet"); got != `{"id":1,"v":"one"}` {
		t.Error(got)
	}
}

func TestADefinitionOutsideItsFolderIsRefused(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "secret.yaml"), []byte("TOP: SECRET"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "api"), 0o700); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "api", "openapi.yaml")
	if err := os.Symlink("../secret.yaml", file); err != nil {
		t.Fatal(err)
	}
	_, err := NewServer(t.Context(), Config{Definition: file, Listen: "127.0.0.1:0", ListenDocs: "127.0.0.1:0"})
	if err == nil || !strings.Contains(err.Error(), "openapi.yaml") || strings.Contains(err.Error(), "SECRET") {
		t.Errorf("error is %v", err)
	}
}

func TestRequestsInFlightEndBeforeTheServerDoes(t *testing.T) {
	entered, release := make(chan struct{}), make(chan struct{})
	slow := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		close(entered)
		<-release
		say(w, http.StatusOK, "done")
	})
	ln, err := listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- serve(ctx, newHTTPServer(slow, slog.New(slog.DiscardHandler)), ln) }()
	answered := make(chan string, 1)
	go func() {
		body, err := tryFetch(t.Context(), addrPort(ln), "/")
		answered <- fmt.Sprint(body, err)
	}()
	<-entered
	end()
	close(release)
	if got := <-answered; got != "done<nil>" {
		t.Errorf("the request in flight got %s", got)
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
}

func TestARequestIsAnsweredFromOneDocument(t *testing.T) {
	docs := []openapi.Document{
		bundle(t, "testdata/bad-update-keeps-last-good/v1.yaml"),
		described(t, "{application/json: {schema: {type: string}}}", ""), // another path, another length
	}
	h, err := New(docs[0])
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	var load sync.WaitGroup
	for range 4 {
		load.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				w := httptest.NewRecorder()
				h.ServeHTTP(w, request("/pet", ""))
				length := strconv.Itoa(w.Body.Len())
				if w.Code != http.StatusNotFound && w.Body.String() != `{"id":1,"v":"one"}` || w.Header().Get("Content-Length") != length {
					t.Errorf("a mix: %d %v %s", w.Code, w.Header(), w.Body)
					return
				}
			}
		})
	}
	for i := range 200 {
		if err := h.Replace(docs[i%2], v1alpha1.MockServer{}); err != nil {
			t.Error(err)
		}
	}
	close(done)
	load.Wait()
}
