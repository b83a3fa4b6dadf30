package fit

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/internal/folds"
	"github.com/wardcast/wardcast/internal/lists"
	"github.com/wardcast/wardcast/internal/questionnaire/model"
	"github.com/wardcast/wardcast/solver/linalg"
)

// Limits of careless answers: the 99.9 % quantile of the normal distribution; the shortest string of equal answers, and
// the share of people from which on an answer shows nothing; and of rows that are alike not by chance the fewest
// answers, the fewest other than the participant's commonest one, and the number of such rows that would be expected
// if answers were independent, with their shares in rows that differ: copies do not make a row likely.
const (
	mostMisfit     = 3.09
	shortestString = 6
	tooCommon      = 0.45
	fewestAlike    = 10
	fewestVaried   = 5
	mostExpected   = 0.001
)

// careless returns the rows of model.CarelessFile, and counts its signs. left, in the Order, is the answers less their
// reconstruction.
//
//   - A string is long if it covers half of the items (Curran 2016) and at least shortestString.
//   - A misfit is above mostMisfit.
//   - A row is a duplicate if an earlier one has the same answers to all items, at least fewestAlike, of which
//     fewestVaried differ from the commonest, and fewer than mostExpected such rows are expected: people without
//     symptoms, or with few items of two categories, have the same answers by chance.
func (s *Study) careless(left *mat.Dense, fromLow bool) (*model.Careless, [][]string) {
	misfits := s.misfits(left)
	counts := &model.Careless{}
	rows := [][]string{{"id", "line", "longest_string", "misfit", "same_as_line", "signs"}}
	keys := lists.Make(len(s.IDs), func(i int) string { return fmt.Sprint(s.Answers.RawRowView(i)) })
	first := map[string]int{} // the line of each row that may have duplicates
	once := linalg.SelectRows(s.Answers, lists.Map(folds.Groups(keys), func(same []int) int { return same[0] }))
	shares, ofOnce := make([]map[float64]float64, len(s.Items)), make([]map[float64]float64, len(s.Items))
	for j := range shares {
		shares[j], ofOnce[j] = shareOf(mat.Col(nil, j, s.Answers)), shareOf(mat.Col(nil, j, once))
	}
	for i, id := range s.IDs {
		longest, given, commonest := s.equal(i, fromLow, shares)
		expected := float64(len(s.IDs)) // such rows
		for j, v := range s.Answers.RawRowView(i) {
			if v == v {
				expected *= ofOnce[j][v]
			}
		}
		var signs []string
		sign := func(name string, n *int) { signs, *n = append(signs, name), *n+1 }
		if longest >= max(shortestString, (len(s.Items)+1)/2) {
			sign("long string", &counts.LongStrings)
		}
		if misfits[i] > mostMisfit {
			sign("misfit", &counts.Misfits)
		}
		same := ""
		if given >= fewestAlike && given-commonest >= fewestVaried && expected < mostExpected {
			if line, ok := first[keys[i]]; ok {
				same = strconv.Itoa(line)
				sign("duplicate", &counts.Duplicates)
			} else {
				first[keys[i]] = s.Lines[i]
			}
		}
		if signs != nil {
			counts.Participants++
		}
		rows = append(rows, []string{
			id, strconv.Itoa(s.Lines[i]), strconv.Itoa(longest), model.Cell(misfits[i]), same,
			strings.Join(signs, ", "),
		})
	}
	return counts, rows
}

// shareOf returns the share of each value among all but the missing ones.
func shareOf(values []float64) map[float64]float64 {
	shares := map[float64]float64{}
	values = slices.DeleteFunc(values, math.IsNaN)
	for _, v := range values {
		shares[v] += 1 / float64(len(values))
	}
	return shares
}

// equal returns the length of a participant's longest string of equal answers, as they were given, in items that follow
// each other; the number of their answers; and that of the commonest, as given or as scored. Strings of the lowest
// answers as scored do not count, since nothing may apply to a person, nor do those of answers whose shares have a mean
// of tooCommon or more. Part of a string is a string.
func (s *Study) equal(i int, fromLow bool, shares []map[float64]float64) (longest, given, commonest int) {
	asGiven, scored := map[float64]int{}, map[float64]int{}
	all, excess, above := make([]float64, len(s.Items)), make([]float64, len(s.Items)), make([]bool, len(s.Items))
	for j, item := range s.Items {
		v := s.Answers.At(i, j)
		answer, lowest := v, item.Range.Low
		if fromLow {
			answer, lowest = v+lowest, 0
		}
		all[j], excess[j], above[j] = item.Orient(answer, false), shares[j][v]-tooCommon, v > lowest
		if v != v {
			continue
		}
		given++
		asGiven[all[j]]++
		scored[v]++
		commonest = max(commonest, asGiven[all[j]], scored[v])
		counts, sum := false, 0.0
		for from := j; from >= 0 && all[from] == all[j]; from-- {
			if counts, sum = counts || above[from], sum+excess[from]; counts && sum < 0 {
				longest = max(longest, j-from+1)
			}
		}
	}
	return longest, given, commonest
}

// misfits returns how far the answers of each participant are from what the factors predict,
//
//	z = (x^⅓ − (1 − 2/9a))/√(2/9a),
//
// where x is the mean of the squared residuals of the a answers, each over the mean of its item: Wilson and Hilferty's
// (1931) standard normal variable if residuals are normal. It is 0 without residuals.
func (s *Study) misfits(left *mat.Dense) []float64 {
	n, p := left.Dims()
	noise, given := make([]float64, p), make([]float64, p)
	for row := range n {
		for j, v := range left.RawRowView(row) {
			if v == v {
				noise[j], given[j] = noise[j]+v*v, given[j]+1
			}
		}
	}
	floats.Div(noise, given)
	z := make([]float64, n)
	for row, i := range s.Order {
		var sum, a float64
		for j, v := range left.RawRowView(row) {
			if v == v && noise[j] > 0 {
				sum, a = sum+v*v/noise[j], a+1
			}
		}
		if v := 2 / (9 * a); a > 0 {
			z[i] = (math.Cbrt(sum/a) - 1 + v) / math.Sqrt(v)
		}
	}
	return z
}
