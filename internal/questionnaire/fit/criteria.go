package fit

import (
	"context"
	"fmt"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/internal/linalg"
	"github.com/wardcast/wardcast/internal/questionnaire/model"
	"github.com/wardcast/wardcast/solver/factoranalysis"
	"github.com/wardcast/wardcast/solver/rank"
)

// A parallel analysis makes about drawnAnswers random answers, so that it takes little time next to a cross-validation: by
// fewestDraws to rank.DefaultDraws draws.
const (
	drawnAnswers = 1_000_000
	fewestDraws  = 20
)

// mostReduced is the largest number of items whose factors parallel analysis counts: with more, each draw takes so long that it
// counts components.
const mostReduced = 150

// What a parallel analysis counts.
const (
	ofComponents = "component"
	ofFactors    = "factor"
)

// Parallel is the outcome of a parallel analysis.
type Parallel struct {
	// Of is what the eigenvalues are of: "component", or "factor" for those with communalities on the diagonal.
	Of string `json:"of"`
	// Suggested is the number of factors; nil if there is none, for the Reason.
	Suggested *int `json:"suggested"`
	// Eigenvalues are those of the correlations, and Reference the 95 % quantiles of those of random answers, descending.
	Eigenvalues []float64 `json:"eigenvalues"`
	Reference   []float64 `json:"reference"`
	Draws       int       `json:"draws"`
	Reason      string    `json:"reason,omitempty"`
}

// MAP is the outcome of Velicer's minimum average partial test.
type MAP struct {
	// Suggested is the number of components with the least mean; nil if there is none, for the Reason.
	Suggested *int `json:"suggested"`
	// Curve holds the mean squared correlation that is left after 0, 1, 2 … components.
	Curve  []float64 `json:"curve"`
	Reason string    `json:"reason,omitempty"`
}

// String returns the outcome as one line.
func (p *Parallel) String() string {
	if p.Suggested == nil {
		return "Parallel analysis: none, " + p.Reason + "."
	}
	return fmt.Sprintf("Parallel analysis: %s above the 95 %% quantile of %d random draws.", counted(*p.Suggested, p.Of), p.Draws)
}

// String returns the outcome as one line.
func (m *MAP) String() string {
	if m.Suggested == nil {
		return "Velicer's MAP: none, " + m.Reason + "."
	}
	return fmt.Sprintf("Velicer's MAP: %s, mean squared partial correlation %.4g.", counted(*m.Suggested, "component"), m.Curve[*m.Suggested])
}

// counted returns a number of things.
func counted(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return fmt.Sprintf("%d %s", n, thing)
}

// Parallel compares the eigenvalues of the answers' correlations with those of random answers. If there is no outcome, it tells
// the reason; the error is the context's.
func (o *Options) Parallel(ctx context.Context, s *Study) (*Parallel, error) {
	n, p := s.Answers.Dims()
	out := &Parallel{Of: ofComponents, Draws: min(max(drawnAnswers/(n*p), fewestDraws), rank.DefaultDraws), Eigenvalues: []float64{}, Reference: []float64{}}
	if o.Method == model.MethodFA && p <= mostReduced {
		out.Of = ofFactors
	}
	x, err := o.correlated(s)
	if err != nil {
		return nil, err
	}
	a, err := rank.Parallel(ctx, x, rank.ParallelSettings{
		Components: out.Of == ofComponents, Draws: out.Draws, Jobs: rank.Jobs{Seed: o.Seed, Threads: o.Threads},
	})
	switch {
	case ctx.Err() != nil:
		return nil, fmt.Errorf("%q: %w", o.Input, context.Cause(ctx))
	case err != nil:
		out.Reason = err.Error()
	default:
		out.Suggested, out.Eigenvalues, out.Reference = &a.Suggested, a.Eigenvalues, a.Reference
	}
	return out, nil
}

// MAP computes the test on the pairwise correlations of the answers, up to half as many components as items or participants.
// If there is no outcome, it tells the reason.
func (o *Options) MAP(ctx context.Context, s *Study) (*MAP, error) {
	out := &MAP{}
	x, err := o.correlated(s)
	if err != nil {
		return nil, err
	}
	c, err := factoranalysis.Correlate(ctx, x, factoranalysis.Pearson, o.Threads)
	if ctx.Err() != nil {
		return nil, fmt.Errorf("%q: %w", o.Input, context.Cause(ctx))
	}
	if err == nil {
		out.Curve, _, err = rank.MAP(c.R)
	}
	switch {
	case err != nil:
		out.Curve, out.Reason = []float64{}, err.Error()
	default:
		// With fewer participants than items, what many components leave is rounding.
		n, p := s.Answers.Dims()
		out.Curve = out.Curve[:min(len(out.Curve), mostFactors(min(n, p))+1)]
		least := floats.MinIdx(out.Curve)
		out.Suggested = &least
	}
	return out, nil
}

// correlated returns the answers whose correlations are looked at: for factor analysis less what the confounds add, which do not
// enter otherwise.
func (o *Options) correlated(s *Study) (*mat.Dense, error) {
	x := s.Data(s.Order).Answers
	if o.Method != model.MethodFA || s.Known == nil {
		return x, nil
	}
	rest, _, err := model.WithoutConfounds(x, linalg.SelectRows(s.Known, s.Order))
	return rest, err
}
