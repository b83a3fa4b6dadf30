package fit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/internal/questionnaire"
	"github.com/wardcast/wardcast/internal/questionnaire/model"
	"github.com/wardcast/wardcast/internal/wording"
	"github.com/wardcast/wardcast/solver"
	"github.com/wardcast/wardcast/solver/icqf"
	"github.com/wardcast/wardcast/solver/linalg"
	"github.com/wardcast/wardcast/solver/rank"
)

const firstBeta = 0.1

// firstMost is the largest number of factors that the search begins with.
const firstMost = 20

// DefaultFactors are first candidates for the number of factors: 1, 2, 3, 4, 6, 9, 13 and 19, at most half the items.
func DefaultFactors(items int) []int {
	var all []int
	for k := 1; k <= min(firstMost, mostFactors(items)); k = more(k) {
		all = append(all, k)
	}
	return all
}

// more returns half as many factors more, fewer a third less.
func more(k int) int  { return k + max(1, k/2) }
func fewer(k int) int { return k - max(1, k/3) }

func mostFactors(items int) int { return max(1, items/2) }

// DefaultBetas are the candidates for the weight of the penalties among which Choose searches.
func DefaultBetas() []float64 {
	return []float64{0, 0.001, 0.003, 0.01, 0.03, firstBeta, 0.3, 1, 3, 10, 30, 100}
}

// Choice is the outcome of Rank: the candidate with the lowest error, the fewest factors within one standard error of
// it, and the error of every candidate that was tried.
type Choice struct {
	Method string `json:"method"`
	solver.Candidate
	OneStandardErrorFactors int                 `json:"one_standard_error_factors"`
	OneStandardErrorBeta    float64             `json:"one_standard_error_beta"`
	Curve                   []solver.ErrorPoint `json:"curve"`
	// Partitions is the number of times that the answers were dealt to folds.
	Partitions int `json:"partitions"`
	// Unconverged counts the Fits that ended at MaxIter; RelTol ended the others.
	Fits        int      `json:"fits"`
	Unconverged int      `json:"unconverged"`
	RelTol      float64  `json:"rel_tol"`
	Warnings    []string `json:"warnings"` // why the choice may be wrong
	Seconds     float64  `json:"seconds"`
}

// String returns the choice as one line.
func (c *Choice) String() string {
	candidate := func(k int, beta float64) string {
		if c.Method != model.MethodICQF { // which alone has a beta
			return wording.Count(k, "factor")
		}
		return fmt.Sprintf("%s at beta %v", wording.Count(k, "factor"), beta)
	}
	lowest := c.Curve[slices.IndexFunc(c.Curve, func(p solver.ErrorPoint) bool { return p.Candidate == c.Candidate })]
	between := "folds"
	if c.Partitions > 1 {
		between = fmt.Sprintf("%d partitions", c.Partitions)
	}
	return fmt.Sprintf(
		"Cross-validation: error %.4g ± %.2g, lowest: %s; fewest within one standard error (between %s): %s.",
		lowest.Error, lowest.StandardError, candidate(c.Factors, c.Beta), between,
		candidate(c.OneStandardErrorFactors, c.OneStandardErrorBeta))
}

// Ranking holds the outcomes of several criteria for the number of factors.
type Ranking struct {
	*Choice
	model.Decision
	Others
	// FitFactors is the number of a fit by fa or grm without candidates; 0 if undetermined.
	FitFactors int `json:"fit_factors,omitempty"`
}

// Lines returns the outcome of each criterion as a line, and for factor analysis the number of factors of a fit.
func (r *Ranking) Lines() []string {
	lines := []string{r.Parallel.String(), r.MAP.String()}
	if r.Simple.Curve != nil {
		lines = append(lines, r.Simple.String())
	}
	lines = append(lines, r.String())
	if !model.Standardized(r.Method) {
		return append(lines, r.Sentence())
	}
	takes := fmt.Sprintf("fit --method %s needs --factors, since parallel analysis suggests no number.", r.Method)
	if r.FitFactors > 0 {
		takes = fmt.Sprintf("fit --method %s takes %s, by parallel analysis.", r.Method,
			wording.Count(r.FitFactors, "factor"))
	}
	return append(lines, takes+" If --factors lists candidates, it takes the one of the lowest error, here "+
		wording.Count(r.Factors, "factor")+".")
}

