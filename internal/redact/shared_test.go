package redact_test

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/tidelock/tidelock/internal/redact"
)

type lazy struct{}

func (lazy) LogValue() slog.Value { return slog.StringValue("lazily hunter22") }

func TestALogHidesWhatTheProcessHides(t *testing.T) {
	t.Parallel()
	var hidden redact.Shared
	var out bytes.Buffer
	log := slog.New(hidden.Handler(slog.NewTextHandler(&out, nil)))
	log.Info("told hunter22 before it was a secret")
	if !strings.Contains(out.String(), "hunter22") {
		t.Errorf("the zero value hides: %s", out.String())
	}
	out.Reset()
	hidden.Set(redact.New("hunter22"))
	log.With(slog.String("with", "hunter22")).WithGroup("in").Info("message hunter22",
		slog.String("text", "a hunter22"), slog.Any("error", errors.New("denied: hunter22")), slog.Any("lazy", lazy{}),
		slog.Group("group", slog.String("deep", "hunter22")), slog.Any("map", map[string]string{"k": "hunter22"}),
		slog.Int("number", 5), slog.Any("plain", errors.New("as it is")))
	got := out.String()
	if strings.Contains(got, "hunter22") || strings.Count(got, redact.Mark) != 7 {
		t.Errorf("hidden %d times, want 7: %s", strings.Count(got, redact.Mark), got)
	}
	for _, kept := range []string{"in.number=5", `in.plain="as it is"`, "in.group.deep=***"} {
		if !strings.Contains(got, kept) {
			t.Errorf("no %s: %s", kept, got)
		}
	}
}

func TestNoRedactorHidesNothing(t *testing.T) {
	t.Parallel()
	var none *redact.Shared
	none.Set(redact.New("hunter22"))
	if got := none.String("hunter22"); got != "hunter22" {
		t.Errorf("got %q", got)
	}
}
