package train

import (
	"context"
	"fmt"

	"github.com/wardcast/wardcast/solver"
)

// Factorization holds the topics of some notes, found without their outcomes.
type Factorization struct {
	Documents, Terms int
	// Result is nil for a bag of words. Its topics have columns of length 1, its scores are as the solver left them.
	Result *solver.Result
}

// Factorize makes text rows and topics of all notes as Evaluate does of those that it trains on.
func Factorize(ctx context.Context, all []Row, c Configuration, s Settings) (*Factorization, error) {
	s, err := c.settings(s)
	if err != nil {
		return nil, err
	}
	if c.Method.Supervised() {
		return nil, fmt.Errorf("%w: the topics of method %q depend on outcomes", ErrSettings, c.Method)
	}
	r, err := newRows(Data{Rows: all}, s.Text.MinDF)
	if err != nil {
		return nil, err
	}
	t, err := vectorize(r, s.Text)
	if err != nil {
		return nil, err
	}
	if t, err = t.factorize(ctx, &s, nil); err != nil {
		return nil, err
	}
	n, p := t.x.Dims()
	return &Factorization{Documents: n, Terms: p, Result: t.solver}, nil
}
