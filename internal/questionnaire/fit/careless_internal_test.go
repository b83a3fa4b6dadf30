package fit

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/internal/lists"
	"github.com/wardcast/wardcast/internal/questionnaire"
	"github.com/wardcast/wardcast/internal/questionnaire/answers"
	"github.com/wardcast/wardcast/solver/linalg"
)

// Answers of 1 to 5 to eight items as they were given; the third and the fourth are reversed.
func TestEqualAnswers(t *testing.T) {
	t.Parallel()
	missing := math.NaN()
	for _, c := range []struct {
		name                      string
		given                     []float64
		longest, count, commonest int
	}{
		{"all different", []float64{1, 2, 3, 4, 5, 4, 3, 2}, 1, 8, 3}, // as scored 1, 2, 3, 2, 5, 4, 3, 2
		{"one answer to all", []float64{4, 4, 4, 4, 4, 4, 4, 4}, 8, 8, 8},
		{"the lowest, which the reversed ones contradict", []float64{1, 1, 1, 1, 1, 1, 1, 1}, 8, 8, 8},
		{"no symptom at all", []float64{1, 1, 5, 5, 1, 1, 1, 1}, 0, 8, 8},
		{"a missing answer ends a string", []float64{4, 4, missing, 4, 4, 4, 3, 3}, 3, 7, 5},
		{"none", []float64{missing, missing, missing, missing, missing, missing, missing, missing}, 0, 0, 0},
	} {
		for _, fromLow := range []bool{false, true} {
			s := &Study{Table: &answers.Table{Answers: mat.NewDense(1, len(c.given), nil)}}
			for j, v := range c.given {
				item := questionnaire.Item{Range: &questionnaire.Range{Low: 1, High: 5}, Reversed: j == 2 || j == 3}
				s.Items = append(s.Items, item)
				s.Answers.Set(0, j, item.Orient(v, fromLow))
			}
			longest, count, commonest := s.equal(0, fromLow, make([]map[float64]float64, len(c.given)))
			if longest != c.longest || count != c.count || commonest != c.commonest {
				t.Errorf("%s, from low %t: %d, %d, %d, want %d, %d, %d", c.name, fromLow, longest, count, commonest, c.longest,
					c.count, c.commonest)
			}
		}
	}
}

// The order of items does not decide whether a string is long: of nine equal answers, the three that most people gave
// may come first, in the middle or last. If that gives a mean of 45 % or more, the longest part below that counts.
func TestStringsOfCommonAnswers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		shares []float64
		want   int
	}{
		{[]float64{0.8, 0.8, 0.8, 0.2, 0.2, 0.2, 0.2, 0.2, 0.2}, 9},
		{[]float64{0.2, 0.2, 0.2, 0.8, 0.8, 0.8, 0.2, 0.2, 0.2}, 9},
		{[]float64{0.2, 0.2, 0.2, 0.2, 0.2, 0.2, 0.8, 0.8, 0.8}, 9},
		{[]float64{0.9, 0.9, 0.9, 0.9, 0.2, 0.2, 0.2, 0.2, 0.2}, 7},
		{[]float64{0.2, 0.2, 0.2, 0.2, 0.2, 0.9, 0.9, 0.9, 0.9}, 7},
		{[]float64{0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5}, 0},
	} {
		s := &Study{Table: &answers.Table{Answers: mat.NewDense(1, len(c.shares), slices.Repeat([]float64{1}, 9))}}
		s.Items = slices.Repeat([]questionnaire.Item{{Range: &questionnaire.Range{High: 4}}}, len(c.shares))
		shares := lists.Map(c.shares, func(share float64) map[float64]float64 { return map[float64]float64{1: share} })
		if longest, _, _ := s.equal(0, false, shares); longest != c.want {
			t.Errorf("%v: %d, want %d", c.shares, longest, c.want)
		}
	}
}

