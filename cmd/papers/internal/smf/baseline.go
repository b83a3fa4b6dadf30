package smf

import (
	"context"
	"fmt"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/solver"
	"github.com/wardcast/wardcast/solver/linalg"
	"github.com/wardcast/wardcast/solver/smf"
)

// twoStage is the baseline that factorizes first and learns afterwards: the truncated singular value decomposition
// X = U·S·Vᵀ and a ridge logistic regression on X·Topics,
//
//	minimize Σ wᵢ·ℓ(yᵢ, C·Topicsᵀxᵢ + Γᵀzᵢ) + ridge·(‖C‖² + ‖Γ‖²).
type twoStage struct {
	rank  int
	ridge float64
	// scaled means Topics = V·S (the paper's MF-LR): the ridge then hardly affects the strongest topics. Otherwise
	// Topics = V, which is PCA and logistic regression if the caller has centred X.
	scaled bool
	seed   uint64
}

// anyXi is the weight of a residual that is 0.
const anyXi = 1e-9

// fit returns the model, which predicts as SMF-W does. The regression is SMF-W of the scores with as many topics as
// there are scores: it reconstructs them without a residual, which leaves the label loss and the ridge.
func (s twoStage) fit(ctx context.Context, x mat.Matrix, data smf.Data) (*smf.Model, error) {
	op := linalg.OperatorOf(x, 0)
	svd, err := linalg.SVD(op, linalg.SVDSettings{Rank: s.rank, Seed: s.seed})
	if err != nil {
		return nil, fmt.Errorf("decomposing the matrix: %w", err)
	}
	topics := svd.V
	if s.scaled {
		topics.Apply(func(_, t int, v float64) float64 { return v * svd.S[t] }, topics)
	}
	n, _ := x.Dims()
	scores := mat.NewDense(n, s.rank, nil)
	op.MulTo(scores, topics)
	method, err := smf.New(data, smf.Settings{Variant: smf.VariantW, Xi: anyXi, Ridge: s.ridge})
	if err != nil {
		return nil, err
	}
	r, err := solver.Solve(ctx, scores, solver.Settings{Rank: s.rank, Seed: s.seed}, method)
	if err != nil {
		return nil, err
	}
	head := *r.Head
	head.Coefficients = new(mat.Dense)
	head.Coefficients.Mul(r.Head.Coefficients, r.Topics.T())
	return &smf.Model{Variant: smf.VariantW, Topics: topics, Head: &head}, ctx.Err()
}
