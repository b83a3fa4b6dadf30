package items_test

import (
	"math"
	"slices"
	"testing"

	"github.com/wardcast/wardcast/internal/questionnaire"
	"github.com/wardcast/wardcast/internal/questionnaire/items"
)

// By hand: the ill have the sums 3, 4 and 5, the others 1, 2 and 3; one without answers and one without label do not
// count, but the cut of the latter does. Reversed items turn the scale.
func TestCuts(t *testing.T) {
	t.Parallel()
	for label, reversed := range map[string][]string{"ill": nil, "ill=0": {"q*"}} {
		o := options(t, "q1,q2,ill\n2,1,1\n2,2,1\n3,2,1\n0,1,0\n1,1,0\n2,1,0\n,,1\n3,3,\n")
		o.Columns.Reversed, o.Columns.Range = reversed, &questionnaire.Range{High: 3}
		var err error
		if o.Columns.Labels, err = questionnaire.ParseLabels([]string{label}); err != nil {
			t.Fatal(err)
		}
		all := run(t, o).Screenings
		if len(all) != 1 || len(all[0].Cuts) != 6 || all[0].Positive != 3 || all[0].Negative != 3 ||
			math.Abs(all[0].AUROC-8.5/9) > 1e-12 || all[0].Best != 3 {
			t.Fatalf("%s: %+v", label, all)
		}
		const wilson = 3 / (3 + 3.841458820694124) // the lower end of 3 of 3
		at := slices.IndexFunc(all[0].Cuts, func(c items.Cut) bool { return c.Cut == 3 })
		if c := all[0].Cuts[at]; c.Sensitivity.Share != 1 || math.Abs(c.Sensitivity.Low-wilson) > 1e-9 ||
			math.Abs(c.Specificity.Share-2./3) > 1e-12 {
			t.Errorf("%s: the best cut is %+v", label, c)
		}
	}
}
