package fit

import (
	"fmt"
	"slices"

	"github.com/wardcast/wardcast/internal/questionnaire/answers"
	"github.com/wardcast/wardcast/internal/questionnaire/model"
)

// warnings says what in the table may spoil what is learned from it.
func (o *Options) warnings(t *answers.Table) (warnings []string) {
	methods := o.Compared
	if len(methods) == 0 {
		methods = []string{o.Method}
	}
	if !o.Columns.FromLow && (slices.Contains(methods, model.MethodL1) || slices.Contains(methods, model.MethodICQF) && len(o.Columns.Confounds) == 0) {
		above := 0
		for _, item := range t.Items {
			if item.Range.Low > 0 {
				above++
			}
		}
		if above > 0 {
			warnings = append(warnings, fmt.Sprintf("the lowest possible answer to %d of %d items is above 0, and without an intercept the factors have to explain it too: --from-low counts answers from there", above, len(t.Items)))
		}
	}
	if t.Unlinked {
		warnings = append(warnings, "no participant has answers in two bins of time, so nothing links the bins: a factor may hold the items of one bin only, or different things in different bins")
	}
	return warnings
}
