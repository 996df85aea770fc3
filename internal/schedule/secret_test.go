package schedule

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/tidelock/tidelock/internal/redact"
)

// An admission plugin quotes what it refuses. Whatever is said of a run, a secret is not in it.
func TestNoSecretIsTold(t *testing.T) {
	t.Parallel()
	const secret = "hunter22"
	synctest.Test(t, func(t *testing.T) {
		c := newCluster()
		c.fault = func(op string) (bool, error) {
			if op == "create" {
				return false, fmt.Errorf("%w: the token %s is known to all", ErrRefused, secret)
			}
			if op == "load" && c.requests[op] == 1 {
				return false, fmt.Errorf("no answer for %s", secret)
			}
			return true, nil
		}
		hidden, logs := &redact.Shared{}, &bytes.Buffer{}
		hidden.Set(redact.New(secret))
		d := startWith(t.Context(), Config{
			Jobs: c, Sight: c, Ledger: c, Events: c, Hidden: hidden,
			Logger: slog.New(hidden.Handler(slog.NewTextHandler(logs, &slog.HandlerOptions{Level: slog.LevelDebug}))),
		}, at("a", "0 * * * *"))
		until(t, "2000-01-01T01:30:00")
		c.mu.Lock()
		c.fault = func(op string) (bool, error) {
			if op == "create" {
				return false, fmt.Errorf("no space for %s", secret)
			}
			return true, nil
		}
		c.mu.Unlock()
		until(t, "2000-01-01T02:30:00")
		shown, _ := d.Standing(key("a"))
		d.end()
		said := fmt.Sprintf("%+v %+v %s", shown, c.events, logs)
		for _, p := range c.pages {
			said += string(p.Data)
		}
		if strings.Contains(said, secret) {
			t.Errorf("said: %s", said)
		}
		for _, want := range []string{"the token *** is known", "no space for ***", "no answer for ***"} {
			if !strings.Contains(said, want) {
				t.Errorf("want %q in: %s", want, said)
			}
		}
		if len(c.events) == 0 {
			t.Error("no event was written")
		}
	})
}
