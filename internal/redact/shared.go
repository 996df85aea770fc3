package redact

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
)

// Shared is the redactor of a whole process: one goroutine says what must not show, others hide it. The zero value hides
// nothing, and so does nil.
type Shared struct {
	current atomic.Pointer[Redactor]
}

// Set replaces what is hidden. The redactor must not be added to afterwards.
func (s *Shared) Set(r *Redactor) {
	if s != nil {
		s.current.Store(r)
	}
}

// String returns text with Mark in the place of every value that is hidden.
func (s *Shared) String(text string) string {
	if s == nil {
		return text
	}
	return s.current.Load().String(text)
}

// Handler returns a handler of logs that hides what s hides, in messages and in attributes, before next sees it.
func (s *Shared) Handler(next slog.Handler) slog.Handler { return handler{next, s} }

type handler struct {
	slog.Handler

	hidden *Shared
}

// Handle passes a record on without what is hidden.
func (h handler) Handle(ctx context.Context, record slog.Record) error {
	shown := slog.NewRecord(record.Time, record.Level, h.hidden.String(record.Message), record.PC)
	record.Attrs(func(a slog.Attr) bool {
		shown.AddAttrs(h.hidden.attr(a))
		return true
	})
	return h.Handler.Handle(ctx, shown)
}

// WithAttrs returns a handler that hides too.
func (h handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return handler{h.Handler.WithAttrs(h.hidden.attrs(attrs)), h.hidden}
}

// WithGroup returns a handler that hides too.
func (h handler) WithGroup(name string) slog.Handler {
	return handler{h.Handler.WithGroup(name), h.hidden}
}

func (s *Shared) attrs(list []slog.Attr) []slog.Attr {
	out := make([]slog.Attr, len(list))
	for i, a := range list {
		out[i] = s.attr(a)
	}
	return out
}

// attr hides in what is text, or becomes text. Numbers and times are no secrets.
func (s *Shared) attr(a slog.Attr) slog.Attr {
	switch v := a.Value.Resolve(); v.Kind() {
	case slog.KindString:
		return slog.String(a.Key, s.String(v.String()))
	case slog.KindGroup:
		return slog.Attr{Key: a.Key, Value: slog.GroupValue(s.attrs(v.Group())...)}
	case slog.KindAny:
		if text := fmt.Sprintf("%+v", v.Any()); s.String(text) != text {
			return slog.String(a.Key, s.String(text))
		}
		return slog.Attr{Key: a.Key, Value: v}
	case slog.KindBool, slog.KindDuration, slog.KindFloat64, slog.KindInt64, slog.KindTime, slog.KindUint64, slog.KindLogValuer:
		return slog.Attr{Key: a.Key, Value: v}
	}
	return a
}
