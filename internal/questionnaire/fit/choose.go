package fit

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/wardcast/wardcast/internal/questionnaire/model"
	"github.com/wardcast/wardcast/solver/rank"
)

const (
	// firstBeta is where the search for β begins, and moreFactors by how many factors a list grows whose last is the best.
	firstBeta   = 0.1
	moreFactors = 5
)

// DefaultFactors are the first candidates for the number of factors of that many items: 1 to 20, but at most half of the items.
func DefaultFactors(items int) []int {
	var all []int
	for k := 1; k <= min(20, mostFactors(items)); k++ {
		all = append(all, k)
	}
	return all
}

func mostFactors(items int) int { return max(1, items/2) }

// DefaultBetas are the candidates for the weight of the penalties, ascending. Choose tries those on its way to the best.
func DefaultBetas() []float64 {
	return []float64{0, 0.001, 0.003, 0.01, 0.03, firstBeta, 0.3, 1, 3, 10, 30, 100}
}

// Choice is the outcome of Rank: the candidate with the lowest error, the fewest factors within one standard error of it,
// and the error of every candidate that was tried.
type Choice struct {
	model.Candidate
	OneStandardErrorFactors int           `json:"one_standard_error_factors"`
	OneStandardErrorBeta    float64       `json:"one_standard_error_beta"`
	Curve                   []model.Point `json:"curve"`
	// Partitions is how often the answers were dealt to folds.
	Partitions int `json:"partitions"`
	// Unconverged counts the Fits that ended at MaxIter; RelTol is what ended the others.
	Fits        int     `json:"fits"`
	Unconverged int     `json:"unconverged"`
	RelTol      float64 `json:"rel_tol"`
	// Warnings tell if the candidates end where the error is lowest.
	Warnings []string `json:"warnings"`
	Seconds  float64  `json:"seconds"`
}

// String returns the choice as one line.
func (c *Choice) String() string {
	candidate := func(k int, beta float64) string {
		factors := "factors"
		if k == 1 {
			factors = "factor"
		}
		return fmt.Sprintf("%d %s at beta %v", k, factors, beta)
	}
	var lowest model.Point
	for _, p := range c.Curve {
		if p.Candidate == c.Candidate {
			lowest = p
		}
	}
	return fmt.Sprintf("Lowest error %.4g ± %.2g: %s. Fewest within one standard error: %s.",
		lowest.Error, lowest.StandardError, candidate(c.Factors, c.Beta), candidate(c.OneStandardErrorFactors, c.OneStandardErrorBeta))
}

// Rank cross-validates the candidates of the options.
func Rank(ctx context.Context, o Options) (*Choice, error) {
	begin := time.Now()
	s, err := o.Begin()
	if err != nil {
		return nil, err
	}
	choice, err := o.Choose(ctx, s)
	if err != nil {
		return nil, err
	}
	choice.Seconds = time.Since(begin).Seconds()
	return choice, nil
}

// Choose cross-validates the candidates: every pair of those that were given. Without a given β it tries all numbers of factors
// at firstBeta, then goes from the best candidate to the next β up and down until the error rises, then tries all numbers of
// factors at the best β, and so on until neither makes the error lower. Without given numbers of factors it goes on to more as
// long as the most are best.
func (o *Options) Choose(ctx context.Context, s *Study) (*Choice, error) {
	data := s.Data(s.Order)
	all := &rank.Choice{}
	search := *o // the candidates that it adds are not those of the next search
	settings := rank.Settings{
		Factors: o.Factors, Betas: o.Betas, Strata: data.Confounds, Partitions: o.Partitions, Jobs: rank.Jobs{Seed: o.Seed, Threads: o.Threads},
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
		settings.Factors, settings.Betas = search.next(all)
	}
	c := &Choice{
		Candidate: model.Candidate(all.Lowest.Candidate), OneStandardErrorFactors: all.OneStandardError.Factors,
		OneStandardErrorBeta: all.OneStandardError.Beta, Fits: all.Fits, Unconverged: all.Unconverged, RelTol: max(o.RelTol, rank.ICQFRelTol),
		Partitions: o.Partitions, Warnings: edges(all, min(len(s.Items), len(s.IDs))),
	}
	for _, p := range all.Curve {
		c.Curve = append(c.Curve, model.Point{Candidate: model.Candidate(p.Candidate), Error: p.Error, StandardError: p.StandardError})
	}
	return c, nil
}

// next returns the candidates to try after these, none if the search is over.
func (o *Options) next(c *rank.Choice) (factors []int, betas []float64) {
	best := c.Lowest.Candidate
	untried := func(k int, beta float64) bool {
		return !slices.ContainsFunc(c.Curve, func(p rank.Point) bool { return p.Candidate == rank.Candidate{Factors: k, Beta: beta} })
	}
	if o.searchBeta {
		at := slices.Index(o.Betas, best.Beta)
		for _, beta := range o.Betas[max(0, at-1):min(at+2, len(o.Betas))] {
			if untried(best.Factors, beta) {
				betas = append(betas, beta)
			}
		}
		if len(betas) > 0 {
			return []int{best.Factors}, betas
		}
		betas = []float64{best.Beta}
		for _, k := range o.Factors {
			if untried(k, best.Beta) {
				factors = append(factors, k)
			}
		}
		if len(factors) > 0 {
			return factors, betas
		}
	} else {
		betas = o.Betas
	}
	last := slices.Max(o.Factors)
	if best.Factors == last {
		for k := last + 1; k <= min(last+moreFactors, o.MostFactors); k++ {
			factors = append(factors, k)
		}
		o.Factors = slices.Concat(o.Factors, factors)
	}
	return factors, betas
}

// edges says where the lowest error is at an end of the candidates beyond which there are more, up to this many factors.
func edges(c *rank.Choice, most int) []string {
	warnings := []string{}
	best := c.Lowest.Candidate
	first, last := c.Curve[0].Factors, c.Curve[len(c.Curve)-1].Factors
	beta := func(a, b rank.Point) int { return cmp.Compare(a.Beta, b.Beta) }
	least, largest := slices.MinFunc(c.Curve, beta).Beta, slices.MaxFunc(c.Curve, beta).Beta
	say := func(end string, value any, others string) {
		warnings = append(warnings, fmt.Sprintf("the cross-validated error is lowest at the %s tried, %v: it may be lower at %s", end, value, others))
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

// free reports whether there is something to choose.
func (o *Options) free() bool { return len(o.Factors)*len(o.Betas) > 1 }
