package fit_test

import (
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/wardcast/wardcast/internal/questionnaire/fit"
	"github.com/wardcast/wardcast/internal/questionnaire/model"
	"github.com/wardcast/wardcast/internal/questionnaire/questionnairetest"
)

// Of 300 people, ten answer at random, five give one answer to all items, five the lowest one, which may be true, and
// the last row is that of the 20th person again. Skewed answers, most of them the lowest, hide more of the first ones.
func TestCareless(t *testing.T) {
	t.Parallel()
	for _, planted := range []struct {
		mean          float64
		found, others int // at least so many of those who answered at random have a sign, and at most of others
	}{{mean: 2, found: 9, others: 3}, {mean: -0.3, found: 6, others: 15}} {
		testCareless(t, planted.mean, planted.found, planted.others)
	}
}

func testCareless(t *testing.T, mean float64, least, most int) {
	t.Helper()
	const people, items, randomly, equally, lowest = 300, 20, 10, 15, 20
	random := rand.New(rand.NewPCG(4, 0))
	rows := [][]string{{"id"}}
	for j := range items {
		rows[0] = append(rows[0], "q"+strconv.Itoa(j+1))
	}
	for i := range people {
		row, factors := []string{"secret" + strconv.Itoa(i)}, [2]float64{random.NormFloat64(), random.NormFloat64()}
		for j := range items {
			v := math.Round(min(max(mean+factors[j%2]+0.6*random.NormFloat64(), 0), 4))
			switch {
			case i < randomly:
				v = float64(random.IntN(5))
			case i < equally:
				v = 3
			case i < lowest:
				v = 0
			case i == lowest || i == people-1: // not so few symptoms that others have the same by chance
				v = float64((j + j/5) % 3)
			}
			row = append(row, strconv.Itoa(int(v)))
		}
		rows = append(rows, row)
	}
	for _, method := range []string{model.MethodICQF, model.MethodFA} {
		f := questionnairetest.Fit(t, rows, func(o *fit.Options) {
			o.Columns.Confounds, o.Method, o.Factors = nil, method, []int{2}
			if method == model.MethodFA {
				o.Betas = nil
			}
		})
		var found, others int
		for i, row := range f.Careless[1:] {
			signs := row[5]
			if row[0] != rows[1+i][0] || row[1] != strconv.Itoa(i+2) {
				t.Fatalf("row %q is not of participant %d", row, i)
			}
			long := strings.Contains(signs, "long string")
			if planted := i >= randomly && i < equally; planted && !long || i >= equally && i < lowest && long {
				t.Errorf("%s, participant %d: %q", method, i, row)
			} else if !planted && long {
				others++
			}
			if last := i == people-1; strings.Contains(signs, "duplicate") != last ||
				last && row[4] != strconv.Itoa(lowest+2) {
				t.Errorf("%s, participant %d: %q", method, i, row)
			}
			switch misfit := strings.Contains(signs, "misfit"); {
			case misfit && i < randomly:
				found++
			case misfit && i >= equally:
				others++
			}
		}
		if found < least || others > most {
			t.Errorf("%s: the answers of %d of %d who answered at random do not fit, and of %d others", method, found,
				randomly, others)
		}
		if c := f.Summary.Careless; c.LongStrings < equally-randomly || c.Duplicates != 1 || c.Participants < found+6 {
			t.Errorf("%s: %+v", method, c)
		}
	}
}
