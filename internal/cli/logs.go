package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"k8s.io/klog/v2"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/tidelock/tidelock/internal/redact"
)

// logFlags say how a long-running command logs.
type logFlags struct {
	level  string
	format string
}

func (f *logFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.level, "log-level", "info", "debug, info, warn or error")
	cmd.Flags().StringVar(&f.format, "log-format", "text", "text or json")
}

// logger returns a logger that shows nothing of what is hidden, which may be nil.
func (f *logFlags) logger(w io.Writer, hidden *redact.Shared) (*slog.Logger, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(f.level)); err != nil {
		return nil, usageError{fmt.Errorf("--log-level %q: want debug, info, warn or error", f.level)}
	}
	var handler slog.Handler
	switch f.format {
	case "text":
		handler = slog.NewTextHandler(w, &slog.HandlerOptions{Level: level})
	case "json":
		handler = slog.NewJSONHandler(w, &slog.HandlerOptions{Level: level})
	default:
		return nil, usageError{fmt.Errorf("--log-format %q: want text or json", f.format)}
	}
	handler = hidden.Handler(handler)
	// Kubernetes' libraries log through loggers of the process, in their own form; what they find worth a warning goes with ours.
	klog.SetSlogLogger(slog.New(quiet{handler}))
	ctrllog.SetLogger(logr.FromSlogHandler(quiet{handler}))
	return slog.New(handler), nil
}

// quiet passes on warnings and errors alone.
type quiet struct{ slog.Handler }

// Enabled reports whether a record of this level is passed on.
func (q quiet) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn && q.Handler.Enabled(ctx, level)
}

// WithAttrs returns a handler that is as quiet.
func (q quiet) WithAttrs(attrs []slog.Attr) slog.Handler { return quiet{q.Handler.WithAttrs(attrs)} }

// WithGroup returns a handler that is as quiet.
func (q quiet) WithGroup(name string) slog.Handler { return quiet{q.Handler.WithGroup(name)} }

// interrupted makes the end that a person asked for no error; ctx is the one that such an end cancels.
func interrupted(ctx context.Context, err error) error {
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}
