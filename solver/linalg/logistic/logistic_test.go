package logistic

import (
	"math"
	"math/rand/v2"
	"runtime"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/solver/linalg"
	"github.com/wardcast/wardcast/solver/matrix"
)

func normal(stream uint64, rows, cols int) *mat.Dense {
	random := rand.New(rand.NewPCG(1, stream))
	a := mat.NewDense(rows, cols, nil)
	a.Apply(func(_, _ int, _ float64) float64 { return random.NormFloat64() }, a)
	return a
}

// coins returns 0 and 1, one in six of them 1.
func coins(stream uint64, rows, cols int) *mat.Dense {
	x := normal(stream, rows, cols)
	x.Apply(func(_, _ int, v float64) float64 {
		if v > 1 {
			return 1
		}
		return 0
	}, x)
	return x
}

// sparse returns x in compressed rows.
func sparse(t *testing.T, x *mat.Dense) *matrix.CSR {
	t.Helper()
	n, p := x.Dims()
	indptr := []int{0}
	var columns []int32
	var values []float64
	for i := range n {
		for j, v := range x.RawRowView(i) {
			if v != 0 {
				columns, values = append(columns, int32(j)), append(values, v)
			}
		}
		indptr = append(indptr, len(values))
	}
	s, err := matrix.NewCSR(n, p, indptr, columns, values)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func newPoint(topics, scores *mat.Dense) *Point {
	n, k := scores.Dims()
	p, _ := topics.Dims()
	return &Point{
		Topics: topics, Scores: scores, TopicsGradient: mat.NewDense(p, k, nil),
		ScoresGradient: mat.NewDense(n, k, nil), Curvature: make([]float64, n),
	}
}

// Gradients and curvatures are those of the objective by differences, over the borders of tiles and of lanes, for both
// kinds of matrix.
func TestDerivatives(t *testing.T) {
	t.Parallel()
	const n, p, k, h = 37, tileColumns + 40, 3, 1e-4
	x, topics, scores := coins(20, n, p), normal(21, p, k), normal(22, n, k)
	for name, operator := range map[string]mat.Matrix{"dense": x, "sparse": sparse(t, x)} {
		loss := New(operator, k)
		at := newPoint(topics, scores)
		at.ScoresCurvature = mat.NewDense(n, k, nil)
		loss.Evaluate(at)
		moved := func(entry func(*Point) *float64, by float64) float64 {
			point := newPoint(mat.DenseCopyOf(topics), mat.DenseCopyOf(scores))
			*entry(point) += by
			loss.Evaluate(point)
			return point.Objective
		}
		for c := range k {
			for _, i := range []int{0, 4, 5, n - 1} {
				entry := func(point *Point) *float64 { return &point.Scores.RawRowView(i)[c] }
				up, down := moved(entry, h), moved(entry, -h)
				if want, got := (up-down)/(2*h),
					at.ScoresGradient.At(i, c); math.Abs(got-want) > 1e-5*(1+math.Abs(want)) {
					t.Errorf("%s: gradient of score %d, %d is %g, by differences %g", name, i, c, got, want)
				}
				if want, got := (up-2*at.Objective+down)/(h*h),
					at.ScoresCurvature.At(i, c); math.Abs(got-want) > 1e-3*(1+want) {
					t.Errorf("%s: curvature of score %d, %d is %g, by differences %g", name, i, c, got, want)
				}
			}
			for _, j := range []int{0, tileColumns - 1, tileColumns, p - 1} {
				entry := func(point *Point) *float64 { return &point.Topics.RawRowView(j)[c] }
				if want, got := (moved(entry, h)-moved(entry, -h))/(2*h),
					at.TopicsGradient.At(j, c); math.Abs(got-want) > 1e-5*(1+math.Abs(want)) {
					t.Errorf("%s: gradient of topic entry %d, %d is %g, by differences %g", name, j, c, got, want)
				}
			}
		}
	}
}

// No log-odds overflow: the loss is 0 for those that fit, and their magnitude for those that do not.
func TestLargeLogOdds(t *testing.T) {
	t.Parallel()
	x := linalg.Dense{Dense: mat.NewDense(1, 2, []float64{1, 0})}
	for _, size := range []float64{40, 400, 800, 1e10, 1e150} {
		loss := New(x, 2)
		fitting := newPoint(mat.NewDense(2, 2, []float64{1, 0, 0, -1}), mat.NewDense(1, 2, []float64{size, size}))
		loss.Evaluate(fitting)
		opposite := newPoint(mat.NewDense(2, 2, []float64{-1, 0, 0, 1}), mat.NewDense(1, 2, []float64{size, size}))
		loss.Evaluate(opposite)
		if got, want := fitting.Objective, 2*math.Log1p(math.Exp(-size)); math.Abs(got-want) > 1e-12*want {
			t.Errorf("log-odds of ±%g that fit cost %g, want %g", size, got, want)
		}
		if got, want := opposite.Objective, 2*size; math.Abs(got/want-1) > 1e-12 {
			t.Errorf("log-odds of ±%g that do not fit cost %g, want %g", size, got, want)
		}
	}
}

// Derivatives that are not requested do not change the others, and a matrix without ones is all zeros.
func TestPartsOfAPoint(t *testing.T) {
	t.Parallel()
	const n, p, k = 300, tileColumns + 40, 5
	topics, scores := normal(2, p, k), normal(3, n, k)
	for name, x := range map[string]*mat.Dense{"coins": coins(1, n, p), "zeros": mat.NewDense(n, p, nil)} {
		dense, all := New(x, k), newPoint(topics, scores)
		dense.Evaluate(all)
		loss, forTopics, forScores := New(sparse(t, x), k), newPoint(topics, scores), newPoint(topics, scores)
		forTopics.ScoresGradient, forTopics.Curvature, forScores.TopicsGradient = nil, nil, nil
		loss.Evaluate(forTopics)
		loss.Evaluate(forScores)
		if forTopics.Objective != all.Objective || !mat.Equal(forTopics.TopicsGradient, all.TopicsGradient) {
			t.Errorf("%s: the gradient of the topics alone differs", name)
		}
		if forScores.Objective != all.Objective || !mat.Equal(forScores.ScoresGradient, all.ScoresGradient) {
			t.Errorf("%s: the gradient of the scores alone differs", name)
		}
	}
}

// Not parallel: it sets GOMAXPROCS of the process.
func TestSameBitsOnAnyNumberOfThreads(t *testing.T) {
	const n, p, k = 1100, 1500, 5
	at, want := newPoint(normal(2, p, k), normal(3, n, k)), (*Point)(nil)
	loss := New(sparse(t, coins(1, n, p)), k)
	for _, threads := range []int{1, 2, 5} {
		before := runtime.GOMAXPROCS(threads)
		loss.Evaluate(at)
		runtime.GOMAXPROCS(before)
		if want == nil {
			want = newPoint(at.Topics, at.Scores)
			want.Objective = at.Objective
			want.TopicsGradient.Copy(at.TopicsGradient)
			want.ScoresGradient.Copy(at.ScoresGradient)
		}
		if at.Objective != want.Objective || !mat.Equal(at.TopicsGradient, want.TopicsGradient) ||
			!mat.Equal(at.ScoresGradient, want.ScoresGradient) {
			t.Errorf("%d threads: other bits than on one", threads)
		}
	}
}
