package fit

import (
	"context"
	"fmt"
	"time"

	"github.com/wardcast/wardcast/internal/questionnaire/model"
	"github.com/wardcast/wardcast/solver/rank"
)

// Choice is the outcome of Rank: the candidate with the lowest error, the fewest factors within one standard error of it,
// and the error of every candidate.
type Choice struct {
	model.Candidate
	OneStandardErrorFactors int           `json:"one_standard_error_factors"`
	OneStandardErrorBeta    float64       `json:"one_standard_error_beta"`
	Curve                   []model.Point `json:"curve"`
	// Unconverged counts the Fits that ended at MaxIter; RelTol is what ended the others.
	Fits        int     `json:"fits"`
	Unconverged int     `json:"unconverged"`
	RelTol      float64 `json:"rel_tol"`
	Seconds     float64 `json:"seconds"`
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

// Choose cross-validates the candidates.
func (o *Options) Choose(ctx context.Context, s *Study) (*Choice, error) {
	data := s.Data(s.Order)
	choice, err := rank.BlockwiseCV(ctx, data.Answers, rank.ICQF(data, o.Solver(s, 0, 0)), rank.Settings{
		Factors: o.Factors, Betas: o.Betas, Strata: data.Confounds, Jobs: rank.Jobs{Seed: o.Seed, Threads: o.Threads, Progress: o.Progress},
	})
	if err != nil {
		return nil, fmt.Errorf("%q: %w", o.Input, err)
	}
	curve := make([]model.Point, len(choice.Curve))
	for i, p := range choice.Curve {
		curve[i] = model.Point{Candidate: model.Candidate(p.Candidate), Error: p.Error, StandardError: p.StandardError}
	}
	return &Choice{
		Candidate: model.Candidate(choice.Lowest.Candidate), OneStandardErrorFactors: choice.OneStandardError.Factors,
		OneStandardErrorBeta: choice.OneStandardError.Beta, Curve: curve, Fits: choice.Fits, Unconverged: choice.Unconverged, RelTol: max(o.RelTol, rank.ICQFRelTol),
	}, nil
}
