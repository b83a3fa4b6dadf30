package questionnaire

import (
	"encoding/csv"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// Two factors of three items each over three bins of age, the first growing with age as 1:2:3, the other falling so. Nobody
// is seen in all bins: a participant comes twice, in two neighbouring ones.
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
	o := plantedOptions(write(t, "x.csv", csvText(t, rows)))
	o.Columns = Columns{Items: []string{"q*"}, Range: &Range{0, highest}, Visits: &Visits{Time: "age", Edges: []float64{0, 3, 6, 9}}}
	o.Factors, o.Betas = []int{2}, []float64{0.01}
	f, err := Fit(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := f.Write(t.Context(), dir); err != nil {
		t.Fatal(err)
	}

	file, err := os.Open(filepath.Join(dir, AgesFile))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	cells, err := csv.NewReader(file).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if got, want := len(cells), 1+2*6*3; got != want || strings.Join(cells[0], ",") != "factor,item,from,to,loading" || strings.Join(cells[1][:4], ",") != "factor1,q1,0,3" {
		t.Fatalf("%d rows, want %d; they begin with %q", got, want, cells[:2])
	}
	found := map[bool]int{}
	for at := 1; at < len(cells); at += 3 {
		var q [3]float64
		for b := range q {
			q[b] = atof(t, cells[at+b][4])
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
				t.Errorf("%s of %s, bin %d: %.3f of all three loadings, want %.3f", cells[at][1], cells[at][0], b, got, want)
			}
		}
	}
	if found[true] != answered || found[false] != answered {
		t.Errorf("%v items with loadings, want 3 of each factor", found)
	}

	svg, err := os.ReadFile(filepath.Join(dir, AgesPlot))
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"Factor 1", "Factor 2", "q1", "q6", "3-6"} {
		if !strings.Contains(string(svg), ">"+text+"<") {
			t.Errorf("%s does not show %q", AgesPlot, text)
		}
	}
}

// An item that was left out in a bin has no point there.
func TestAgesLeaveOut(t *testing.T) {
	t.Parallel()
	columns := visitColumns()
	columns.Confounds = nil
	path := write(t, "x.csv", "id,q1,q2,age,sex\na,1,0,6,F\nb,2,2,9,M\na,3,,12,F\na,2,4,8.9,F\nc,,,7,M\nb,0,1,7,M\nb,1,NA,10,M\n")
	f, err := Fit(t.Context(), Options{Input: path, Columns: columns, Factors: []int{1}, Betas: []float64{0.01}})
	if err != nil {
		t.Fatal(err)
	}
	curves := f.ages(0)
	if len(curves) != 2 || len(curves[0].points) != 2 || len(curves[1].points) != 1 || curves[1].points[0].bin != 0 {
		t.Errorf("curves %+v", curves)
	}
	if _, err := f.drawAges(); err != nil {
		t.Error(err)
	}
}
