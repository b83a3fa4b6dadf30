package methods_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/solver"
	"github.com/wardcast/wardcast/solver/linalg"
	"github.com/wardcast/wardcast/solver/matrix"
)

// caseSeed makes the cases the same in every run.
const caseSeed = 20

func source(stream uint64) *rand.Rand { return rand.New(rand.NewPCG(caseSeed, stream)) }

// planted returns X = G·Fᵀ without noise, F and G. The columns of F are non-negative, of length one, and share no term.
// Three documents of four have a single topic, so that no other non-negative factors give X.
func planted(n, p, k int) (x, topics, scores *mat.Dense) {
	random := source(1)
	topics, scores = mat.NewDense(p, k, nil), mat.NewDense(n, k, nil)
	for j := range p {
		topics.Set(j, j%k, 0.5+random.Float64())
	}
	for t := range k {
		column := topics.ColView(t).(*mat.VecDense)
		column.ScaleVec(1/mat.Norm(column, 2), column)
	}
	for i := range n {
		scores.Set(i, i%k, 1+random.Float64())
		if i >= 3*n/4 {
			scores.Set(i, (i+1)%k, random.Float64())
		}
	}
	x = mat.NewDense(n, p, nil)
	x.Mul(scores, topics.T())
	return x, topics, scores
}

// plantedBinary returns 0/1 draws with the log-odds G·Fᵀ of the factors of planted, G times ten.
func plantedBinary(n, p, k int) (x, topics, scores *mat.Dense) {
	x, topics, scores = planted(n, p, k)
	scores.Scale(10, scores)
	random := source(4)
	x.Apply(func(_, _ int, v float64) float64 {
		if random.Float64() < 1/(1+math.Exp(-10*v)) {
			return 1
		}
		return 0
	}, x)
	return x, topics, scores
}

// within moves x into the domain of the method: absolute values, or 1 for entries of at least one and 0 for the rest.
func (s *suite) within(x *mat.Dense, one float64) *mat.Dense {
	x.Apply(func(_, _ int, v float64) float64 {
		switch {
		case s.domain == solver.NonNegative:
			return math.Abs(v)
		case s.domain == solver.Real:
			return v
		case v >= one:
			return 1
		default:
			return 0
		}
	}, x)
	return x
}

// noisyMean is the mean entry of noisy.
const noisyMean = 1

func (s *suite) noisy(n, p int) *mat.Dense { return s.within(noisy(n, p), noisyMean) }

func (s *suite) sparse(n, p int) *mat.Dense {
	return s.within(sparse(n, p), math.SmallestNonzeroFloat64)
}

func (s *suite) edgeCases() map[string]*mat.Dense {
	cases := edgeCases()
	for _, x := range cases {
		s.within(x, noisyMean)
	}
	return cases
}

// noisy returns non-negative factors of rank 4 with normal noise; some entries are negative.
func noisy(n, p int) *mat.Dense {
	random := source(2)
	left, right := mat.NewDense(n, 4, nil), mat.NewDense(p, 4, nil)
	left.Apply(func(_, _ int, _ float64) float64 { return random.Float64() }, left)
	right.Apply(func(_, _ int, _ float64) float64 { return random.Float64() }, right)
	x := mat.NewDense(n, p, nil)
	x.Mul(left, right.T())
	x.Apply(func(_, _ int, v float64) float64 { return v + 0.3*random.NormFloat64() }, x)
	return x
}

// sparse returns a non-negative matrix with nine zeros of ten entries, as of text, with an empty row and column.
func sparse(n, p int) *mat.Dense {
	random := source(3)
	x := mat.NewDense(n, p, nil)
	for i := 1; i < n; i++ {
		for j := 1; j < p; j++ {
			if random.IntN(10) == 0 || i%4 == j%4 && random.IntN(4) == 0 {
				x.Set(i, j, random.Float64())
			}
		}
	}
	return x
}

// edgeCases returns small matrices, each degenerate in its own way.
func edgeCases() map[string]*mat.Dense {
	zeroLines := noisy(8, 6)
	for j := range 6 {
		zeroLines.Set(2, j, 0)
	}
	for i := range 8 {
		zeroLines.Set(i, 4, 0)
	}
	duplicates := noisy(9, 5)
	for i := range 9 {
		duplicates.SetRow(i, duplicates.RawRowView(i%2))
	}
	negative := noisy(7, 6)
	negative.Apply(func(_, _ int, v float64) float64 { return -math.Abs(v) }, negative)
	ones := mat.NewDense(6, 5, nil)
	ones.Apply(func(_, _ int, _ float64) float64 { return 1 }, ones)
	return map[string]*mat.Dense{
		"one row":         noisy(1, 6),
		"one column":      noisy(6, 1),
		"one entry":       noisy(1, 1),
		"wide":            noisy(3, 12),
		"zero":            mat.NewDense(5, 4, nil),
		"zero lines":      zeroLines,
		"duplicate rows":  duplicates,
		"negative":        negative,
		"constant":        ones,
		"tiny":            scaled(noisy(6, 5), 1e-150),
		"large":           scaled(noisy(6, 5), 1e60),
		"mixed magnitude": mixed(),
	}
}

func scaled(x *mat.Dense, factor float64) *mat.Dense {
	x.Scale(factor, x)
	return x
}

// mixed has rows of sizes from 1e-8 to 1e8.
func mixed() *mat.Dense {
	x := noisy(9, 6)
	x.Apply(func(i, _ int, v float64) float64 { return v * math.Pow(10, float64(2*i-8)) }, x)
	return x
}

// csr returns the sparse form of x.
func csr(t *testing.T, x *mat.Dense) *matrix.CSR {
	t.Helper()
	n, p := x.Dims()
	indptr := make([]int, 1, n+1)
	var indices []int32
	var values []float64
	for i := range n {
		for j, v := range x.RawRowView(i) {
			if v != 0 {
				indices = append(indices, int32(j))
				values = append(values, v)
			}
		}
		indptr = append(indptr, len(values))
	}
	s, err := matrix.NewCSR(n, p, indptr, indices, values)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// lengthsInSpan returns the lengths of the projections of the columns of a on the span of those of b.
func lengthsInSpan(a, b *mat.Dense) []float64 {
	rows, k := b.Dims()
	var qr mat.QR
	var q, inner mat.Dense
	qr.Factorize(b)
	qr.QTo(&q)
	inner.Mul(q.Slice(0, rows, 0, k).T(), a)
	lengths := make([]float64, k)
	for t := range lengths {
		lengths[t] = mat.Norm(inner.ColView(t), 2)
	}
	return lengths
}

func sumOfSquares(x *mat.Dense) float64 { return linalg.Dense{Dense: x}.NormSquared() }

// distance returns ‖A − B‖.
func distance(a, b *mat.Dense) float64 {
	var d mat.Dense
	d.Sub(a, b)
	return mat.Norm(&d, 2)
}