// Honest people repeat the row of another one by chance if few rows are possible: these rows are no duplicates. Copies
// of unlikely rows are, however many there are of one.
func TestChanceDuplicates(t *testing.T) {
	t.Parallel()
	const people = 1000
	for _, c := range []struct {
		items, categories, copied, copies int // as many rows are copied, as often
		least                             int // duplicates
	}{{12, 2, 10, 1, 0}, {12, 3, 10, 1, 0}, {25, 2, 10, 1, 7}, {25, 5, 10, 1, 10}, {12, 5, 1, 200, 199}} {
		random := rand.New(rand.NewPCG(9, 0))
		all := people + c.copied*c.copies
		s := &Study{Table: &answers.Table{Answers: mat.NewDense(all, c.items, nil)}}
		s.IDs, s.Order = make([]string, all), linalg.Indices(all)
		s.Lines = s.Order
		high := float64(c.categories - 1)
		s.Items = slices.Repeat([]questionnaire.Item{{Range: &questionnaire.Range{High: high}}}, c.items)
		for i := range people {
			factor := random.NormFloat64()
			for j := range c.items {
				v := 0.5*factor + math.Sqrt(0.75)*random.NormFloat64()
				s.Answers.Set(i, j, math.Floor(0.5*math.Erfc(-v/math.Sqrt2)*float64(c.categories)))
			}
		}
		for i := people; i < all; i++ {
			s.Answers.SetRow(i, s.Answers.RawRowView(i%c.copied))
		}
		_, rows := s.careless(mat.NewDense(all, c.items, nil), false)
		duplicate := func(row []string) bool { return row[4] != "" }
		honest, found := lists.Count(rows[1:people+1], duplicate), lists.Count(rows[people+1:], duplicate)
		if honest > 0 || found < c.least {
			t.Errorf("%+v: %d honest, %d duplicates", c, honest, found)
		}
	}
}

// By hand: the squared residuals of each item have the mean 1, so those of the first participant have x = (4 + 0)/2,
// and the second one has a single answer.
func TestMisfits(t *testing.T) {
	t.Parallel()
	missing := math.NaN()
	left := mat.NewDense(4, 2, []float64{2, 0, 0, missing, 0, math.Sqrt(3), 0, 0})
	s := &Study{Order: []int{3, 2, 1, 0}}
	z := s.misfits(left)
	for i, want := range map[int]float64{
		3: (math.Cbrt(2) - 1 + 1./9) / (1. / 3), // a = 2, 2/9a = 1/9
		2: (-1 + 2./9) / math.Sqrt(2./9),
	} {
		if math.Abs(z[i]-want) > 1e-12 {
			t.Errorf("the misfit of row %d is %v, want %v", i, z[i], want)
		}
	}
}

// Honest answers to 18 items of three factors have few long strings, however skewed they are, and of 25 people who give
// one answer other than the lowest to all items, nearly all are found if there are five categories. cuts are the
// shares of people below each category but the first.
func TestLongStrings(t *testing.T) {
	t.Parallel()
	const people, items, equally = 500, 18, 25
	for _, c := range []struct {
		name    string
		loading float64
		cuts    []float64
		planted bool
	}{
		{"80 % the higher one", 0.6, []float64{0.2}, false},
		{"80 % the higher one, strong factors", 0.9, []float64{0.2}, false},
		{"97 % the higher one", 0.6, []float64{0.03}, false},
		{"as many of both", 0.7, []float64{0.5}, false},
		{"80 % the lower one", 0.6, []float64{0.8}, false},
		{"three categories, 80 % the highest", 0.6, []float64{0.05, 0.2}, false},
		{"three categories, a third each", 0.6, []float64{0.333, 0.667}, true},
		{"five categories", 0.6, []float64{0.1, 0.3, 0.7, 0.9}, true},
		{"five categories, 59 % the lowest", 0.6, []float64{0.59, 0.77, 0.89, 0.96}, true},
		{"five categories, 59 % the highest", 0.6, []float64{0.04, 0.11, 0.23, 0.41}, false},
		{"five categories, 70 % one in the middle", 0.6, []float64{0.03, 0.1, 0.8, 0.9}, false},
	} {
		random := rand.New(rand.NewPCG(7, 0))
		s := &Study{Table: &answers.Table{Answers: mat.NewDense(people, items, nil)}, Order: linalg.Indices(people)}
		s.IDs, s.Lines = make([]string, people), linalg.Indices(people)
		high := float64(len(c.cuts))
		s.Items = slices.Repeat([]questionnaire.Item{{Range: &questionnaire.Range{High: high}}}, items)
		for i := range people {
			common, factors := random.NormFloat64(), [3]float64{}
			for f := range factors {
				factors[f] = math.Sqrt(0.4)*common + math.Sqrt(0.6)*random.NormFloat64()
			}
			for j := range items {
				v := c.loading*factors[j/6] + math.Sqrt(1-c.loading*c.loading)*random.NormFloat64()
				below, _ := slices.BinarySearch(c.cuts, 0.5*math.Erfc(-v/math.Sqrt2))
				if s.Answers.Set(i, j, float64(below)); c.planted && i < equally {
					s.Answers.Set(i, j, float64(1+i%len(c.cuts)))
				}
			}
		}
		_, rows := s.careless(mat.NewDense(people, items, nil), false)
		found, others := 0, 0
		for i, row := range rows[1:] {
			switch long := strings.Contains(row[5], "long string"); {
			case long && c.planted && i < equally:
				found++
			case long:
				others++
			}
		}
		if c.planted && found < equally-1 || others > people/100 {
			t.Errorf("%s: found %d of %d, and %d others", c.name, found, equally, others)
		}
	}
}
