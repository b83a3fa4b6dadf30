package fit

import (
	"context"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/internal/questionnaire"
	"github.com/wardcast/wardcast/internal/questionnaire/answers"
	"github.com/wardcast/wardcast/solver/factoranalysis"
	"github.com/wardcast/wardcast/solver/linalg"
)

// leastScaleItems is the least number of items of a scale that is looked at: of two items that correlate negatively,
// nothing tells which is the opposed one.
const leastScaleItems = 3

// Opposed returns, for each scale in the order of its first item, the items that correlate negatively with the first
// principal component of the scale's correlations (of pairwise complete answers), and on average with the other items.
// The component's sign is that of the sum of its weights. The first is the rule by which alpha(check.keys=TRUE) of R's
// package psych reverses items (Revelle, psych 2.2.9). The second spares items of a scale that holds several groups of
// unrelated items, whose signs in the component are those of chance. Items without a subscale are one scale. Items that
// do not vary are left out.
func Opposed(t *answers.Table, threads int) (all []answers.Opposed) {
	rows := t.All()
	for _, scale := range questionnaire.ScalesOf(t.Items, t.Varying(rows), false) {
		items := scale.Items
		if len(items) < leastScaleItems {
			continue
		}
		// Pearson correlations are too quick to be interrupted.
		correlations, err := factoranalysis.Correlate(context.Background(), t.AnswersOf(rows, items),
			factoranalysis.Pearson, threads)
		if err != nil {
			continue // answers too large or too small for squares, which newStudy refuses
		}
		_, vectors, ok := linalg.Eigen(correlations.R)
		if !ok {
			continue
		}
		first := mat.Col(nil, len(items)-1, vectors)
		o := answers.Opposed{Scale: scale.Name}
		for i, w := range first {
			if w*floats.Sum(first) < 0 && floats.Sum(mat.Row(nil, i, correlations.R)) < 1 { // with itself it is 1
				o.Items = append(o.Items, t.Items[items[i]].Name)
			}
		}
		if len(o.Items) > 0 {
			all = append(all, o)
		}
	}
	return all
}
