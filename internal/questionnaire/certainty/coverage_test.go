package certainty_test

import (
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/internal/questionnaire"
	"github.com/wardcast/wardcast/internal/questionnaire/answers"
	"github.com/wardcast/wardcast/internal/questionnaire/certainty"
	"github.com/wardcast/wardcast/internal/questionnaire/fit"
	"github.com/wardcast/wardcast/internal/questionnaire/model"
	"github.com/wardcast/wardcast/solver/align"
)

// What the samples plant: three factors of three items each.
const (
	items   = 9
	factors = 3
	top     = 4.0
)

// strength is the loading of an item on its factor, as a share of the largest.
func strength(item int) float64 { return []float64{0.8, 0.7, 0.6}[item/factors] }

// normal draws standardized answers of factors that correlate by .3.
func normal(seed uint64, n int) *mat.Dense {
	random := rand.New(rand.NewPCG(seed, 1))
	x := mat.NewDense(n, items, nil)
	for i := range n {
		var f [factors]float64
		common := random.NormFloat64()
		for t := range f {
			f[t] = math.Sqrt(0.3)*common + math.Sqrt(0.7)*random.NormFloat64()
		}
		for j := range items {
			q := strength(j)
			x.Set(i, j, q*f[j%factors]+math.Sqrt(1-q*q)*random.NormFloat64())
		}
	}
	return x
}

// bounded draws answers 0 to 4 of factors that are absent in a quarter and fully present in a quarter of the participants.
// Some items load on two factors.
func bounded(seed uint64, n int) *mat.Dense {
	random := rand.New(rand.NewPCG(seed, 2))
	x := mat.NewDense(n, items, nil)
	for i := range n {
		var w [factors]float64
		for t := range w {
			w[t] = max(0, min(1, random.Float64()*2-0.5))
		}
		for j := range items {
			v := 4.5*strength(j)*w[j%factors] + 0.4*w[(j+1)%factors]*float64(j%2) + 0.3*random.NormFloat64()
			x.Set(i, j, max(0, min(top, v)))
		}
	}
	return x
}

// noise draws answers that nothing explains.
func noise(seed uint64, n int) *mat.Dense {
	random := rand.New(rand.NewPCG(seed, 3))
	x := mat.NewDense(n, items, nil)
	x.Apply(func(_, _ int, _ float64) float64 { return top * random.Float64() }, x)
	return x
}

// options are those of a fit to these answers.
func options(x *mat.Dense, method string, beta float64) *fit.Options {
	n, p := x.Dims()
	t := &answers.Table{File: "planted", Answers: x}
	for j := range p {
		t.Items = append(t.Items, questionnaire.Item{Name: "q" + strconv.Itoa(j+1), Range: &questionnaire.Range{High: top}})
	}
	for i := range n {
		t.IDs, t.Lines = append(t.IDs, strconv.Itoa(i)), append(t.Lines, i+2)
	}
	o := &fit.Options{Method: method, Table: t, Factors: []int{factors}, Learning: model.Learning{Seed: 1, Threads: 1, RelTol: 1e-5}}
	if method == model.MethodICQF {
		o.Betas = []float64{beta}
	}
	return o
}

// learn fits these answers.
func learn(t *testing.T, x *mat.Dense, method string, beta float64) (*fit.Options, *fit.Outcome) {
	t.Helper()
	o := options(x, method, beta)
	s, err := o.Begin()
	if err != nil {
		t.Fatal(err)
	}
	c := model.Candidate{Factors: factors, Beta: beta}
	l, err := o.Learn(t.Context(), s, s.Order, c)
	if err != nil {
		t.Fatal(err)
	}
	scores, err := l.Score(l.Rows)
	if err != nil {
		t.Fatal(err)
	}
	return o, &fit.Outcome{Learnt: l, Study: s, Candidate: c, Scores: scores}
}

// covered counts the intervals that hold the truth: of loadings of the items of a factor, and of all others.
type covered struct{ own, ownAll, other, otherAll float64 }

func (c *covered) add(is, own bool) {
	n := 0.0
	if is {
		n = 1
	}
	if own {
		c.own, c.ownAll = c.own+n, c.ownAll+1
	} else {
		c.other, c.otherAll = c.other+n, c.otherAll+1
	}
}
