// Package schedule runs a job at the times of a cron expression, one run at a time.
package schedule

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/netresearch/go-cron"

	"github.com/wardcast/wardcast/internal/wait"
)

// Schedule is the times of a cron expression in a time zone.
type Schedule struct {
	times cron.Schedule
	zone  *time.Location
	now   func() time.Time
}

// Parse reads a cron expression of five fields (minute, hour, day of the month, month, day of the week), or a word like
// @daily or "@every 6h". If both days are given, either is enough, as in POSIX. A time that summer time skips comes an
// hour later; one that the clock shows twice in autumn comes twice.
func Parse(expression string, zone *time.Location) (*Schedule, error) {
	times, err := cron.MustNewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow | cron.Descriptor |
		cron.DowOrDom).Parse(expression)
	if err != nil {
		return nil, fmt.Errorf("reading the schedule %q (minute, hour, day of the month, month and day of "+
			"the week, for example \"30 2 * * *\"): %w", expression, err)
	}
	s := &Schedule{times, zone, time.Now}
	if s.Next(time.Now()).IsZero() {
		return nil, fmt.Errorf("the schedule %q has no next time", expression)
	}
	return s, nil
}

// Next returns the first time after t, zero if there is none for years.
func (s *Schedule) Next(t time.Time) time.Time {
	t = t.In(s.zone)
	next := s.times.Next(t)
	if _, ok := s.times.(*cron.SpecSchedule); !ok { // "@every" counts seconds, not hours of the clock
		return next
	}
	// The library misses days whose midnight is skipped. A clock that is never changed does not skip it.
	if skipped := asIn(s.times.Next(asIn(t, time.UTC)), s.zone); skipped.After(t) && skipped.Before(next) {
		return skipped
	}
	return next
}

// asIn returns when clocks in the zone show what they show in that of t; if they skip it, as much later as they skip.
func asIn(t time.Time, zone *time.Location) time.Time {
	shown := func(t time.Time, zone *time.Location) time.Time {
		return time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), zone)
	}
	in := shown(t, zone)
	return in.Add(max(0, shown(t, time.UTC).Sub(shown(in, time.UTC))))
}

// look is how often the clock is read: it may be set, or stand still while the machine sleeps.
const look = time.Minute

// due returns the next time after now. A clock that was set back by less than a day does not repeat the last run.
func (s *Schedule) due(last time.Time) time.Time {
	now := s.now()
	if ahead := last.Sub(now); ahead > 0 && ahead < 24*time.Hour {
		now = last
	}
	return s.Next(now)
}

// Run calls job at each time until ctx, which it passes on, ends, and logs its errors. Times during a run are missed.
func (s *Schedule) Run(ctx context.Context, log *slog.Logger, job func(context.Context) error) {
	for last := (time.Time{}); ; {
		next := s.due(last)
		if next.IsZero() {
			log.Error("the schedule has no next time")
			return
		}
		log.Info("waiting", "until", next)
		for s.now().Before(next) {
			if !wait.For(ctx, min(next.Sub(s.now()), look)) {
				return
			}
			if due := s.due(last); due.Before(next) { // the clock was set back
				next = due
				log.Info("waiting", "until", next)
			}
		}
		last = next
		err := job(ctx)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			log.Error("this run failed; waiting for the next one", "err", err)
		}
	}
}
