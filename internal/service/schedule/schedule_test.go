package schedule

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func parse(t *testing.T, expression, zone string) *Schedule {
	t.Helper()
	where, err := time.LoadLocation(zone)
	if err != nil {
		t.Fatal(err)
	}
	s, err := Parse(expression, where)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// The change to summer time skips 02:30 in Berlin on 28 March 2027, and 31 October has it twice. Elsewhere it skips the
// midnight before a time, or a time just after midnight.
func TestNext(t *testing.T) {
	t.Parallel()
	const nightly = "30 2 * * *"
	for _, c := range []struct{ expression, zone, from, want string }{
		{nightly, "Europe/Berlin", "2026-11-23T08:00:00Z", "2026-11-24T01:30:00Z"},
		{nightly, "Europe/Berlin", "2027-03-27T12:00:00Z", "2027-03-28T01:30:00Z"},
		{nightly, "Europe/Berlin", "2027-03-28T01:30:00Z", "2027-03-29T00:30:00Z"},
		{nightly, "Europe/Berlin", "2027-10-30T12:00:00Z", "2027-10-31T00:30:00Z"},
		{nightly, "Europe/Berlin", "2027-10-31T00:30:00Z", "2027-10-31T01:30:00Z"},
		{nightly, "Europe/Berlin", "2027-10-31T01:30:00Z", "2027-11-01T01:30:00Z"},
		{"*/30 * * * *", "Europe/Berlin", "2027-03-28T00:30:00Z", "2027-03-28T01:00:00Z"},
		{"@every 6h", "Europe/Berlin", "2027-03-28T00:30:00Z", "2027-03-28T06:30:00Z"},
		{"0 1 30 4 *", "Africa/Cairo", "2026-11-28T00:00:00Z", "2027-04-29T22:00:00Z"},
		{"0 0 5 9 *", "America/Santiago", "2026-11-28T00:00:00Z", "2027-09-05T04:00:00Z"},
		{"0 0 5 9 *", "America/Santiago", "2027-09-05T04:00:00Z", "2028-09-05T03:00:00Z"},
		{"30 0 14 3 *", "America/Havana", "2026-11-28T00:00:00Z", "2027-03-14T05:30:00Z"},
		{"0 3 1 * 1", "UTC", "2026-11-26T00:00:00Z", "2026-11-30T03:00:00Z"}, // a Monday
		{"0 3 1 * 1", "UTC", "2026-11-30T03:00:00Z", "2026-12-01T03:00:00Z"},
		{"0 3 * * 1", "UTC", "2026-11-30T03:00:00Z", "2026-12-07T03:00:00Z"},
	} {
		from, err := time.Parse(time.RFC3339, c.from)
		if err != nil {
			t.Fatal(err)
		}
		if got := parse(t, c.expression, c.zone).Next(from).UTC().Format(time.RFC3339); got != c.want {
			t.Errorf("%q in %s: after %s comes %s, want %s", c.expression, c.zone, c.from, got, c.want)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"", "2am", "61 2 * * *", "30 2 * *", "@nightly"} {
		if _, err := Parse(bad, time.UTC); err == nil || !strings.Contains(err.Error(), "for example") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// Runs that fail do not end the schedule, and runs that last longer than a day do not overlap.
func TestRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // begins on 1 January 2000
		ctx, stop := context.WithTimeout(t.Context(), 6*24*time.Hour)
		defer stop()
		var log bytes.Buffer
		var began []string
		running := false
		parse(t, "30 2 * * *", "UTC").Run(ctx, slog.New(slog.NewTextHandler(&log, nil)), func(context.Context) error {
			if running {
				t.Error("two runs at once")
			}
			running = true
			defer func() { running = false }()
			began = append(began, time.Now().UTC().Format("2T15:04"))
			switch len(began) {
			case 1:
				return errors.New("no broker")
			case 2:
				<-time.After(25 * time.Hour)
			}
			return nil
		})
		if want := []string{"1T02:30", "2T02:30", "4T02:30", "5T02:30", "6T02:30"}; !slices.Equal(began, want) {
			t.Errorf("runs began at %v, want %v", began, want)
		}
		if n := strings.Count(log.String(), "level=ERROR"); n != 1 || !strings.Contains(log.String(), "no broker") {
			t.Errorf("%d errors in the log:\n%s", n, &log)
		}
	})
}

// A clock that is set back by an hour does not repeat a run. One that was far ahead when the wait began does not make
// it last as long.
func TestRunWhenTheClockIsSet(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // begins on 1 January 2000
		ctx, stop := context.WithTimeout(t.Context(), 80*time.Hour)
		defer stop()
		s := parse(t, "30 2 * * *", "UTC")
		var ahead atomic.Int64
		ahead.Store(int64(366 * 24 * time.Hour))
		s.now = func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
		time.AfterFunc(12*time.Hour, func() { ahead.Store(0) })
		var began []string
		s.Run(ctx, slog.New(slog.DiscardHandler), func(context.Context) error {
			began = append(began, s.now().UTC().Format("2006-2T15:04"))
			if len(began) == 2 {
				ahead.Store(-int64(time.Hour))
			}
			return nil
		})
		if want := []string{"2001-1T02:30", "2000-2T02:30", "2000-3T02:30", "2000-4T02:30"}; !slices.Equal(began, want) {
			t.Errorf("runs began at %v, want %v", began, want)
		}
	})
}

// The end of the context ends a run that listens to it, and its error does not count.
func TestRunIsStopped(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		var log bytes.Buffer
		runs := 0
		parse(t, "@every 1h",
			"UTC").Run(ctx, slog.New(slog.NewTextHandler(&log, nil)), func(ctx context.Context) error {
			runs++
			time.AfterFunc(time.Minute, stop)
			<-ctx.Done()
			return ctx.Err()
		})
		if runs != 1 || strings.Contains(log.String(), "ERROR") {
			t.Errorf("%d runs, log:\n%s", runs, &log)
		}
	})
}
