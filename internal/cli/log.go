package cli

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"golang.org/x/term"
)

// NewLogger returns a logger that writes lines of this level and above to w: JSON, or for people if w is a terminal.
// Levels are debug, info, warn and error.
func NewLogger(w io.Writer, level string) (*slog.Logger, error) {
	var l slog.Level
	if err := l.UnmarshalText([]byte(level)); err != nil {
		return nil, fmt.Errorf("reading log level %q: %w", level, err)
	}
	return slog.New(newHandler(w, l, Terminal(w))), nil
}

func newHandler(w io.Writer, l slog.Level, people bool) slog.Handler {
	if !people {
		return slog.NewJSONHandler(w, &slog.HandlerOptions{Level: l})
	}
	return slog.NewTextHandler(w,
		&slog.HandlerOptions{Level: l, ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
			if len(groups) == 0 && a.Key == slog.TimeKey {
				return slog.String(a.Key, a.Value.Time().Format(time.TimeOnly))
			}
			return a
		}})
}

// Terminal reports whether w is a terminal.
func Terminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
