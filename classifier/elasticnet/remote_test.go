package elasticnet

import (
	"errors"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
)

// shards adds the answers of parts of the rows, in their order.
type shards struct {
	parts  []Shard
	rounds atomic.Int64
	fails  int64 // at this round
	busy   sync.Mutex
}

var errLost = errors.New("lost")

// cut returns the rows of x in three parts, and a sample of them.
func cut(t *testing.T, x *Product, y []bool, foldOf []int) (*shards, *Product) {
	t.Helper()
	take := func(from, to, step int) *Product {
		starts, columns, values := []int{0}, []int32{}, []float32{}
		for i := from; i < to; i += step {
			columns = append(columns, x.columns[x.starts[i]:x.starts[i+1]]...)
			values = append(values, x.values[x.starts[i]:x.starts[i+1]]...)
			starts = append(starts, len(columns))
		}
		part, err := NewProduct(starts, columns, values, x.t)
		if err != nil {
			t.Fatal(err)
		}
		return part
	}
	s, last := &shards{}, 0
	for _, to := range []int{x.n / 4, x.n / 2, x.n} {
		s.parts = append(s.parts, Shard{take(last, to, 1), y[last:to], foldOf[last:to]})
		last = to
	}
	return s, take(0, x.n, Sampled(x.n))
}

func (s *shards) Slopes(at []Point) ([]Slope, error) {
	if !s.busy.TryLock() {
		return nil, errors.New("asked before the last round was answered")
	}
	defer s.busy.Unlock()
	if s.rounds.Add(1) == s.fails {
		return nil, errLost
	}
	var all []Slope
	for _, p := range s.parts {
		more, _ := p.Slopes(at)
		if all == nil {
			all = more
			continue
		}
		for i, m := range more {
			all[i].Loss += m.Loss
			all[i].Intercept += m.Intercept
			all[i].Rows += m.Rows
			for j, v := range m.Base {
				all[i].Base[j] += v
			}
		}
	}
	return all, nil
}

func (s *shards) LogOdds(at []Point) (all []float64, _ error) {
	for _, p := range s.parts {
		more, _ := p.LogOdds(at)
		all = append(all, more...)
	}
	return all, nil
}

// TestRemote: rows in three shards have the coefficients of the whole, in far fewer rounds than folds ask.
func TestRemote(t *testing.T) {
	t.Parallel()
	x, _, y, foldOf := product(t, 25_000, 60, 45)
	for _, oneSE := range []bool{false, true} {
		s := Settings{Alpha: 0.1, NLambda: 30, Tolerance: 1e-6, OneSE: oneSE}
		want, err := x.Choose(t.Context(), y, foldOf, s)
		if err != nil {
			t.Fatal(err)
		}
		rows, sample := cut(t, x, y, foldOf)
		whole := Shard{sample, y, foldOf}
		got, err := whole.ChooseRemote(t.Context(), rows, s)
		if err != nil {
			t.Fatal(err)
		}
		var worst float64
		for j, b := range want.Coefficients {
			worst = max(worst, math.Abs(b-got.Coefficients[j]))
		}
		for i, eta := range want.OutOfFold {
			worst = max(worst, math.Abs(eta-got.OutOfFold[i]))
		}
		if worst > 1e-9 || got.At != want.At || len(got.Lambda) != len(want.Lambda) {
			t.Errorf("OneSE %v: λ %d of %d, want %d of %d; differences up to %v", oneSE, got.At, len(got.Lambda),
				want.At, len(want.Lambda), worst)
		}
		if most := int64(70 * len(got.Lambda)); rows.rounds.Load() > most {
			t.Errorf("%d rounds for %d λ", rows.rounds.Load(), len(got.Lambda))
		}
		for _, rows.fails = range []int64{1, 7, rows.rounds.Load() - 1} {
			rows.rounds.Store(0)
			if _, err := whole.ChooseRemote(t.Context(), rows, s); !errors.Is(err, errLost) {
				t.Errorf("a lost round %d gives %v", rows.fails, err)
			}
		}
	}
	if !slices.Contains(y, true) {
		t.Fatal("no label is positive")
	}
}
