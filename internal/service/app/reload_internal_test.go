package app

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/wardcast/wardcast/ingest"
	"github.com/wardcast/wardcast/ingest/ingesttest"
)

// fakeSource is a source whose new models are damaged, or fine.
type fakeSource struct {
	source
	mu    sync.Mutex
	err   error
	looks []time.Duration // since the beginning
	began time.Time
}

func (f *fakeSource) renew(context.Context) (bool, []error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.looks = append(f.looks, time.Since(f.began))
	if f.err != nil {
		return false, []error{f.err}
	}
	return false, nil
}

func (f *fakeSource) models() []inUse { return nil }

// TestReloadPauses: a store that stays damaged is read less and less often, a hint is followed at once, and a mended
// store is polled as before.
func TestReloadPauses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fakeSource{err: errors.New("file damaged"), began: time.Now()}
		log := &ingesttest.Log{}
		s := &stream{
			source: f, metrics: newModelMetrics(prometheus.NewRegistry()),
			log: slog.New(slog.NewTextHandler(log, nil)), wake: make(chan struct{}, 1), swapped: make(chan struct{}, 1),
		}
		ctx, cancel := context.WithCancel(t.Context())
		go s.reload(ctx, 5*time.Second)
		// looks waits, behind a hint if it is to come at once, and compares the seconds at which the store was looked
		// at.
		looks := func(what string, hinted bool, wait time.Duration, want ...int) {
			t.Helper()
			f.mu.Lock()
			f.looks = nil
			f.mu.Unlock()
			if hinted {
				s.hint()
			}
			time.Sleep(wait) //nolint:forbidigo // of a bubble
			synctest.Wait()
			f.mu.Lock()
			defer f.mu.Unlock()
			if len(f.looks) != len(want) {
				t.Fatalf("%s: looked at %v, want %v", what, f.looks, want)
			}
			for i := range want {
				if f.looks[i] != time.Duration(want[i])*time.Second {
					t.Errorf("%s: looked at %v, want %v s", what, f.looks, want)
				}
			}
		}
		looks("damaged", false, 110*time.Second, 5, 15, 35, 65, 95)
		f.mu.Lock()
		f.began = time.Now()
		f.mu.Unlock()
		looks("a hint", true, time.Second, 0)
		f.mu.Lock()
		f.err = nil
		f.mu.Unlock()
		looks("mended", true, 12*time.Second, 1, 6, 11)
		if why := s.refused.Load(); why != nil || strings.Count(log.String(), "level=ERROR") != 1 {
			t.Errorf("refused %v, log %s", why, log)
		}
		cancel()
		synctest.Wait()
	})
}

// TestBeside: whatever goes wrong in a task is logged once and ends there; the task begins again.
func TestBeside(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		log := &ingesttest.Log{}
		ctx, cancel := context.WithCancel(t.Context())
		var runs []time.Duration
		began := time.Now()
		done := make(chan struct{})
		go func() {
			defer close(done)
			runTask(ctx, slog.New(slog.NewTextHandler(log, nil)),
				task{name: "x", without: "nothing is lost", run: func(ctx context.Context) error {
					runs = append(runs, time.Since(began))
					switch len(runs) {
					case 1, 2:
						panic("Mr Smith")
					case 3:
						return &ingest.MissingTopicsError{Topics: []string{"triage.models"}}
					}
					<-ctx.Done()
					return ctx.Err()
				}})
		}()
		time.Sleep(10 * time.Minute) //nolint:forbidigo // of a bubble
		cancel()
		<-done
		if len(runs) != 4 || runs[3] != 3*besideRetry {
			t.Errorf("runs at %v", runs)
		}
		text := log.String()
		if strings.Contains(text, "Smith") || strings.Count(text, "nothing is lost") != 2 ||
			strings.Count(text, "level=WARN") != 1 || !strings.Contains(text, "panic of type string") ||
			!strings.Contains(text, "triage.models") {
			t.Errorf("log:\n%s", text)
		}
	})
}
