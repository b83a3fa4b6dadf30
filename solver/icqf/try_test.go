package icqf

import (
	"fmt"
	"testing"

	"github.com/wardcast/wardcast/solver"
	"gonum.org/v1/gonum/mat"
)

type rec struct{ f []float64 }

func (r *rec) Record(i solver.Iterate) { r.f = append(r.f, i.Objective) }

func TestTry2(t *testing.T) {
	sets := map[string]Data{"large": large(t, "train")}
	ks := map[string]int{"large": 8}
	for _, n := range []string{"d1_00", "d2_00", "d3_00"} {
		sets[n] = Data{Answers: shared(t, "table1/"+n+"_M.csv.gz", false, 0), Max: 100}
		ks[n] = 10
	}
	for _, n := range []string{"large", "d1_00", "d3_00"} {
		for _, rho := range []float64{1, 1.4143, 2, 3} {
			for _, sw := range []int{1} {
				r := &rec{}
				p, _ := Prepare(sets[n], Settings{Rank: ks[n]})
				s := Settings{Rank: ks[n], L1: .1, RelTol: 1e-12, MaxIter: 1000, Recorder: r, Rho: rho}
				if rho == 1 {
					minRho = 1
				}
				res, err := p.Fit(t.Context(), s)
				minRho = MinRho
				if err != nil {
					t.Fatal(err)
				}
				fmt.Printf("%s rho %.2f sweeps %2d final %.2f it %d out %.5f:", n, rho, sw, res.Objective, res.Iterations, res.Outside)
				for _, i := range []int{0, 1, 2, 5, 10, 20, 30, 50, 100, 200, 400} {
					if i < len(r.f) {
						fmt.Printf(" %d:%.5f", i, r.f[i]/res.Objective-1)
					}
				}
				fmt.Println()
			}
		}
	}
	_ = mat.NewDense
}
