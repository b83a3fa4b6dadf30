package retrain_test

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/internal/lab/sample"
	"github.com/wardcast/wardcast/internal/lab/synth"
	"github.com/wardcast/wardcast/models/retrain"
)

// hospital returns a simulated month of n visits with late, cancelled and corrected outcomes, as messages.
func hospital(t testing.TB, n int) (*synth.Generator, *memory) {
	t.Helper()
	g, err := synth.New(synth.Settings{
		Seed: 8, Start: begin, Interval: 30 * 24 * time.Hour / time.Duration(n), Misspelling: synth.DefaultMisspelling,
		Labels: synth.Labels{Delay: 20 * time.Hour, Revised: 0.15},
	})
	if err != nil {
		t.Fatal(err)
	}
	m := &memory{}
	for i := range n {
		note := g.At(i)
		m.notes = append(m.notes, retrain.Message{Key: []byte(note.VisitID), Value: note.AppendJSON(nil)})
	}
	log, err := g.Log(t.Context(), n)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range log {
		m.outcomes = append(m.outcomes, retrain.Message{Key: []byte(o.VisitID), Value: o.AppendJSON(nil)})
	}
	return g, m
}

// TestMonth compares the labels at each of several cut-offs with the truth of the simulation: what its last event until
// then says. Labels that are not the final ones are those whose revision comes later.
func TestMonth(t *testing.T) {
	t.Parallel()
	const n = 3000
	g, m := hospital(t, n)
	last := 0
	for _, days := range []float64{10, 20, 27, 30, 90} {
		t.Run(fmt.Sprint(days), func(t *testing.T) {
			asOf := at(24 * days)
			want, counts := map[string]bool{}, map[retrain.Reason]int{}
			revised, early := 0, 0
			for i := range n {
				note, events := g.At(i), g.Outcomes(i)
				known := 0
				for known < len(events) && !events[known].Recorded.After(asOf) {
					known++
				}
				arrived, err := time.Parse(time.RFC3339, note.ArrivedAt)
				switch {
				case err != nil:
					t.Fatal(err)
				case arrived.After(asOf):
					counts[retrain.AfterCutOff]++
				case known == 0:
					counts[retrain.Undecided]++
				case events[known-1].Status == msg.Cancelled:
					counts[retrain.Cancelled]++
				default:
					want[note.VisitID] = events[known-1].Disposition == msg.Admitted
					if known > 1 {
						revised++
					}
					if want[note.VisitID] != note.Admitted {
						early++
					}
				}
			}
			past, err := retrain.Collect(t.Context(), m, retrain.Settings{AsOf: asOf})
			if err != nil {
				t.Fatal(err)
			}
			balance(t, &past.Counts, n)
			got := map[string]bool{}
			for _, r := range past.Rows {
				got[r.Visit] = r.Positive
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Error(d)
			}
			if d := cmp.Diff(counts, past.Counts.Excluded); d != "" {
				t.Error(d)
			}
			if past.Counts.Revised != revised || past.Counts.Conflicting != 0 || past.Counts.WithoutNote != 0 {
				t.Errorf("%+v", past.Counts)
			}
			if past.Counts.Documents < last || days == 90 && early > 0 || days < 30 && early == 0 {
				t.Errorf("%d rows after %d; %d labels are not the final ones", past.Counts.Documents, last, early)
			}
			last = past.Counts.Documents
			if w := past.Counts.Warnings(); days >= 20 && len(w) > 0 {
				t.Errorf("warnings without a fault: %q", w)
			}
		})
	}
}

// TestMemory keeps a million notes (WARDCAST_MILLION) or some thousands, and reports the bytes that each row keeps,
// text included.
func TestMemory(t *testing.T) {
	n := 5000
	if os.Getenv("WARDCAST_MILLION") != "" {
		n = 1_000_000
	}
	g, err := synth.New(synth.Settings{Seed: 8, Start: begin, Interval: 30 * 24 * time.Hour / time.Duration(n)})
	if err != nil {
		t.Fatal(err)
	}
	source := &stream{g: g, n: n}
	before := heap()
	source.peak = before
	began := time.Now()
	past, err := retrain.Collect(t.Context(), source, retrain.Settings{Aux: sample.Aux()})
	if err != nil {
		t.Fatal(err)
	}
	seconds := time.Since(began).Seconds()
	kept := float64(heap()-before) / float64(n)
	var text int
	for _, r := range past.Rows {
		text += len(r.Text) + len(r.Visit) + len(r.Patient)
	}
	t.Logf("%d rows in %.1f s (with their generation): %.0f bytes a row kept, of which %.0f are text and "+
		"identifiers; %.0f at the peak", past.Counts.Documents, seconds, kept, float64(text)/float64(n),
		float64(source.peak-before)/float64(n))
	// A row is 144 bytes and 32 for each of 8 auxiliary values; growing slices may leave a quarter unused.
	if limit := 1.3*(144+8*32) + 1.15*float64(text)/float64(n) + 64; kept > limit {
		t.Errorf("%.0f bytes a row, want at most %.0f", kept, limit)
	}
	// At the peak the index of visits adds about 100 bytes to a row.
	if peak := float64(source.peak-before) / float64(n); peak > 1.3*kept {
		t.Errorf("%.0f bytes a row at the peak, want at most %.0f: something keeps whole messages", peak, 1.3*kept)
	}
	if past.Counts.Documents != n {
		t.Errorf("%d rows", past.Counts.Documents)
	}
	runtime.KeepAlive(past)
}

// stream makes messages as they are asked for, and watches the heap.
type stream struct {
	g    *synth.Generator
	n    int
	peak int64
}

func (*stream) Names() []string { return nil }

func (s *stream) Outcomes(_ context.Context, _ time.Time, each func(*retrain.Message) error) error {
	return s.each(each, func(i int, dst []byte) []byte { return s.g.Outcomes(i)[0].AppendJSON(dst) })
}

func (s *stream) Notes(_ context.Context, _ time.Time, each func(*retrain.Message) error) error {
	return s.each(each, func(i int, dst []byte) []byte {
		n := s.g.At(i)
		return n.AppendJSON(dst)
	})
}

func (s *stream) each(each func(*retrain.Message) error, value func(i int, dst []byte) []byte) error {
	var m retrain.Message
	for i := range s.n {
		m.Value = value(i, m.Value[:0])
		if err := each(&m); err != nil {
			return err
		}
		if i%(s.n/10) == 0 || i == s.n-1 {
			s.peak = max(s.peak, heap())
		}
	}
	return nil
}

func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc) //nolint:gosec // no machine has as much
}
