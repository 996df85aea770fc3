package web

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
)

// The server answers while ctx lives, says when the instance is not ready and why, and ends with ctx.
func TestRunAnswersUntilItsContextEnds(t *testing.T) {
	t.Parallel()
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ready := make(chan error, 1)
	ready <- errors.New("the first pass is not through")
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- Run(ctx, Config{
			Listener: l,
			Ready: func() error {
				select {
				case err := <-ready:
					return err
				default:
					return nil
				}
			},
			Metrics: MetricsHandler(NewRegistry("v1")),
			XDS:     func() any { return map[string]string{"group": "edge"} },
		})
	}()

	for _, want := range []struct {
		path, body, reason string
		status             int
	}{
		{"/readyz", "the first pass is not through", "not ready says why", http.StatusServiceUnavailable},
		{"/readyz", "ok", "ready", http.StatusOK},
		{"/healthz", "ok", "alive", http.StatusOK},
		{"/xds", `{"group":"edge"}`, "what is served, as JSON", http.StatusOK},
		{"/metrics", `tidelock_build_info{go_version="go`, "metrics", http.StatusOK},
		{"/nowhere", "404", "nothing else is there", http.StatusNotFound},
	} {
		status, body := get(t, "http://"+l.Addr().String()+want.path)
		if status != want.status || !strings.Contains(body, want.body) {
			t.Errorf("%s (%s): got %d %q, want %d %q", want.path, want.reason, status, body, want.status, want.body)
		}
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("Run returned %v, want the end of its context", err)
	}
}

func get(t *testing.T, url string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(resp.Body)
	if err := errors.Join(err, resp.Body.Close()); err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}