// Rank cross-validates the candidates of the options, and computes the other criteria. Seconds are those of all.
func Rank(ctx context.Context, o Options) (*Ranking, error) {
	begin := time.Now()
	s, err := o.Begin(ctx)
	if err != nil {
		return nil, err
	}
	r := &Ranking{}
	if r.Others, err = o.others(ctx, s); err != nil {
		return nil, err
	}
	also, _ := o.sought(r.Others)
	if err := s.CheckLeft(r.items); o.Method == model.MethodFA && err != nil {
		return nil, fmt.Errorf("%q: %w", o.Input, err)
	}
	if r.Choice, err = o.choose(ctx, s, also); err != nil {
		return nil, err
	}
	r.Decision = o.decide(r.Choice, r.Others)
	r.Warnings = append(append(r.Warnings, r.warnings(s, &r.Decision)...), o.unsteady(ctx, s, &r.Decision)...)
	if model.Standardized(o.Method) {
		r.FitFactors = r.Parallel.taken(s)
	}
	r.Seconds = time.Since(begin).Seconds()
	return r, nil
}

// choose cross-validates the candidates: every pair of those that were given. Otherwise it searches, and goes from the
// best candidate so far to others until none of them makes the error lower:
//
//   - without a given β, DefaultFactors or the given numbers of factors at firstBeta, then the next β up and down from
//     the best, unless that β was worse by more than a standard error with the nearest number of factors;
//   - without given numbers of factors, at the best β a third more and fewer than the best, then halfway to the nearest
//     that were tried, until the two next on either side have been. The fewest factors within one standard error are
//     found by halving too. A number that is tried is tried at each given β;
//   - with given numbers of factors, but without a given β, all of them at the best β.
//
// If also is not 0, that number of factors is tried too, when the search has ended, with the β next to the best until
// they are no better.
func (o *Options) choose(ctx context.Context, s *Study, also int) (*Choice, error) {
	data := s.Data(s.Order)
	all := &rank.Choice{}
	settings := rank.Settings{
		Factors: o.Factors, Betas: o.Betas, Strata: data.Confounds, Partitions: o.Partitions,
		Jobs: rank.Jobs{Seed: o.Seed, Threads: o.Threads},
	}
	if o.searchBeta {
		settings.Betas = []float64{firstBeta}
	}
	if o.Progress != nil {
		settings.Progress = func(done, total int) { o.Progress(all.Fits+done, all.Fits+total) }
	}
	for len(settings.Factors) > 0 {
		more, err := rank.BlockwiseCV(ctx, data.Answers, o.validated(s, data), settings)
		if err != nil {
			return nil, fmt.Errorf("%q: %w", o.Input, err)
		}
		all.Merge(more)
		settings.Factors, settings.Betas = o.next(all)
		if len(settings.Factors) == 0 && also > 0 {
			settings.Factors, settings.Betas = o.nextOf(all, also)
		}
	}
	warnings := edges(all, min(len(s.Items), len(s.IDs)))
	var skipped []int
	all.Curve = slices.DeleteFunc(all.Curve, func(p solver.ErrorPoint) bool {
		unfitted := math.IsInf(p.Error, 1)
		if unfitted {
			skipped = append(skipped, p.Factors)
		}
		return unfitted
	})
	if len(all.Curve) == 0 {
		return nil, questionnaire.Optionf("%q: %w for any number of factors that was tried: %v", o.Input, errFewItems,
			skipped)
	}
	if len(skipped) > 0 {
		warnings = append(warnings, fmt.Sprintf("these numbers of factors were skipped, because without some of the "+
			"folds they have too few items: %v", skipped))
	}
	c := &Choice{
		Method: o.Method, Candidate: all.Lowest.Candidate, Curve: all.Curve,
		OneStandardErrorFactors: all.OneStandardError.Factors,
		OneStandardErrorBeta:    all.OneStandardError.Beta, Fits: all.Fits, Unconverged: all.Unconverged,
		RelTol:     max(o.RelTol, rank.ICQFRelTol),
		Partitions: o.Partitions, Warnings: warnings,
	}
	return c, nil
}

