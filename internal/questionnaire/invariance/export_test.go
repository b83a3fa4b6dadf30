package invariance

import (
	"context"

	"github.com/wardcast/wardcast/solver"
)

// RunDIF is Run without the bootstrap: it fills in DIF alone.
func RunDIF(ctx context.Context, o Options) (*DIF, error) {
	r, err := o.begin(ctx)
	if err != nil {
		return nil, err
	}
	r.Candidate = solver.Candidate{Factors: r.o.Factors[0], Beta: r.o.Betas[0]}
	both, _, err := r.learn(ctx, &r.o.Options, r.both)
	if err != nil {
		return nil, err
	}
	m, err := r.newMatcher(both)
	if err != nil {
		return nil, err
	}
	err = m.dif(ctx)
	return &r.DIF, err
}
