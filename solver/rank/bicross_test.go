package rank_test

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/solver"
	"github.com/wardcast/wardcast/solver/matrix"
	"github.com/wardcast/wardcast/solver/nmf"
	"github.com/wardcast/wardcast/solver/rank"
	"github.com/wardcast/wardcast/solver/svd"
)

// plantedParts returns an n×p matrix of k non-negative parts, two thirds of the loadings and scores not 0, with noise.
func plantedParts(n, p, k int, noise float64) *mat.Dense {
	random := rand.New(rand.NewPCG(1, 0))
	part := func(rows int) *mat.Dense {
		m := mat.NewDense(rows, k, nil)
		m.Apply(func(_, _ int, _ float64) float64 {
			return max(0, random.Float64()-1.0/3)
		}, m)
		return m
	}
	x := new(mat.Dense)
	x.Mul(part(n), part(p).T())
	x.Apply(func(_, _ int, v float64) float64 { return max(0, v+noise*random.NormFloat64()) }, x)
	return x
}

func solve(method solver.Method) rank.Fit {
	return func(ctx context.Context, x mat.Matrix, factors int, _ uint64) (topics, scores *mat.Dense, err error) {
		r, err := solver.Solve(ctx, x, solver.Settings{Rank: factors, RelTol: 1e-6, MaxIter: 2000}, method)
		if err != nil {
			return nil, nil, err
		}
		return r.Topics, r.Scores, nil
	}
}

func sparse(t *testing.T, x *mat.Dense) *matrix.CSR {
	t.Helper()
	n, p := x.Dims()
	indptr := []int{0}
	var indices []int32
	var values []float64
	for i := range n {
		for j, v := range x.RawRowView(i) {
			if v != 0 {
				indices, values = append(indices, int32(j)), append(values, v)
			}
		}
		indptr = append(indptr, len(values))
	}
	c, err := matrix.NewCSR(n, p, indptr, indices, values)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func least(curve []solver.ErrorPoint) int {
	best := slices.MinFunc(curve, func(a, b solver.ErrorPoint) int {
		if a.Error < b.Error {
			return -1
		}
		return 1
	})
	return best.Factors
}

// The planted number of parts is found, and a sparse matrix gives the same as the dense one.
func TestBiCrossFindsTheNumberOfParts(t *testing.T) {
	t.Parallel()
	x := plantedParts(90, 60, 4, 0.05)
	for name, c := range map[string]struct {
		method      solver.Method
		nonNegative bool
	}{"svd": {svd.Method{}, false}, "nmf": {nmf.NMF{}, true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := rank.BiCrossSettings{
				Factors: []int{1, 2, 3, 4, 5, 6}, Jobs: rank.Jobs{Seed: 1},
				NonNegativeTopics: c.nonNegative, NonNegativeScores: c.nonNegative,
			}
			curve, err := rank.BiCrossValidate(t.Context(), x, solve(c.method), s)
			if err != nil {
				t.Fatal(err)
			}
			if got := least(curve); got != 4 {
				t.Errorf("least error at %d: %+v", got, curve)
			}
			again, err := rank.BiCrossValidate(t.Context(), sparse(t, x), solve(c.method), s)
			if err != nil {
				t.Fatal(err)
			}
			for i := range curve {
				if math.Abs(curve[i].Error-again[i].Error) > 1e-3*curve[i].Error {
					t.Errorf("%d factors: %v, sparse %v", curve[i].Factors, curve[i].Error, again[i].Error)
				}
			}
		})
	}
}

// A matrix of rank 2 is known from any two of its rows and columns.
func TestBiCrossOfExactRank(t *testing.T) {
	t.Parallel()
	x := plantedParts(20, 15, 2, 0)
	curve, err := rank.BiCrossValidate(t.Context(), x, solve(svd.Method{}),
		rank.BiCrossSettings{Factors: []int{1, 2}, Folds: 5})
	if err != nil {
		t.Fatal(err)
	}
	if curve[1].Error > 1e-20 || curve[0].Error < 1e-4 || curve[0].StandardError <= 0 {
		t.Errorf("%+v", curve)
	}
}

func TestBiCrossIsDeterministic(t *testing.T) {
	t.Parallel()
	x := plantedParts(40, 30, 3, 0.05)
	var first []solver.ErrorPoint
	for _, threads := range []int{1, 4} {
		last := 0
		curve, err := rank.BiCrossValidate(t.Context(), x, solve(nmf.NMF{}), rank.BiCrossSettings{
			Factors: []int{2, 3, 4}, NonNegativeTopics: true, NonNegativeScores: true,
			Jobs: rank.Jobs{Seed: 3, Threads: threads, Progress: func(done, total int) {
				if total != 27 || done != last+1 {
					t.Errorf("%d of %d after %d", done, total, last)
				}
				last = done
			}},
		})
		if err != nil {
			t.Fatal(err)
		}
		if last != 27 {
			t.Errorf("%d fits reported", last)
		}
		if first == nil {
			first = curve
		} else if !slices.Equal(curve, first) {
			t.Errorf("%d threads: %+v, want %+v", threads, curve, first)
		}
	}
}

func TestBiCrossRefuses(t *testing.T) {
	t.Parallel()
	x := plantedParts(12, 9, 2, 0.05)
	for name, s := range map[string]rank.BiCrossSettings{
		"no factor":          {Factors: []int{0}},
		"too many":           {Factors: []int{7}}, // 6 of 9 columns are kept
		"one fold":           {Factors: []int{2}, Folds: 1},
		"folds without rows": {Factors: []int{2}, Folds: 10},
	} {
		if _, err := rank.BiCrossValidate(t.Context(), x, solve(svd.Method{}), s); !errors.Is(err, solver.ErrSettings) {
			t.Errorf("%s: error %v", name, err)
		}
	}
	failing := errors.New("no")
	_, err := rank.BiCrossValidate(t.Context(), x,
		func(context.Context, mat.Matrix, int, uint64) (*mat.Dense, *mat.Dense, error) {
			return nil, nil, failing
		}, rank.BiCrossSettings{Factors: []int{2}})
	if !errors.Is(err, failing) {
		t.Errorf("error %v, want %v", err, failing)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(failing)
	if _, err := rank.BiCrossValidate(ctx, x, solve(svd.Method{}),
		rank.BiCrossSettings{Factors: []int{2}}); !errors.Is(err, failing) {
		t.Errorf("cancelled: error %v", err)
	}
}
