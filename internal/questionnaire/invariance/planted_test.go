package invariance_test

import (
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/internal/questionnaire"
	"github.com/wardcast/wardcast/internal/questionnaire/answers"
	"github.com/wardcast/wardcast/internal/questionnaire/certainty"
	"github.com/wardcast/wardcast/internal/questionnaire/fit"
	"github.com/wardcast/wardcast/internal/questionnaire/invariance"
	"github.com/wardcast/wardcast/internal/questionnaire/model"
	"github.com/wardcast/wardcast/solver"
)

// planted is a questionnaire with answers 0 to 4 to items of several normal factors, 6 items each, with loadings .6 to
// .85.
type planted struct {
	groups  [2]int // participants
	factors int
	impact  float64                            // of the first group: its factors are higher by this many deviations
	spread  float64                            // of the factors of the first group; 0 means 1
	missing float64                            // share of the answers
	shift   map[int]float64                    // of items in the first group, in deviations: uniform DIF
	loading func(first bool, j, t int) float64 // nil means as above
	low     float64                            // moves the thresholds: above 0, most answers are 0
}

const itemsOfFactor = 6

func (p *planted) table(seed uint64) *answers.Table {
	random := rand.New(rand.NewPCG(seed, 17))
	items := itemsOfFactor * p.factors
	n := p.groups[0] + p.groups[1]
	t := &answers.Table{
		File: "planted.csv", Answers: mat.NewDense(n, items, nil), Labels: [][]int8{make([]int8, n)},
		Remarks: answers.Remarks{Numbered: true},
	}
	for j := range items {
		t.Items = append(t.Items,
			questionnaire.Item{Name: "q" + strconv.Itoa(j+1), Range: &questionnaire.Range{High: 4}})
	}
	spread := p.spread
	if spread == 0 {
		spread = 1
	}
	for i := range n {
		t.IDs, t.Lines = append(t.IDs, strconv.Itoa(i)), append(t.Lines, i+2)
		first := i%2 == 0 && i/2 < p.groups[0] || i/2 >= p.groups[1]
		if first {
			t.Labels[0][i] = 1
		}
		common := random.NormFloat64()
		w := make([]float64, p.factors)
		for f := range w {
			w[f] = math.Sqrt(.3)*common + math.Sqrt(.7)*random.NormFloat64()
			if first {
				w[f] = spread*w[f] + p.impact
			}
		}
		for j := range items {
			v, squares := 0.0, 0.0
			for f := range w {
				q := simple(j, f)
				if p.loading != nil {
					q = p.loading(first, j, f)
				}
				v, squares = v+q*w[f], squares+q*q
			}
			v += math.Sqrt(max(.2, 1-squares)) * random.NormFloat64()
			if first {
				v += p.shift[j]
			}
			t.Answers.Set(i, j, min(max(math.Round(2+1.2*(v-p.low)), 0), 4))
			if random.Float64() < p.missing {
				t.Answers.Set(i, j, math.NaN())
			}
		}
	}
	return t
}

func simple(j, f int) float64 {
	if j/itemsOfFactor != f {
		return 0
	}
	return .6 + .05*float64(j%itemsOfFactor)
}

func (p *planted) options(seed uint64, method string) invariance.Options {
	o := invariance.Options{Bootstrap: certainty.LeastReplicates}
	o.Options = fit.Options{
		Table: p.table(seed), Method: method, Factors: []int{p.factors},
		Columns:  answers.Columns{Labels: []questionnaire.Label{{Name: "sex", Positive: "F", Negative: "M"}}},
		Learning: model.Learning{RelTol: solver.DefaultRelTol, Seed: 1, EqualRanges: true},
	}
	if method == model.MethodICQF {
		o.Betas = []float64{.1}
	}
	return o
}

// If one group misses more answers than the other, a warning says that DIF may be due to that. Items of one factor
// alone leave few patterns of missing answers.
func TestUnequalMissingAnswers(t *testing.T) {
	t.Parallel()
	p := &planted{groups: [2]int{250, 250}, factors: 1}
	o := p.options(11, model.MethodFA)
	random := rand.New(rand.NewPCG(11, 1))
	for i, class := range o.Table.Labels[0] {
		for j := range o.Table.Items {
			if class == 0 && random.Float64() < 0.4 {
				o.Table.Answers.Set(i, j, math.NaN())
			}
		}
	}
	r := run(t, o)
	if said := strings.Join(r.Warnings, "\n"); !strings.Contains(said, "the groups miss 0 and 38 %") {
		t.Errorf("warnings %s", said)
	}
	found := 0
	for _, d := range r.DIF.Items {
		if d.Found() {
			found++
		}
	}
	t.Logf("%d of %d items without DIF were found to have it", found, len(r.DIF.Items))
}
