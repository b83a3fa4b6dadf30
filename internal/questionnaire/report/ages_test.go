package report

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/wardcast/wardcast/internal/questionnaire"
	"github.com/wardcast/wardcast/internal/questionnaire/answers"
	"github.com/wardcast/wardcast/internal/questionnaire/fit"
	"github.com/wardcast/wardcast/internal/questionnaire/questionnairetest"
)

// Two factors of three items each over three bins of age, the first growing with age as 1:2:3, the other falling so.
// Nobody is seen in all bins: a participant comes twice, in two neighbouring ones.
func TestAges(t *testing.T) {
	t.Parallel()
	const participants, answered, highest, tolerance = 200, 3, 9, 0.15
	random := rand.New(rand.NewPCG(1, 0))
	rows := [][]string{{"id", "q1", "q2", "q3", "q4", "q5", "q6", "age"}}
	for i := range participants {
		var w [2]float64
		for c := range w {
			w[c] = max(0, 1.5*random.Float64()-0.5)
		}
		first := random.IntN(2)
		for b := first; b < first+2; b++ {
			row := []string{"secret" + strconv.Itoa(i)}
			for j := range 2 * answered {
				size := 2.5 * float64(b+1)
				if j >= answered {
					size = 2.5 * float64(3-b)
				}
				row = append(row, fmt.Sprint(min(highest, max(0, size*w[j/answered]+0.1*random.NormFloat64()))))
			}
			rows = append(rows, append(row, strconv.Itoa(3*b)))
		}
	}
	o := questionnairetest.Options(questionnairetest.File(t, "x.csv", questionnairetest.CSV(rows)))
	o.Columns = answers.Columns{
		Items: []string{"q*"}, Range: &questionnaire.Range{Low: 0, High: highest},
		Visits: &questionnaire.Visits{Time: "age", Edges: []float64{0, 3, 6, 9}},
	}
	o.Factors, o.Betas = []int{2}, []float64{0.01}
	f, err := fit.Fit(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	files, err := Files(&f.Model, nil)
	if err != nil {
		t.Fatal(err)
	}
	cells, err := csv.NewReader(bytes.NewReader(files[AgesFile])).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if got, want := len(cells), 1+2*6*3; got != want || strings.Join(cells[0], ",") != "factor,item,from,to,loading" ||
		strings.Join(cells[1][:4], ",") != "factor1,q1,0,3" {
		t.Fatalf("%d rows, want %d; they begin with %q", got, want, cells[:2])
	}
	found := map[bool]int{}
	for at := 1; at < len(cells); at += 3 {
		var q [3]float64
		for b := range q {
			if q[b], err = strconv.ParseFloat(cells[at+b][4], 64); err != nil {
				t.Fatal(err)
			}
		}
		sum := q[0] + q[1] + q[2]
		if sum < 5 {
			continue // the other factor's
		}
		rises := cells[at][1] <= "q3"
		found[rises]++
		for b := range q {
			want := float64(b+1) / 6
			if !rises {
				want = float64(3-b) / 6
			}
			if got := q[b] / sum; math.Abs(got-want) > tolerance*want {
				t.Errorf("%s of %s, bin %d: %.3f of all three loadings, want %.3f", cells[at][1],
					cells[at][0], b, got, want)
			}
		}
	}
	if found[true] != answered || found[false] != answered {
		t.Errorf("%v items with loadings, want 3 of each factor", found)
	}

	for _, text := range []string{"Factor 1", "Factor 2", "q1", "q6", "3-6"} {
		if !strings.Contains(string(files[AgesPlot]), ">"+text+"<") {
			t.Errorf("%s does not show %q", AgesPlot, text)
		}
	}
}

// An item that was left out in a bin has no point there.
func TestAgesLeaveOut(t *testing.T) {
	t.Parallel()
	columns := answers.Columns{
		Items: []string{"q*"}, Range: &questionnaire.Range{High: 4}, Reversed: []string{"q2"},
		Visits: &questionnaire.Visits{Time: "age", Edges: []float64{6, 9, 12}},
	}
	path := questionnairetest.File(t, "x.csv",
		"id,q1,q2,age,sex\na,1,0,6,F\nb,2,2,9,M\na,3,,12,F\na,2,4,8.9,F\nc,,,7,M\nb,0,1,7,M\nb,1,NA,10,M\n")
	f, err := fit.Fit(t.Context(),
		fit.Options{Input: path, Columns: columns, Factors: []int{1}, Betas: []float64{0.01}})
	if err != nil {
		t.Fatal(err)
	}
	curves := sheet{&f.Model}.ages(0)
	if len(curves) != 2 || len(curves[0].Estimates) != 2 || len(curves[1].Estimates) != 1 ||
		curves[1].Estimates[0].X != 0 {
		t.Errorf("curves %+v", curves)
	}
	if panels := (sheet{&f.Model}).AgePanels(); len(panels) != 1 {
		t.Errorf("%d panels", len(panels))
	}
}
