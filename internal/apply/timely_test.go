package apply

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func TestARequestThatIsNotAnsweredEndsAndAWatchDoesNot(t *testing.T) {
	t.Parallel()
	const limit = 50 * time.Millisecond
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/silent":
			<-r.Context().Done()
		case r.URL.Path == "/half" || r.URL.Query().Has("watch"):
			w.WriteHeader(http.StatusOK)
			_ = http.NewResponseController(w).Flush()
			timer := time.NewTimer(2 * limit)
			defer timer.Stop()
			select {
			case <-timer.C:
			case <-r.Context().Done():
			}
			_, _ = io.WriteString(w, "the rest")
		default:
			_, _ = io.WriteString(w, "all of it")
		}
	}))
	defer server.Close()
	cl := &http.Client{Transport: timely{next: &http.Transport{}, limit: limit}}
	ask := func(path string) (string, error) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+path, http.NoBody)
		if err != nil {
			return "", err
		}
		res, err := cl.Do(req)
		if err != nil {
			return "", err
		}
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		return string(text), err
	}
	if _, err := ask("/silent"); err == nil || !strings.Contains(err.Error(), "did not answer within 50ms") {
		t.Errorf("no answer at all: %v", err)
	}
	if _, err := ask("/half"); err == nil {
		t.Error("half an answer is waited for")
	}
	if text, err := ask("/"); err != nil || text != "all of it" {
		t.Errorf("an answer: %q, %v", text, err)
	}
	if text, err := ask("/list?watch=true"); err != nil || text != "the rest" {
		t.Errorf("a watch: %q, %v", text, err)
	}
}
