package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/wardcast/wardcast/classifier/bundle"
	"github.com/wardcast/wardcast/models"
)

// sound fails the test unless the store verifies and what is served loads, and returns that generation, "" if none is.
func sound(t *testing.T, when string, b models.Bucket) string {
	t.Helper()
	s := models.New(b)
	if damaged, err := s.Verify(t.Context(), nil); err != nil || len(damaged) > 0 {
		t.Fatalf("%s: damaged %v, %v", when, damaged, err)
	}
	g, err := s.Champion(t.Context())
	if errors.Is(err, models.ErrNotFound) {
		return ""
	}
	if err != nil {
		t.Fatalf("%s: %v", when, err)
	}
	for model, m := range g.Models {
		if _, err := s.Load(t.Context(), model, m.Version); err != nil {
			t.Fatalf("%s: %v", when, err)
		}
	}
	return g.Name
}

// testRacingPromotions has several writers promote generations of their own from the same one: one wins, and the others
// get a conflict.
func testRacingPromotions(t *testing.T, b models.Bucket) {
	s := models.New(b)
	first := Serve(t, s, Bundle(bundle.Other, 0))
	const writers = 4
	var challengers []*models.Generation
	for i := range writers {
		challengers = append(challengers, Add(t, s, Bundle(bundle.Other, i+1)))
	}
	var won atomic.Pointer[models.Generation]
	var wins atomic.Int32
	var wg sync.WaitGroup
	for _, g := range challengers {
		wg.Go(func() {
			err := models.New(b).Promote(t.Context(), models.Change{To: g.Name, From: first.Name, By: g.Name})
			switch {
			case err == nil:
				wins.Add(1)
				won.Store(g)
			case !errors.Is(err, models.ErrConflict):
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if got := sound(t, "after the race", b); wins.Load() != 1 || got != won.Load().Name {
		t.Fatalf("%d writers won, served is %q", wins.Load(), got)
	}
	events, err := s.History(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	effective := slices.DeleteFunc(events, func(e models.Event) bool { return e.Abandoned })
	if len(effective) != 2 || effective[1].By != won.Load().Name {
		t.Errorf("changes in effect: %+v", effective)
	}
}

// testRacingRecords has many writers add to the history at once.
func testRacingRecords(t *testing.T, b models.Bucket) {
	s := models.New(b)
	g := Serve(t, s, Bundle(bundle.Other, 0))
	const writers, each = 4, 3
	var wg sync.WaitGroup
	for range writers {
		wg.Go(func() {
			for range each {
				same := *g // which Refuse names
				if err := models.New(b).Refuse(t.Context(), &same, models.Change{}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if events, err := s.History(t.Context()); err != nil || len(events) != 1+writers*each {
		t.Errorf("%d events, %v", len(events), err)
	}
}

// errStopped is what a writer meets that was stopped.
var errStopped = errors.New("stopped")

// stopping is a bucket whose user is stopped at one of its writes, after or before it takes effect.
type stopping struct {
	models.Bucket
	writes  int // that still pass
	after   bool
	stopped bool
}

func (s *stopping) write(do func() error) error {
	if s.stopped {
		return errStopped
	}
	if s.writes > 0 {
		s.writes--
		return do()
	}
	s.stopped = true
	if s.after {
		if err := do(); err != nil {
			return err
		}
	}
	return errStopped
}

func (s *stopping) Swap(ctx context.Context, name string, before, after []byte) error {
	return s.write(func() error { return s.Bucket.Swap(ctx, name, before, after) })
}

func (s *stopping) AddFolder(ctx context.Context, folder string, files map[string][]byte, last string) error {
	return s.write(func() error { return s.Bucket.AddFolder(ctx, folder, files, last) })
}

// Stop calls act on stores whose writer is stopped at the first write, at the second, and so on, before and after the
// write takes effect. Each time check gets the bucket that is left. prepare returns a bucket to begin with. Stop ends
// when act ends before it is stopped, and returns how often it was.
func Stop(
	t *testing.T,
	prepare func() models.Bucket,
	act func(*models.Store) error,
	check func(when string, left models.Bucket),
) int {
	t.Helper()
	for i := 0; ; i++ {
		b := &stopping{Bucket: prepare(), writes: i / 2, after: i%2 == 1}
		err := act(models.New(b))
		if !b.stopped {
			if err != nil {
				t.Fatal(err)
			}
			return i
		}
		if !errors.Is(err, errStopped) {
			t.Fatalf("write %d failed, and the writer says %v", i/2+1, err)
		}
		check(fmt.Sprintf("stopped at write %d, in effect %v", i/2+1, b.after), b.Bucket)
	}
}

// testStoppedWriters stops a training at each write, and then runs it again.
func testStoppedWriters(t *testing.T, open func(t *testing.T) models.Bucket) {
	train := func(s *models.Store) error {
		g, err := add(t, s, Bundle(bundle.Other, 1), Bundle("cough", 2))
		if err != nil {
			return err
		}
		return s.Promote(t.Context(), models.Change{To: g.Name, From: g.Parent, By: "test"})
	}
	for name, prepare := range map[string]func(b models.Bucket) string{
		"a new store":   func(models.Bucket) string { return "" },
		"another night": func(b models.Bucket) string { return Serve(t, models.New(b), Bundle(bundle.Other, 0)).Name },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var before string
			stops := Stop(t, func() models.Bucket {
				b := open(t)
				before = prepare(b)
				return b
			}, train, func(when string, left models.Bucket) {
				s := models.New(left)
				if sound(t, when, left) == before {
					if err := train(s); err != nil {
						t.Fatalf("%s: run again: %v", when, err)
					}
				}
				if got := sound(t, when+", run again", left); got == before {
					t.Errorf("%s: served %q in the end", when, got)
				}
				if g, err := s.Before(t.Context()); before != "" && (err != nil || g != before) {
					t.Errorf("%s: before it was %q, %v", when, g, err)
				}
			})
			if stops < 10 { // two versions, the generation, the record and the champion
				t.Errorf("stopped %d times only", stops)
			}
		})
	}
	t.Run("a rollback", func(t *testing.T) {
		t.Parallel()
		var first, second *models.Generation
		roll := func(s *models.Store) error {
			return s.Rollback(t.Context(), models.Change{To: first.Name, From: second.Name, By: "ops"})
		}
		Stop(t, func() models.Bucket {
			b := open(t)
			first = Serve(t, models.New(b), Bundle(bundle.Other, 0))
			second = Serve(t, models.New(b), Bundle(bundle.Other, 1))
			return b
		}, roll, func(when string, left models.Bucket) {
			if got := sound(t, when, left); got != first.Name && got != second.Name {
				t.Errorf("%s: served %q", when, got)
			}
			if err := roll(models.New(left)); err != nil {
				t.Errorf("%s: again: %v", when, err)
			}
			if got := sound(t, when, left); got != first.Name {
				t.Errorf("%s: served %q in the end", when, got)
			}
		})
	})
}
