package solver_test

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/solver"
	"github.com/wardcast/wardcast/solver/linalg"
	"github.com/wardcast/wardcast/solver/matrix"
)

func start(t *testing.T, x mat.Matrix, s solver.Settings) *mat.Dense {
	t.Helper()
	p := &solver.Problem{X: linalg.OperatorOf(x, 0), Settings: s}
	topics, err := p.OrthonormalTopics(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var gram mat.Dense
	gram.Mul(topics.T(), topics)
	for i := range s.Rank {
		gram.Set(i, i, gram.At(i, i)-1)
	}
	if drift := mat.Norm(&gram, 2); drift > 1e-10 {
		t.Errorf("start %s: topics are orthonormal to %g", s.Init, drift)
	}
	return topics
}

func uniform(seed uint64, n, p int) *mat.Dense {
	random := rand.New(rand.NewPCG(seed, 0))
	x := mat.NewDense(n, p, nil)
	x.Apply(func(_, _ int, _ float64) float64 { return random.NormFloat64() }, x)
	return x
}

// Of v and −v the start takes the one with more positive scores, for each column by itself and whatever the sign of X.
func TestSVDStartChoosesSigns(t *testing.T) {
	t.Parallel()
	x := uniform(1, 30, 20)
	for _, factor := range []float64{1, -1} {
		x.Scale(factor, x)
		topics := start(t, x, solver.Settings{Rank: 6, Init: solver.InitSVD})
		var scores mat.Dense
		scores.Mul(x, topics)
		for c := range 6 {
			var positive, negative float64
			for i := range 30 {
				v := scores.At(i, c)
				positive += max(v, 0) * max(v, 0)
				negative += min(v, 0) * min(v, 0)
			}
			if positive < negative {
				t.Errorf("factor %g, column %d: squared scores %g above and %g below 0", factor, c, positive, negative)
			}
		}
	}
}

// With more topics than X has rank, the leading ones span it.
func TestStartAboveTheRank(t *testing.T) {
	t.Parallel()
	var x mat.Dense
	x.Mul(uniform(2, 10, 2), uniform(3, 2, 9))
	for _, init := range []solver.Init{solver.InitSVD, solver.InitRandom, solver.InitKMeans} {
		topics := start(t, &x, solver.Settings{Rank: 7, Init: init})
		if init == solver.InitRandom {
			continue
		}
		var scores mat.Dense
		scores.Mul(&x, topics)
		if lost := mat.Norm(&x, 2) - mat.Norm(&scores, 2); math.Abs(lost) > 1e-9 {
			t.Errorf("start %s: %g of X outside the topics", init, lost)
		}
	}
}

func TestRandomStartFollowsSeed(t *testing.T) {
	t.Parallel()
	x := uniform(4, 5, 40)
	for _, init := range []solver.Init{solver.InitRandom, solver.InitKMeans} {
		first := start(t, x, solver.Settings{Rank: 3, Init: init, Seed: 1})
		if !mat.Equal(first, start(t, x, solver.Settings{Rank: 3, Init: init, Seed: 1})) {
			t.Errorf("start %s: one seed, two starts", init)
		}
		if mat.Equal(first, start(t, x, solver.Settings{Rank: 3, Init: init, Seed: 2})) {
			t.Errorf("start %s: two seeds, one start", init)
		}
	}
}

// A random start of very many terms needs no p×p matrix.
func TestRandomStartOfManyTerms(t *testing.T) {
	t.Parallel()
	const p = 200_000
	x, err := matrix.NewCSR(1, p, []int{0, 1}, []int32{7}, []float64{1})
	if err != nil {
		t.Fatal(err)
	}
	start(t, x, solver.Settings{Rank: 3, Init: solver.InitRandom})
}

// Documents in well separated clusters are found again: the topics span their means.
func TestKMeansStart(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(5, 5))
	centres := uniform(6, 4, 25)
	centres.Scale(10, centres)
	x := mat.NewDense(80, 25, nil)
	x.Apply(func(i, j int, _ float64) float64 { return centres.At(i%4, j) + 0.01*random.NormFloat64() }, x)
	for seed := range uint64(5) {
		topics := start(t, x, solver.Settings{Rank: 4, Init: solver.InitKMeans, Seed: seed})
		var scores mat.Dense
		scores.Mul(centres, topics)
		if kept := mat.Norm(&scores, 2) / mat.Norm(centres, 2); kept < 0.9999 {
			t.Errorf("seed %d: the topics hold %g of the centres", seed, kept)
		}
	}
}

// Given topics that are not orthonormal are replaced by the nearest that are, in a copy.
func TestGivenStart(t *testing.T) {
	t.Parallel()
	x := uniform(7, 9, 6)
	given := uniform(8, 6, 2)
	kept := mat.DenseCopyOf(given)
	got := start(t, x, solver.Settings{Rank: 2, StartTopics: given})
	want := mat.NewDense(6, 2, nil)
	if err := linalg.Threads(0).PolarTo(want, given); err != nil {
		t.Fatal(err)
	}
	if !mat.EqualApprox(got, want, 1e-12) || !mat.Equal(given, kept) {
		t.Error("start topics: not the nearest orthonormal ones, or modified")
	}

	scores := uniform(9, 9, 2)
	got = start(t, x, solver.Settings{Rank: 2, StartScores: scores})
	var cross mat.Dense
	cross.Mul(x.T(), scores)
	if err := linalg.Threads(0).PolarTo(want, &cross); err != nil {
		t.Fatal(err)
	}
	if !mat.EqualApprox(got, want, 1e-12) {
		t.Error("start scores: not the best topics for them")
	}
}

// asked is a context that ends after this many calls of Err.
type asked struct {
	context.Context
	left, after int
}

func (c *asked) Err() error {
	if c.left > 0 {
		c.left--
		return nil
	}
	c.after++
	return context.Canceled
}

// Clusters are neither drawn nor improved after the context has ended.
func TestCentroidsCancelled(t *testing.T) {
	t.Parallel()
	const k = 6
	p := &solver.Problem{X: linalg.OperatorOf(uniform(3, 60, 20), 0), Settings: solver.Settings{Rank: k, Seed: 1}}
	var previous *mat.Dense
	for left := range k + 3 {
		ctx := &asked{Context: t.Context(), left: left}
		c := p.Centroids(ctx)
		drawn := 0
		for t := range k {
			if mat.Norm(c.ColView(t), 2) > 0 {
				drawn++
			}
		}
		if drawn != min(left, k) || ctx.after == 0 || ctx.after > 2 {
			t.Errorf("%d answers: %d centroids, asked %d times after", left, drawn, ctx.after)
		}
		if left > k && mat.Equal(c, previous) {
			t.Errorf("%d answers: the round after the last changes nothing", left)
		}
		previous = c
	}
}
