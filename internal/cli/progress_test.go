package cli

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestProgressStandsBelowTheLogAndIsGoneAtTheEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		m := &meter{out: &out, live: true}
		loop, cluster := m.part(), m.part()
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- m.Run(ctx) }()
		next := func(d time.Duration) string {
			time.Sleep(d) //nolint:forbidigo // the bubble's clock: no time passes
			synctest.Wait()
			m.mu.Lock()
			defer m.mu.Unlock()
			defer out.Reset()
			return out.String()
		}
		drawn := func(text string) string { return eraseLine + cutLines + text + wrapLines }
		check := func(reason, got, want string) {
			t.Helper()
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", reason, diff)
			}
		}

		loop("rendering a\x1b[2Jb")
		check("what is quick is not worth a line", next(450*time.Millisecond), "")
		check("what others wrote does not control the terminal", next(time.Second/4), drawn("[0s] rendering a?[2Jb"))
		cluster("applying 1 of 2 objects")
		check("of two the later part shows, from its own beginning", next(time.Second),
			drawn("[1s] rendering a?[2Jb")+drawn("[0s] applying 1 of 2 objects"))
		if _, err := m.Write([]byte("a line of the log\n")); err != nil {
			t.Fatal(err)
		}
		check("the log stands above", next(0),
			eraseLine+"a line of the log\n"+strings.TrimPrefix(drawn("[0s] applying 1 of 2 objects"), eraseLine))
		cancel()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		check("nothing is left", next(0), eraseLine)
		if _, err := m.Write([]byte("later\n")); err != nil {
			t.Fatal(err)
		}
		check("the log goes on as it is", next(time.Minute), "later\n")
	})
}

func TestProgressWithoutATerminalShowsNothing(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	m := newMeter(&out)
	if m.part() != nil {
		t.Error("parts are asked to tell what nobody sees")
	}
	if err := m.Run(t.Context()); err != nil || out.Len() > 0 {
		t.Errorf("got %q, %v; want nothing at all", out.String(), err)
	}
}
