package cfa_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/wardcast/wardcast/internal/questionnaire/cfa"
)

// few draws a model of two to four factors of three or four items each, and the answers of 80 people to them: numbers,
// some of them missing where share says so, or categories.
func few(r *rand.Rand, missing float64, categories int) (text, model string) {
	const people = 80
	var names, lines []string
	var factor []int
	var loadings []float64
	factors := 2 + r.IntN(3)
	for k := range factors {
		var of []string
		for range 3 + r.IntN(2) {
			name := fmt.Sprint("q", len(names)+1)
			names, of = append(names, name), append(of, name)
			factor, loadings = append(factor, k), append(loadings, .3+.5*r.Float64())
		}
		lines = append(lines, fmt.Sprintf("f%d =~ %s", k, strings.Join(of, " + ")))
	}
	var b strings.Builder
	b.WriteString(strings.Join(names, ",") + "\n")
	scores := make([]float64, factors)
	for range people {
		common := r.NormFloat64()
		for k := range scores {
			scores[k] = math.Sqrt(.3)*common + math.Sqrt(.7)*r.NormFloat64()
		}
		cells := make([]string, len(names))
		for j, l := range loadings {
			y := l*scores[factor[j]] + math.Sqrt(1-l*l)*r.NormFloat64()
			if r.Float64() < missing {
				continue
			}
			if categories > 0 {
				y = min(max(math.Floor(y+float64(categories)/2), 0), float64(categories-1))
			}
			cells[j] = strconv.FormatFloat(y, 'g', 8, 64)
		}
		b.WriteString(strings.Join(cells, ",") + "\n")
	}
	return b.String(), strings.Join(lines, "\n")
}

// In samples of few people a loading may have another sign than that of the first item, and the way to it leads through
// endless values: the search goes another way. Where there is no minimum, the message says which item is the reason.
func TestSearchesOfFewPeople(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name       string
		o          cfa.Options
		missing    float64
		categories int
		seeds      []uint64
		say        string
	}{
		{name: "ml", seeds: []uint64{17, 89}},
		{name: "ml without a minimum", seeds: []uint64{86}, say: `"q3" falls below 0 without end`},
		{name: "fiml", o: cfa.Options{Estimator: cfa.FIML}, missing: .1, seeds: []uint64{14, 89}},
		{name: "wlsmv", o: cfa.Options{Ordered: []string{"all"}}, categories: 5, seeds: []uint64{89}},
	} {
		for _, s := range c.seeds {
			text, model := few(rand.New(rand.NewPCG(s, 77)), c.missing, c.categories)
			_, err := attempt(t, c.o, text, model)
			if c.say == "" && err != nil || c.say != "" && (err == nil || !strings.Contains(err.Error(), c.say)) {
				t.Errorf("%s, sample %d: error %v, want %q", c.name, s, err, c.say)
			}
		}
	}
}
