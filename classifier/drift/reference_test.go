package drift_test

import (
	"encoding/json"
	"errors"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wardcast/wardcast/classifier/drift"
)

// reference returns one of two topics and one column, of n notes of each main topic.
func reference(n int) *drift.Reference {
	r := &drift.Reference{
		Scores: &drift.Histogram{Edges: []float64{.5}, Counts: make([]float64, 2)}, Topics: make([]float64, 3),
		Levels: []drift.ColumnLevels{{Column: "sex"}},
	}
	for range n {
		for topic, score := range []float64{.2, .7} {
			r.Add(&drift.Note{Score: score, Topic: topic, Known: 8, Tokens: 10, Unknown: []drift.Level{drift.Known}})
		}
	}
	return r
}

func TestReference(t *testing.T) {
	t.Parallel()
	r := reference(100)
	now := r.Empty()
	other := r.Empty()
	for range 50 {
		now.Add(&drift.Note{Score: .7, Topic: 1, Known: 5, Tokens: 10, Unknown: []drift.Level{drift.Unknown}})
		other.Add(&drift.Note{Score: .9, Topic: 99, Unknown: []drift.Level{drift.Missing}})
	}
	now.Merge(other)
	want := &drift.Reference{
		Scores: &drift.Histogram{Edges: []float64{.5}, Counts: []float64{0, 100}}, Topics: []float64{0, 50, 50},
		Known:  drift.Rate{Hits: 250, Of: 500},
		Levels: []drift.ColumnLevels{{Column: "sex", Unknown: drift.Rate{Hits: 50, Of: 50}}},
	}
	if d := cmp.Diff(want, now); d != "" || now.Notes() != 100 || r.Notes() != 200 {
		t.Errorf("%v notes, %v in the reference; (-want +got):\n%s", now.Notes(), r.Notes(), d)
	}
	got, err := now.Against(r)
	scores, errScores := drift.PSI([]float64{100, 100}, []float64{0, 100})
	// The third place is rare in training, and the only one: it stands for itself.
	topics, errTopics := drift.PSI([]float64{100, 100, 0}, []float64{0, 50, 50})
	if err := errors.Join(err, errScores, errTopics); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(drift.Shifts{Scores: scores, Topics: topics}, got); d != "" {
		t.Error(d)
	}
	if _, err := r.Empty().Against(r); !errors.Is(err, drift.ErrArgument) {
		t.Errorf("a period without notes: %v", err)
	}
}

// TestRareTopics: a hundred topics of two notes each count as one, so that chance does not look like drift.
func TestRareTopics(t *testing.T) {
	t.Parallel()
	r := &drift.Reference{Scores: &drift.Histogram{Counts: []float64{1000}}, Topics: make([]float64, 102)}
	now := r.Empty()
	now.Scores.Counts[0] = 200
	r.Topics[0], now.Topics[0] = 800, 160
	for t := 1; t <= 100; t++ {
		r.Topics[t], now.Topics[t] = 2, float64(t%5)/5
	}
	got, err := now.Against(r)
	if err != nil || got.Topics.PSI > got.Topics.Expected*4 || math.Abs(got.Topics.Expected-(1./1000+1./200)) > 1e-9 {
		t.Errorf("%+v, %v", got.Topics, err)
	}
}

func TestReferenceCheck(t *testing.T) {
	t.Parallel()
	r := reference(3)
	data, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	read := &drift.Reference{}
	if err := json.Unmarshal(data, read); err != nil || cmp.Diff(r, read) != "" ||
		read.Check(2, []string{"sex"}) != nil {
		t.Errorf("%s: %v, %v", data, err, read.Check(2, []string{"sex"}))
	}
	for name, harm := range map[string]func(*drift.Reference){
		"no histogram":    func(r *drift.Reference) { r.Scores = nil },
		"a count too few": func(r *drift.Reference) { r.Scores.Counts = r.Scores.Counts[:1] },
		"edges that fall": func(r *drift.Reference) {
			r.Scores.Edges, r.Scores.Counts = []float64{2, 1}, []float64{1, 1, 1}
		},
		"a negative count":     func(r *drift.Reference) { r.Scores.Counts[0] = -1 },
		"nothing counted":      func(r *drift.Reference) { clear(r.Topics) },
		"another rank":         func(r *drift.Reference) { r.Topics = append(r.Topics, 1) },
		"too few parts":        func(r *drift.Reference) { r.Added = make([]drift.Added, 3) },
		"another column":       func(r *drift.Reference) { r.Levels[0].Column = "site" },
		"a column that is not": func(r *drift.Reference) { r.Levels = nil },
	} {
		r := reference(3)
		harm(r)
		if err := r.Check(2, []string{"sex"}); !errors.Is(err, drift.ErrArgument) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestMapScores: scores that a recalibration moves stay in their bins.
func TestMapScores(t *testing.T) {
	t.Parallel()
	r, before := reference(10), reference(10)
	halve := func(p float64) float64 { return p / 2 }
	r.MapScores(halve)
	now := r.Empty()
	for _, p := range []float64{.2, .7} {
		now.Scores.Add(halve(p))
	}
	if d := cmp.Diff([]float64{1, 1}, now.Scores.Counts); d != "" || before.Scores.Edges[0] != .5 ||
		r.Scores.Edges[0] != .25 {
		t.Errorf("%v %s", r.Scores, d)
	}
}

// TestAdded: what parts of a model add is summed by size, over periods too; what an older reference does not know stays
// unknown.
func TestAdded(t *testing.T) {
	t.Parallel()
	r := reference(1)
	r.Added = make([]drift.Added, 4)
	note := func(added ...float64) *drift.Note {
		return &drift.Note{Unknown: []drift.Level{drift.Known}, Added: added}
	}
	r.Add(note(1, -2, -1, 0.5))
	now := r.Empty()
	now.Add(note(-3, 1, -2, 0))
	now.Add(note())
	r.Merge(now)
	want := []drift.Added{{Sum: 4, Most: 3}, {Sum: 3, Most: 2}, {Sum: 3, Most: 2}, {Sum: 0.5, Most: 0.5}}
	if d := cmp.Diff(want, r.Added); d != "" || r.Check(2, []string{"sex"}) != nil {
		t.Errorf("%s %v", d, r.Check(2, []string{"sex"}))
	}
	if old := reference(1).Empty(); old.Added != nil {
		t.Errorf("a reference that does not know it has %v", old.Added)
	}
}

func BenchmarkReferenceAdd(b *testing.B) {
	r := reference(1)
	n := drift.Note{Score: .3, Topic: 1, Known: 7, Tokens: 9, Unknown: []drift.Level{drift.Known}}
	b.ReportAllocs()
	for b.Loop() {
		r.Add(&n)
	}
}

func TestReadReference(t *testing.T) {
	t.Parallel()
	want := reference(20)
	data, err := json.Marshal(map[string]any{"out_of_fold": 1, drift.InEvaluation: want})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := drift.ReadReference(data); err != nil || !cmp.Equal(got, want) {
		t.Errorf("got %+v, %v", got, err)
	}
	for _, none := range []string{`{}`, `{"reference":null}`} {
		if got, err := drift.ReadReference([]byte(none)); got != nil || err != nil {
			t.Errorf("%s: got %+v, %v", none, got, err)
		}
	}
	for _, bad := range []string{``, `[]`, `{"reference":1}`} {
		if _, err := drift.ReadReference([]byte(bad)); err == nil {
			t.Errorf("%s is read", bad)
		}
	}
}