// next returns the next candidates to try, none if the search is over.
func (o *Options) next(c *rank.Choice) (factors []int, betas []float64) {
	best := c.Lowest.Candidate
	betas = o.Betas
	if o.searchBeta {
		// A search for the number of factors would be wasted at a β that is not the best: untried β come first.
		if betas = o.nextBetas(c, false); len(betas) > 0 {
			return []int{best.Factors}, betas
		}
		betas = []float64{best.Beta}
	}
	if o.MostFactors > 0 {
		factors = o.nextFactors(c)
	} else {
		factors = slices.DeleteFunc(slices.Clone(o.Factors), func(k int) bool { return point(c, k, best.Beta) != nil })
	}
	if len(factors) == 0 && o.searchBeta {
		factors, betas = []int{best.Factors}, o.nextBetas(c, true)
	}
	if len(betas) == 0 {
		return nil, nil
	}
	return factors, betas
}

// nextOf returns what to try next for this number of factors.
func (o *Options) nextOf(c *rank.Choice, k int) (factors []int, betas []float64) {
	betas = o.Betas
	if o.searchBeta {
		betas = []float64{c.Lowest.Beta}
		if best := lowest(c.Curve, k); best != nil {
			at := slices.Index(o.Betas, best.Beta)
			betas = o.Betas[max(0, at-1):min(at+2, len(o.Betas))]
		}
	}
	betas = slices.DeleteFunc(slices.Clone(betas), func(beta float64) bool { return point(c, k, beta) != nil })
	if len(betas) == 0 {
		return nil, nil
	}
	return []int{k}, betas
}

// lowest returns the Point with the lowest error among those of k factors, nil if there is none.
func lowest(curve []solver.ErrorPoint, k int) (best *solver.ErrorPoint) {
	for i, p := range curve {
		if p.Factors == k && (best == nil || p.Error < best.Error) {
			best = &curve[i]
		}
	}
	return best
}

// point returns the Point of a candidate, nil if it was not tried.
func point(c *rank.Choice, k int, beta float64) *solver.ErrorPoint {
	if at := slices.IndexFunc(c.Curve,
		func(p solver.ErrorPoint) bool { return p.Candidate == solver.Candidate{Factors: k, Beta: beta} }); at >= 0 {
		return &c.Curve[at]
	}
	return nil
}

// nextBetas returns the neighbours of the best β to try with the best number of factors: those not tried at all and, if
// all, those that may still be better.
func (o *Options) nextBetas(c *rank.Choice, all bool) (betas []float64) {
	at := slices.Index(o.Betas, c.Lowest.Beta)
	for _, beta := range o.Betas[max(0, at-1):min(at+2, len(o.Betas))] {
		var nearest *solver.ErrorPoint // of this β, with the number of factors nearest to the best
		distance := func(k int) int { return max(k-c.Lowest.Factors, c.Lowest.Factors-k) }
		for i, p := range c.Curve {
			if p.Beta == beta && (nearest == nil || distance(p.Factors) < distance(nearest.Factors)) {
				nearest = &c.Curve[i]
			}
		}
		if nearest == nil {
			betas = append(betas, beta)
			continue
		}
		other := point(c, nearest.Factors, c.Lowest.Beta)
		worse := other != nil && nearest.Error > other.Error+other.StandardError
		if all && !worse && nearest.Factors != c.Lowest.Factors {
			betas = append(betas, beta)
		}
	}
	return betas
}

