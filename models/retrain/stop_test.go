package retrain_test

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/wardcast/wardcast/models"
	"github.com/wardcast/wardcast/models/gate"
	"github.com/wardcast/wardcast/models/retrain"
	"github.com/wardcast/wardcast/models/storetest"
	"github.com/wardcast/wardcast/models/train"
	"github.com/wardcast/wardcast/textproc"
)

// errStopped is what a retraining meets that is stopped.
var errStopped = errors.New("stopped")

// fault is what happens at one call of a bucket.
type fault string

const (
	stopped fault = "stopped" // neither it nor any later one is made
	once    fault = "failing" // it is not made; later ones are
	lost    fault = "unheard" // it is made and said to have failed; later ones are made
)

// faulty is a bucket with a fault at one of its calls.
type faulty struct {
	models.Bucket
	kind    fault
	left    int // calls before the fault
	reached bool
}

func (f *faulty) call(do func() error) error {
	switch {
	case f.reached && f.kind == stopped:
		return errStopped
	case f.reached || f.left > 0:
		f.left--
		return do()
	}
	f.reached = true
	if f.kind == lost {
		if err := do(); err != nil {
			return err
		}
	}
	return errStopped
}

func (f *faulty) Prepare(ctx context.Context) error {
	return f.call(func() error { return f.Bucket.Prepare(ctx) })
}

func (f *faulty) Folders(ctx context.Context, folder string) (names []string, err error) {
	return names, f.call(func() error { names, err = f.Bucket.Folders(ctx, folder); return err })
}

func (f *faulty) Files(ctx context.Context, folder string) (names []string, err error) {
	err = f.call(func() error { names, err = f.Bucket.Files(ctx, folder); return err })
	return names, err
}

func (f *faulty) Read(ctx context.Context, name string, limit int64) (data []byte, err error) {
	err = f.call(func() error { data, err = f.Bucket.Read(ctx, name, limit); return err })
	return data, err
}

func (f *faulty) Swap(ctx context.Context, name string, from, to []byte) error {
	return f.call(func() error { return f.Bucket.Swap(ctx, name, from, to) })
}

func (f *faulty) AddFolder(ctx context.Context, folder string, files map[string][]byte, last string) error {
	return f.call(func() error { return f.Bucket.AddFolder(ctx, folder, files, last) })
}

// tiny is a retraining without topics and with one model, in a tenth of a second.
func tiny(store *models.Store, source retrain.Source) *retrain.Job {
	fit := train.Default()
	fit.Method, fit.Folds, fit.Text.MinDF, fit.Pieces, fit.Text.NGrams, fit.PerComplaint = train.BagOfWords, 2, 10,
		false, 1, train.Never
	fit.Text.Concepts, fit.Text.Spelling = words, false
	return &retrain.Job{
		Source: source, Settings: retrain.Settings{AsOf: at(24 * 60)}, Fit: fit, Version: "test",
		Gatekeeper: train.Gatekeeper{Store: store, Gate: gate.Default(), By: "test"},
	}
}

// words holds no concepts: compiling the built-in table takes longer than the rest of a training.
var words = &textproc.Concepts{}

// tinyVisits is how many are enough to be trained and judged on.
const tinyVisits = 600

// TestStoppedAtEveryCall has a retraining stopped, or its store fail, at each call of the store in turn: what is served
// loads, the store verifies, and the same retraining run again finishes.
func TestStoppedAtEveryCall(t *testing.T) {
	t.Parallel()
	_, known := hospital(t, tinyVisits)
	_, earlier := hospital(t, tinyVisits-100)
	first := t.TempDir()
	night := tiny(models.OpenDir(first), earlier)
	night.Settings.AsOf = at(24 * 59)
	if r, err := night.Run(t.Context()); err != nil || r.Promotion.Served == nil {
		t.Fatalf("the first night: %+v, %v", r, err)
	}
	old, _ := storetest.Served(t, models.OpenDir(first), "before")
	for _, kind := range []fault{stopped, once, lost} {
		if kind != stopped && os.Getenv("WARDCAST_LONG") == "" {
			continue
		}
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			stopAtEveryCall(t, first, old, kind, func(b models.Bucket) (*retrain.Result, error) {
				return tiny(models.New(b), known).Run(t.Context())
			})
		})
	}
}

// stopAtEveryCall runs a retraining on copies of a store, each with a fault at the next call.
func stopAtEveryCall(t *testing.T, from string, old *models.Generation, kind fault,
	run func(models.Bucket) (*retrain.Result, error),
) {
	t.Helper()
	began := time.Now()
	step := 1
	switch long := os.Getenv("WARDCAST_LONG") != ""; {
	case !long:
		step = 11 // a sample, with calls of every kind over the runs
	case kind != stopped:
		step = 3 // which takes a third of the time, and meets every kind of call
	}
	stops := 0
	for ; ; stops += step {
		dir := t.TempDir()
		if err := os.CopyFS(dir, os.DirFS(from)); err != nil {
			t.Fatal(err)
		}
		b := &faulty{Bucket: models.Dir(dir), kind: kind, left: stops}
		_, err := run(b)
		if !b.reached {
			if err != nil {
				t.Fatal(err)
			}
			break
		}
		store := models.OpenDir(dir)
		g, _ := storetest.Served(t, store, "stopped")
		if g.Name != old.Name && g.Parent != old.Name {
			t.Fatalf("call %d: serves %+v", stops, g)
		}
		if err == nil && kind == stopped {
			t.Fatalf("call %d was the last, and the retraining does not say so", stops)
		}
		if r, err := run(models.Dir(dir)); err != nil || r.Promotion == nil {
			t.Fatalf("call %d: run again: %+v, %v", stops, r, err)
		}
		storetest.Served(t, store, "run again")
	}
	if stops < 5 {
		t.Errorf("stopped %d times only", stops)
	}
	t.Logf("%d calls, %.1f s", stops, time.Since(began).Seconds())
}

// failing is a source that fails at one of its messages, as a broker that is gone.
type failing struct {
	retrain.Source
	left int
}

var errBroker = errors.New("the broker is gone")

func (f *failing) each(each func(*retrain.Message) error) func(*retrain.Message) error {
	return func(m *retrain.Message) error {
		if f.left--; f.left < 0 {
			return errBroker
		}
		return each(m)
	}
}

func (f *failing) Outcomes(ctx context.Context, from time.Time, each func(*retrain.Message) error) error {
	return f.Source.Outcomes(ctx, from, f.each(each))
}

func (f *failing) Notes(ctx context.Context, from time.Time, each func(*retrain.Message) error) error {
	return f.Source.Notes(ctx, from, f.each(each))
}

// TestSourceFails: a broker that is gone in the midst of reading leaves the store as it is.
func TestSourceFails(t *testing.T) {
	t.Parallel()
	_, source := hospital(t, tinyVisits)
	dir := t.TempDir()
	for _, at := range []int{0, 1, len(source.outcomes) - 1, len(source.outcomes), len(source.outcomes) +
		len(source.notes) - 1} {
		if _, err := tiny(models.OpenDir(dir), &failing{source, at}).Run(t.Context()); !errors.Is(err,
			errBroker) {
			t.Errorf("failing at message %d: %v", at, err)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}
}
