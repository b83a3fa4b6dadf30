package rank

import (
	"context"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/solver/icqf"
)

// ICQFRelTol is the least tolerance of the fits when ICQF is cross-validated. On 60 questionnaires with 10 planted
// factors and noise of three sizes, the lowest error is at 10 factors in each, with a tolerance of 1e-4 and with 1e-5.
const ICQFRelTol = 1e-4

// ICQF returns the Method of package icqf, with the confounds and the range of data, whose answers are used only to
// determine the range if none is given. The settings are those of each fit, except Rank, L1, Threads and a RelTol below
// ICQFRelTol.
func ICQF(data icqf.Data, s icqf.Settings) Method {
	data.Min, data.Max = data.Range()
	s.Threads, s.RelTol = 1, max(s.RelTol, ICQFRelTol)
	return func(training *mat.Dense, maxFactors int) (Fitter, error) {
		data, s := data, s
		data.Answers, s.Rank = training, maxFactors
		problem, err := icqf.Prepare(data, s)
		return func(ctx context.Context, c Candidate) (*mat.Dense, bool, error) {
			s := s
			s.Rank, s.L1 = c.Factors, c.Beta
			r, err := problem.Fit(ctx, s)
			if err != nil {
				return nil, false, err
			}
			reconstruction, err := r.Reconstruct(r.Scores, data.Confounds)
			return reconstruction, !r.Status.Early(), err
		}, err
	}
}
