package fit

import (
	"fmt"
	"slices"

	"github.com/wardcast/wardcast/internal/questionnaire"
	"github.com/wardcast/wardcast/internal/questionnaire/answers"
	"github.com/wardcast/wardcast/internal/questionnaire/model"
)

// A categorical confound has few participants for each of its loadings if it has more levels than mostLevels, or a
// level of fewer participants than leastOfLevel: rules of thumb.
const (
	mostLevels   = 10
	leastOfLevel = 5
)

// warnings says what in the table may spoil what is learned from it.
func (o *Options) warnings(t *answers.Table) (warnings []string) {
	methods := o.Compared
	if len(methods) == 0 {
		methods = []string{o.Method}
	}
	if !o.Columns.FromLow && (slices.Contains(methods, model.MethodL1) || slices.Contains(methods, model.MethodICQF) &&
		len(o.Columns.Confounds) == 0) {
		above := 0
		for _, item := range t.Items {
			if item.Range.Low > 0 {
				above++
			}
		}
		if above > 0 {
			warnings = append(warnings, fmt.Sprintf("the lowest possible answer to %d of %d items is above 0, and "+
				"without an intercept the factors have to explain it too: --from-low counts answers from there",
				above, len(t.Items)))
		}
	}
	if slices.ContainsFunc(methods, func(m string) bool { return m == model.MethodICQF || m == model.MethodFA }) {
		for k, c := range o.Columns.Confounds {
			if c.Kind == questionnaire.Categorical {
				_, levels := t.Values(k, t.All())
				warnings = append(warnings, levelWarning(c.Name, levels)...)
			}
		}
	}
	if t.Unlinked {
		warnings = append(warnings, "no participant has answers in two bins of time, so nothing links the bins: a "+
			"factor may hold the items of one bin only, or different things in different bins")
	}
	return warnings
}

// levelWarning returns a warning for a categorical confound with many or small levels, none for another one.
func levelWarning(name string, of []string) []string {
	participants, numbers := map[string]int{}, true
	for _, level := range of {
		_, err := questionnaire.Number(level)
		numbers = numbers && err == nil
		participants[level]++
	}
	small := 0
	for _, n := range participants {
		if n < leastOfLevel {
			small++
		}
	}
	if len(participants) <= mostLevels && small == 0 {
		return nil
	}
	what, advice := "", "join levels"
	if small > 0 {
		what, advice = fmt.Sprintf(", %d of them with fewer than %d participants", small, leastOfLevel),
			"join small levels"
	}
	if numbers {
		advice = fmt.Sprintf("if it is a quantity, use %s:%s", name, questionnaire.Numeric)
	}
	return []string{fmt.Sprintf("the categorical confound %s has %d levels%s, and each level has its own loadings: %s",
		name, len(participants), what, advice)}
}
