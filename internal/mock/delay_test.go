package mock

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidelock/tidelock/api/v1alpha1"
)

func TestAnswersAreDelayedAsAskedFor(t *testing.T) {
	h, err := NewHandler(bundle(t, "testdata/accept/openapi.yaml"), v1alpha1.MockServer{Delay: "100ms-300ms"})
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		seen := map[time.Duration]bool{}
		for range 10 {
			start := time.Now()
			if w := ask(t, h, "GET /plain", ""); w.Code != http.StatusOK {
				t.Errorf("status %d", w.Code)
			}
			took := time.Since(start)
			seen[took] = true
			if took < 100*time.Millisecond || took > 300*time.Millisecond {
				t.Errorf("an answer took %v", took)
			}
		}
		if len(seen) < 5 {
			t.Errorf("ten answers took only %d different times", len(seen))
		}

		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		start, w := time.Now(), httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequestWithContext(ctx, http.MethodGet, "/plain", strings.NewReader("")))
		if took := time.Since(start); took != 50*time.Millisecond || w.Body.Len() > 0 {
			t.Errorf("a client that is gone after 50ms was answered %q after %v", w.Body, took)
		}
	})
}
