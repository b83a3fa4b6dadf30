package invariance_test

import (
	"fmt"
	"github.com/wardcast/wardcast/internal/questionnaire/invariance"
	"os"
	"testing"
)

func TestSim(t *testing.T) {
	for name, p := range map[string]*planted{
		"plain":  {groups: [2]int{250, 250}, factors: 2},
		"impact": {groups: [2]int{250, 250}, factors: 2, impact: .7},
		"floor":  {groups: [2]int{250, 250}, factors: 2, impact: .7, low: 1.3},
		"spread": {groups: [2]int{300, 150}, factors: 2, impact: .5, spread: 1.4, low: .8, missing: .1},
		"big":    {groups: [2]int{1500, 1500}, factors: 2, impact: .7, low: 1},
	} {
		for _, m := range []string{"fa", "icqf"} {
			var u, nu, j, cf, rms, n, all float64
			reps := 25
			if os.Getenv("REPS") != "" {
				fmt.Sscan(os.Getenv("REPS"), &reps)
			}
			for s := range reps {
				r, err := invariance.Run(t.Context(), p.options(uint64(s), m))
				if err != nil {
					t.Fatal(name, m, err)
				}
				n++
				for _, d := range r.DIF.Items {
					all++
					if d.UniformP < .05 {
						u++
					}
					if d.NonuniformP < .05 {
						nu++
					}
					if d.P < .05 {
						j++
					}
				}
				if r.Configural.P < .05 {
					cf++
				}
				if r.Metric.RMSP < .05 {
					rms++
				}
			}
			fmt.Printf("%s %s uniform %.3f nonuniform %.3f joint %.3f | configural %.2f rms %.2f\n", name, m, u/all, nu/all, j/all, cf/n, rms/n)
		}
	}
}
