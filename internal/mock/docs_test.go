package mock

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/tidelock/tidelock/internal/openapi"
)

func get200(t *testing.T, url string) (http.Header, string) {
	t.Helper()
	res, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("%s: %d, %v", url, res.StatusCode, err)
	}
	return res.Header, string(body)
}

func TestThePageShowsTheDocumentAndRunsNothingOfIt(t *testing.T) {
	s, _ := serverOf(t, "testdata/checked/openapi.yaml")
	docs := "http://" + s.DocsAddr().String()
	header, page := get200(t, docs+"/")
	for _, hostile := range []string{"<script>alert", "<img", "</style><"} {
		if strings.Contains(page, hostile) {
			t.Errorf("the page holds %s of the document", hostile)
		}
	}
	for _, want := range []string{"/file/", "read-only", "curl -X POST", "X-Reason", `id="schema-Pet"`} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not show %s", want)
		}
	}
	policy := header.Get("Content-Security-Policy")
	for name, tag := range map[string]string{"style": "style", "script": "script"} {
		_, rest, _ := strings.Cut(page, "<"+tag+">")
		text, _, _ := strings.Cut(rest, "</"+tag+">")
		if !strings.Contains(policy, name+"-src '"+digest([]byte(text))+"'") {
			t.Errorf("the policy does not let the page's own %s run: %s", name, policy)
		}
	}
	if strings.Contains(page, `src="`) || strings.Contains(page, "url(") || strings.Contains(page, "<link") {
		t.Error("the page loads something")
	}
}

func TestTheDocumentIsServedAsJSONAndAsYAML(t *testing.T) {
	s, _ := serverOf(t, "testdata/31-and-yaml-types/openapi.yaml")
	docs := "http://" + s.DocsAddr().String()
	_, asJSON := get200(t, docs+"/openapi.json")
	_, text := get200(t, docs+"/openapi.yaml")
	doc, err := openapi.Bundle(t.Context(), "a.yaml", func(string) ([]byte, error) { return []byte(text), nil })
	if err != nil || string(doc.JSON) != asJSON {
		t.Errorf("the YAML is another document (%v):\n%s\n%s", err, doc.JSON, asJSON)
	}
}

func TestRequestsAreCountedByOperation(t *testing.T) {
	s, log := serverOf(t, "testdata/checked/openapi.yaml")
	for _, path := range []string{"/v1/simple/1", "/v1/simple/x?token=hidden", "/nowhere"} {
		if _, err := tryFetch(t.Context(), s.Addr(), path); err != nil {
			t.Fatal(err)
		}
	}
	_, metrics := get200(t, "http://"+s.DocsAddr().String()+"/metrics")
	for _, want := range []string{
		`tidelock_mock_requests_total{code="204",operation="GET /simple/{id}"} 1`,
		`tidelock_mock_requests_total{code="422",operation="GET /simple/{id}"} 1`,
		`tidelock_mock_requests_total{code="404",operation=""} 1`,
		`tidelock_mock_violations_total{in="path",operation="GET /simple/{id}"} 1`,
		`tidelock_mock_request_duration_seconds_count{operation="GET /simple/{id}"} 2`,
		`tidelock_mock_reloads_total{result="refused"} 0`,
	} {
		if !strings.Contains(metrics, want) {
			t.Errorf("no %s", want)
		}
	}
	log.wait(t, "request")
	entry := log.wait(t, "request")
	if entry["path"] != "/v1/simple/x" || entry["violation"] != "path id must be integer" {
		t.Errorf("the access log says %v", entry)
	}
}

func TestAServerThatIsToEndTakesRequestsMeanwhile(t *testing.T) {
	log := lines{each: make(chan map[string]any, 1000)}
	s, err := NewServer(t.Context(), Config{
		Definition: "testdata/checked/openapi.yaml", Listen: "127.0.0.1:0", ListenDocs: "127.0.0.1:0",
		ShutdownDelay: time.Second, Logger: slog.New(slog.NewJSONHandler(log, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	client := &http.Client{Transport: &http.Transport{}}
	if _, err := answerTo(client, "http://"+s.Addr().String()+"/v1/simple/1"); err != nil {
		t.Fatal(err)
	}
	end()
	log.wait(t, "mock leaving")
	res, err := client.Get("http://" + s.Addr().String() + "/v1/simple/1")
	if err != nil {
		t.Fatalf("a request on a connection that was open: %v", err)
	}
	res.Body.Close()
	if res.StatusCode != http.StatusNoContent || !res.Close {
		t.Errorf("status %d, and the connection stays: %v", res.StatusCode, !res.Close)
	}
	if got := fetch(t, s.DocsAddr(), "/readyz"); got != "ending\n" {
		t.Errorf("/readyz says %q", got)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}
