package loglimit_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wardcast/wardcast/internal/loglimit"
)

// lines collects the written lines, with their second.
type lines struct {
	mu    sync.Mutex
	began time.Time
	all   []string
}

func (l *lines) add(what string) func(n int) {
	return func(n int) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.all = append(l.all, fmt.Sprintf("%v %s %d", time.Since(l.began), what, n))
	}
}

func (l *lines) want(t *testing.T, want ...string) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	if !slices.Equal(l.all, want) {
		t.Errorf("lines %q, want %q", l.all, want)
	}
}

// TestLimiter: a burst is one line with its number, written by the first event; events within the period after it are
// the next line, even if no other event comes; kinds do not share lines.
func TestLimiter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		out := &lines{began: time.Now()}
		l := loglimit.New(10 * time.Second)
		for i := range 5 {
			l.Add("a", out.add(fmt.Sprint("a", i)))
		}
		l.Add("b", out.add("b"))
		<-time.After(2 * time.Second)
		for range 3 {
			l.Add("a", out.add("again"))
		}
		<-time.After(8 * time.Second)
		out.mu.Lock()
		slices.Sort(out.all) // two came at once
		out.mu.Unlock()
		out.want(t, "1s a0 5", "1s b 1")
		<-time.After(90 * time.Second)
		out.want(t, "1s a0 5", "1s b 1", "11s again 3")
		l.Add("a", out.add("later"))
		<-time.After(1100 * time.Millisecond)
		out.want(t, "1s a0 5", "1s b 1", "11s again 3", "1m41s later 1")
	})
}

// TestFlush: no line waits beyond the end, and no event is reported twice.
func TestFlush(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		out := &lines{began: time.Now()}
		l := loglimit.New(time.Minute)
		for range 2 {
			l.Add("a", out.add("a"))
		}
		l.Flush()
		l.Flush()
		<-time.After(time.Hour)
		out.want(t, "0s a 2")
	})
}
