package solver

import (
	"errors"
	"fmt"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/solver/linalg"
	"github.com/wardcast/wardcast/solver/matrix"
)

// ErrTransform is returned by Result.Transform if the method defines no scores of new rows.
var ErrTransform = errors.New("the method defines no scores of new rows")

// Transform stores in scores, n₂×k and zero, the scores of the rows of Y, n₂×p, for fitted topics, p×k. The scores of a
// row depend on that row alone.
type Transform func(scores *mat.Dense, y matrix.Operator, topics *mat.Dense) error

// Transforming is a State that defines scores of new rows.
type Transforming interface {
	State
	// Transform returns the function behind Result.Transform. It must not hold the state, which may be large, and must
	// be safe for concurrent use.
	Transform() Transform
}

// Transform returns the n₂×k scores of the rows of Y, n₂×p, for the topics of the result, by the definition of the
// method:
//
//	sonmf                     ⟨Y·Topics⟩₊, the positive part
//	svd                       Y·Topics
//	nmf, onmf, semi-nmf       min ‖y − Topics·z‖² over z ≥ 0, for each row y
//	l1-nmf                    the same with the penalty: min ½‖y − Topics·z‖² + λ_G‖z‖₁ over z ≥ 0
//	sonmf-binary, log-nmf     min Σⱼ log(1 + exp(mⱼ)) − yⱼ·mⱼ, m = Topics·z, over z ≥ 0 for sonmf-binary and over all
//	                          z for log-nmf
//	smf-w, smf-h              the scores that predictions use: Y·Topics, and Y·Topics·(TopicsᵀTopics)⁻¹
//
// Nonnegative least squares end at a relative change of 1e-9, and the logistic problems when a Newton step promises no
// more than 1e-12 of the objective, or after 100 steps: a row that the topics separate has no minimum. Each row is
// scored by itself, and the bits do not depend on Settings.Threads. For the fitted rows of a converged run these are
// the scores of the result, except for smf, whose fitted scores followed the labels. The cost is one product of Y with
// k columns and what the method adds: k² multiply-adds for each round of least squares, p·k² for each Newton step of a
// row.
//
// It returns an error that wraps ErrShape unless Y has p columns and at least one row, a *NonFiniteError for an entry
// that is NaN or infinite, a *DomainError for entries outside the domain of a logistic method, and ErrTransform for a
// method of another package that does not implement Transforming.
func (r *Result) Transform(y mat.Matrix) (*mat.Dense, error) {
	scores, err := r.transformed(y)
	if err != nil {
		return nil, fmt.Errorf("transforming new rows: %w", err)
	}
	return scores, nil
}

func (r *Result) transformed(y mat.Matrix) (*mat.Dense, error) {
	n, p := y.Dims()
	terms, k := r.Topics.Dims()
	if n == 0 || p != terms {
		return nil, fmt.Errorf("%w: rows of %d×%d for topics of %d terms", ErrShape, n, p, terms)
	}
	if r.transform == nil {
		return nil, ErrTransform
	}
	x := linalg.OperatorOf(y, r.threads)
	if err := checkFinite(x); err != nil {
		return nil, err
	}
	scores := mat.NewDense(n, k, nil)
	return scores, r.transform(scores, x, r.Topics)
}
