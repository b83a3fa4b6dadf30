package fit_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/wardcast/wardcast/internal/questionnaire/fit"
	"github.com/wardcast/wardcast/internal/questionnaire/model"
)

// Five factors that correlate by .7 are too alike for halves of 200, three separate ones of 1,000 are not for halves of
// 500. Halves of fewer than 100, or of no more than there are items, are not looked at. fit and rank say the same.
func TestWarnsOfUnsteadyNumbers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		of   clinical
		want bool
	}{
		{clinical{cuts: skewed(), participants: 400, factors: 5, phi: 0.7}, true},
		{clinical{cuts: symmetric(), participants: 1000, factors: 3}, false},
		{clinical{cuts: skewed(), participants: 198, factors: 5, phi: 0.7}, false},
		{clinical{cuts: skewed(), participants: 216, factors: 18}, false},
	} {
		says := func(warnings []string) bool {
			return slices.ContainsFunc(warnings, func(w string) bool { return strings.Contains(w, "in a random half") })
		}
		o := c.of.options(t, 3)
		o.Method = model.MethodFA
		f, err := fit.Fit(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		if says(f.Summary.Warnings) != c.want || says(f.Doubts) != c.want {
			t.Errorf("%+v: fit warns %q", c.of, f.Doubts)
		}
		if !c.want {
			continue
		}
		o.Factors = []int{1}
		r, err := fit.Rank(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		if !says(r.Warnings) {
			t.Errorf("%+v: rank warns %q", c.of, r.Warnings)
		}
	}
}
