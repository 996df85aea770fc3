package apply

import (
	"context"
	"log/slog"
	"sync"
)

// news passes on warnings and errors that differ from the one before: what is tried every two seconds is told once.
type news struct {
	slog.Handler
	last *lastRecord
}

type lastRecord struct {
	mu   sync.Mutex
	text string
}

// Enabled reports whether a record of this level is passed on.
func (n news) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn && n.Handler.Enabled(ctx, level)
}

// Handle passes a record on where it is news.
func (n news) Handle(ctx context.Context, r slog.Record) error {
	text := r.Message
	r.Attrs(func(a slog.Attr) bool {
		text += " " + a.String()
		return true
	})
	n.last.mu.Lock()
	same := n.last.text == text
	n.last.text = text
	n.last.mu.Unlock()
	if same {
		return nil
	}
	return n.Handler.Handle(ctx, r)
}

// WithAttrs returns a handler that is as quiet.
func (n news) WithAttrs(attrs []slog.Attr) slog.Handler {
	return news{n.Handler.WithAttrs(attrs), n.last}
}

// WithGroup returns a handler that is as quiet.
func (n news) WithGroup(name string) slog.Handler { return news{n.Handler.WithGroup(name), n.last} }