// nextFactors returns the numbers of factors to try at the best β.
func (o *Options) nextFactors(c *rank.Choice) (factors []int) {
	// around returns the nearest numbers below and above k that were tried at the best β, else 0.
	none := o.MostFactors + 1
	around := func(k int) (below, above int) {
		above = none
		for _, p := range c.Curve { // ascending
			switch {
			case p.Beta != c.Lowest.Beta:
			case p.Factors < k:
				below = p.Factors
			case p.Factors > k:
				above = min(above, p.Factors)
			}
		}
		return below, above
	}
	best := c.Lowest.Factors
	below, above := around(best)
	switch {
	case below == 0 && best > 1:
		factors = append(factors, fewer(best))
	case below < best-1:
		factors = append(factors, (below+best)/2)
	}
	switch {
	case above == none && best < o.MostFactors:
		factors = append(factors, min(2*best-fewer(best), o.MostFactors))
	case above > best+1 && above != none:
		factors = append(factors, (best+above)/2)
	}
	if len(factors) > 0 {
		return factors
	}
	// Errors are not smooth in the number of factors.
	for _, k := range []int{best - 2, best + 2} {
		if k >= 1 && k <= o.MostFactors && point(c, k, c.Lowest.Beta) == nil {
			factors = append(factors, k)
		}
	}
	if fewest := c.OneStandardError.Factors; len(factors) == 0 && fewest > 1 {
		if below, _ := around(fewest); below < fewest-1 {
			factors = append(factors, (below+fewest)/2)
		}
	}
	return factors
}

// edges warns if the lowest error is at an end of the candidates and values beyond it are possible, up to most factors.
func edges(c *rank.Choice, most int) []string {
	warnings := []string{}
	best := c.Lowest.Candidate
	first, last := c.Curve[0].Factors, c.Curve[len(c.Curve)-1].Factors
	beta := func(a, b solver.ErrorPoint) int { return cmp.Compare(a.Beta, b.Beta) }
	least, largest := slices.MinFunc(c.Curve, beta).Beta, slices.MaxFunc(c.Curve, beta).Beta
	say := func(end string, value any, others string) {
		warnings = append(warnings, fmt.Sprintf(
			"the cross-validated error is lowest at the %s tried, %v: it may be lower at %s", end, value, others))
	}
	switch {
	case first == last:
	case best.Factors == first && first > 1:
		say("fewest factors", first, "fewer")
	case best.Factors == last && last < most:
		say("most factors", last, "more")
	}
	switch {
	case least == largest:
	case best.Beta == least && least > 0:
		say("smallest beta", least, "a smaller one")
	case best.Beta == largest:
		say("largest beta", largest, "a larger one")
	}
	return warnings
}

// Chosen is the candidate to fit, and how it was chosen.
type Chosen struct {
	*Choice // of a cross-validation; its Curve is empty without one
	model.Decision
	Fitted   solver.Candidate
	parallel *int // the suggestion of parallel analysis if factor analysis uses that
	scree    *model.Scree
}

// Choose returns the given candidate, or the one of the criterion that decide follows, among the participants of Order.
func (o *Options) Choose(ctx context.Context, s *Study) (*Chosen, error) {
	given := solver.Candidate{Factors: o.Factors[0], Beta: o.Betas[0]}
	c := &Chosen{Choice: &Choice{Method: o.Method, Candidate: given, Curve: []solver.ErrorPoint{}}, Fitted: given}
	var others Others
	var err error
	also, several := 0, len(o.Factors) > 1 || o.MostFactors > 0
	switch {
	case several:
		if others, err = o.others(ctx, s); err != nil {
			return nil, err
		}
		p := others.Parallel
		c.scree = &model.Scree{Eigenvalues: p.Eigenvalues, Reference: p.Reference, MAP: others.MAP.Curve}
		if model.Standardized(o.Method) && o.MostFactors > 0 {
			if p.Suggested == nil {
				return nil, questionnaire.Optionf("%q: parallel analysis suggests no number of factors, %s: --factors "+
					"can give it", o.Input, p.Reason)
			}
			c.parallel, c.Decision = p.Suggested, o.decide(nil, others)
			c.Warnings = others.warnings(s, &c.Decision)
			c.Fitted.Factors = min(p.taken(s), o.MostFactors)
			return c, nil
		}
		also, _ = o.sought(others)
	case len(o.Betas) == 1:
		return c, nil
	}
	if c.Choice, err = o.choose(ctx, s, also); err != nil {
		return nil, err
	}
	c.Fitted = c.byCrossValidation(o)
	if several {
		c.Decision = o.decide(c.Choice, others)
		c.Warnings = append(c.Warnings, others.warnings(s, &c.Decision)...)
		if c.Followed != model.CrossValidation {
			c.Fitted, err = o.unemptied(ctx, s, lowest(c.Curve, also).Candidate)
		}
	}
	if o.searchBeta && c.Fitted.Beta == 0 {
		c.Warnings = append(c.Warnings, "the search ended at beta 0, without penalties, which make loadings easier to "+
			"read: --beta can give another one")
	}
	return c, err
}

