package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/wardcast/wardcast/ingest"
)

// besideRetry is how long a task that failed waits before it begins again.
const besideRetry = time.Minute

// task is work beside the streams: it may fail, be late or stop without any effect on them.
type task struct {
	name string
	// without says what is missing while the task does not run.
	without string
	run     func(ctx context.Context) error
}

// runTask runs a task until ctx ends. Whatever goes wrong in it, a panic too, ends there: it is logged, and the task
// begins again after a while. A reason is logged once as long as it stays the same.
func runTask(ctx context.Context, log *slog.Logger, t task) {
	before := ""
	for ctx.Err() == nil {
		err := guarded(func() error { return t.run(ctx) })
		if ctx.Err() != nil {
			return
		}
		if err != nil && err.Error() != before {
			before = err.Error()
			level := slog.LevelWarn
			if _, missing := errors.AsType[*ingest.MissingTopicsError](err); missing {
				level = slog.LevelInfo // a site may do without
			}
			log.Log(ctx, level, "not running", "task", t.name, "without", t.without, "err", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(besideRetry):
		}
	}
}

// guarded returns the error of f, one that names its type if f panicked: the value may hold parts of a note.
func guarded(f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("a panic of type %T", v)
		}
	}()
	return f()
}
