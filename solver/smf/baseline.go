package smf

import (
	"fmt"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/internal/linalg"
	"github.com/wardcast/wardcast/solver"
)

// TwoStage is the baseline that factorizes first and learns afterwards: the truncated singular value decomposition
// X = U·S·Vᵀ of rank k and a ridge logistic regression on X·Topics,
//
//	minimize Σ wᵢ·ℓ(yᵢ, C·Topicsᵀxᵢ + Γᵀzᵢ) + Ridge·(‖C‖² + ‖Γ‖²).
type TwoStage struct {
	Rank  int
	Ridge float64
	// Scaled takes Topics = V·S (the paper's MF-LR): the ridge then hardly affects the strongest topics. Otherwise
	// Topics = V, which is PCA and logistic regression if the caller has centred X.
	Scaled bool
	// Seed starts the generator of the decomposition.
	Seed uint64
	// Threads is the largest number of goroutines; 0 means GOMAXPROCS.
	Threads int
}

// Fit returns the model. It predicts as VariantW does.
func (s TwoStage) Fit(x mat.Matrix, data Data) (*Model, error) {
	op := linalg.OperatorOf(x, linalg.Threads(s.Threads))
	n, _ := x.Dims()
	if err := data.check(); err != nil {
		return nil, fmt.Errorf("reading the labels: %w", err)
	}
	if len(data.Labels) != n || !(s.Ridge >= 0) {
		return nil, fmt.Errorf("%w: %d labels for %d documents, ridge %v", solver.ErrSettings, len(data.Labels), n, s.Ridge)
	}
	svd, err := linalg.SVD(op, linalg.SVDSettings{Rank: s.Rank, Seed: s.Seed, Threads: linalg.Threads(s.Threads)})
	if err != nil {
		return nil, fmt.Errorf("decomposing the matrix: %w", err)
	}
	topics := svd.V
	if s.Scaled {
		for t, sigma := range svd.S {
			scaleColumn(topics, t, sigma)
		}
	}
	z := withOnes(data.Aux, n)
	_, q := z.Dims()
	design := mat.NewDense(n, s.Rank+q, nil)
	features := mat.NewDense(n, s.Rank, nil)
	op.MulTo(features, topics)
	design.Slice(0, n, 0, s.Rank).(*mat.Dense).Copy(features)
	design.Slice(0, n, s.Rank, s.Rank+q).(*mat.Dense).Copy(z)
	kappa := data.Classes - 1
	g := newRegression(labels{of: data.Labels, weights: data.Weights}, kappa, design, s.Ridge)
	g.threads = linalg.Threads(s.Threads)
	g.evaluate()
	g.fit(fitShare*g.objective, maxInner)
	return &Model{Variant: VariantW, Topics: topics, Head: headOf(g.coef, s.Rank)}, nil
}

// headOf returns [C | Γᵀ], C with k columns, as a head.
func headOf(coef *mat.Dense, k int) *solver.Head {
	kappa, m := coef.Dims()
	h := &solver.Head{Coefficients: mat.DenseCopyOf(coef.Slice(0, kappa, 0, k)), Intercept: make([]float64, kappa)}
	mat.Col(h.Intercept, k, coef)
	if m > k+1 {
		h.AuxCoefficients = mat.DenseCopyOf(coef.Slice(0, kappa, k+1, m))
	}
	return h
}