// byCrossValidation returns the candidate by the rule of the options.
func (c *Choice) byCrossValidation(o *Options) solver.Candidate {
	if o.Fewest {
		return solver.Candidate{Factors: c.OneStandardErrorFactors, Beta: c.OneStandardErrorBeta}
	}
	return c.Candidate
}

// unemptied returns the candidate, or that with the next smaller β of the options whose fit has no empty factor, the
// smallest if all have. Where cross-validation would have fewer factors, its best β leaves nothing of the others.
func (o *Options) unemptied(ctx context.Context, s *Study, c solver.Candidate) (solver.Candidate, error) {
	quick := *o
	quick.Recorder, quick.quick = nil, true
	betas := slices.Sorted(slices.Values(o.Betas)) // those that were given have any order
	for at := slices.Index(betas, c.Beta); at > 0; at-- {
		c.Beta = betas[at]
		l, err := quick.Learn(ctx, s, s.Order, c)
		if err != nil {
			return c, fmt.Errorf("factorizing %q: %w", o.Input, err)
		}
		if emptyFactors(l.Loadings, l.icqf.Scores) == 0 {
			return c, nil
		}
	}
	c.Beta = betas[0]
	return c, nil
}

// validated returns how the method of the options is cross-validated on these data of the study.
func (o *Options) validated(s *Study, data icqf.Data) rank.Method {
	if o.Method == model.MethodICQF {
		return rank.ICQF(data, o.Solver(s, 0, 0))
	}
	with := *o
	with.Threads, with.Recorder, with.quick, with.ScoreKind = 1, nil, true, ""
	rows, _ := data.Answers.Dims()
	all := linalg.Indices(rows)
	return func(training *mat.Dense, _ int) (rank.Fitter, error) {
		t := *s.Table
		t.Answers = training
		inside := &Study{Table: &t, Known: data.Confounds, confounds: s.confounds, scale: s.scale}
		means := linalg.ColumnMeans(training)
		return func(ctx context.Context, c solver.Candidate) (*mat.Dense, bool, error) {
			l, err := with.Learn(ctx, inside, all, c)
			if errors.Is(err, errFewItems) {
				return nil, true, nil
			}
			if err != nil {
				return nil, false, err
			}
			predicted, err := l.reconstruct(all)
			if err != nil {
				return nil, false, err
			}
			// An item that does not vary in training is left out there, and predicted by its mean.
			whole := mat.NewDense(rows, len(means), nil)
			whole.Apply(func(_, j int, _ float64) float64 { return means[j] }, whole)
			for column, j := range l.Items {
				for i := range rows {
					whole.Set(i, j, predicted.At(i, column))
				}
			}
			return whole, !l.Status.Early(), nil
		}, nil
	}
}

// reconstruct predicts the answers of these participants to the Items; scores are 0 for participants without answers.
func (l *Learnt) reconstruct(rows []int) (*mat.Dense, error) {
	scores, err := l.Score(rows)
	if err != nil {
		return nil, err
	}
	_, k := scores.Dims()
	return l.Factors().Reconstruct(linalg.Filled(scores, make([]float64, k)), l.Known(rows))
}
