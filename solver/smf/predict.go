package smf

import (
	"fmt"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/solver"
	"github.com/wardcast/wardcast/solver/linalg"
	"github.com/wardcast/wardcast/solver/matrix"
)

// Model predicts the labels of documents. Topics is p×k.
type Model struct {
	Variant Variant
	Topics  *mat.Dense
	Head    *solver.Head
	// Threads is the largest number of goroutines of Predict; 0 means GOMAXPROCS.
	Threads int
}

// Model returns the model of a result of the method.
func (m *Method) Model(r *solver.Result) *Model {
	return &Model{Variant: m.settings.Variant, Topics: r.Topics, Head: r.Head}
}

// Prediction holds the predictions of a model for n documents.
type Prediction struct {
	// Scores is n×k: the filtered documents X·Topics of SMF-W, the least squares codes X·Topics·(TopicsᵀTopics)⁻¹ of
	// SMF-H.
	Scores *mat.Dense
	// LogOdds is n×κ, the log-odds of classes 1 … κ against class 0: Scores·Coefficientsᵀ plus the auxiliary part and
	// the intercept. Each is a sum of one contribution per topic, one per auxiliary feature, and the intercept.
	LogOdds *mat.Dense
	// Probabilities is n×(κ+1), those of all classes.
	Probabilities *mat.Dense
	// Classes holds the most probable class of each document, the first of several.
	Classes []int
}

// Predict predicts the labels of the rows of X, n×p. aux holds their auxiliary features, n×q, or is nil for none.
//
// Probabilities of SMF-H are less certain for new documents than in training, where the scores also followed the
// labels.
//
// The cost is one product of X with k columns. It returns an error that wraps solver.ErrShape if X or aux does not fit
// the model, and solver.ErrNonFinite if an auxiliary feature is not finite.
func (m *Model) Predict(x mat.Matrix, aux *mat.Dense) (*Prediction, error) {
	n, p := x.Dims()
	terms, k := m.Topics.Dims()
	kappa := len(m.Head.Intercept)
	if p != terms {
		return nil, fmt.Errorf("predicting: %w: %d terms in the matrix, %d in the topics", solver.ErrShape, p, terms)
	}
	if err := checkAux(aux, n); err != nil {
		return nil, fmt.Errorf("predicting: %w", err)
	}
	_, got := shape(aux)
	if _, wanted := shape(m.Head.AuxCoefficients); wanted != got {
		return nil, fmt.Errorf("predicting: %w: %d auxiliary features, must be %d", solver.ErrShape, got, wanted)
	}

	r := &Prediction{
		Scores:        mat.NewDense(n, k, nil),
		LogOdds:       mat.NewDense(n, kappa, nil),
		Probabilities: mat.NewDense(n, kappa+1, nil),
		Classes:       make([]int, n),
	}
	m.Variant.encode(r.Scores, linalg.OperatorOf(x, linalg.Threads(m.Threads)), m.Topics)
	r.LogOdds.Mul(r.Scores, m.Head.Coefficients.T())
	if aux != nil {
		var part mat.Dense
		part.Mul(aux, m.Head.AuxCoefficients.T())
		r.LogOdds.Add(r.LogOdds, &part)
	}
	for i := range n {
		row := r.LogOdds.RawRowView(i)
		for c, v := range m.Head.Intercept {
			row[c] += v
		}
		probabilities := r.Probabilities.RawRowView(i)
		softmax(probabilities[1:], row, 0)
		probabilities[0] = 1
		for _, v := range probabilities[1:] {
			probabilities[0] -= v
		}
		probabilities[0] = max(0, probabilities[0])
		r.Classes[i] = mostProbable(row)
	}
	return r, nil
}

// encode stores Prediction.Scores in codes, n×k.
func (v Variant) encode(codes *mat.Dense, x matrix.Operator, topics *mat.Dense) {
	x.MulTo(codes, topics)
	if v == VariantH {
		threads := linalg.ThreadsOf(x)
		threads.MulTo(codes, mat.DenseCopyOf(codes), pseudoInverse(threads.Gram(topics)))
	}
}

func (t *task) Transform() solver.Transform {
	variant := t.Variant
	return func(scores *mat.Dense, y matrix.Operator, topics *mat.Dense) error {
		variant.encode(scores, y, topics)
		return nil
	}
}

// mostProbable returns the most probable class, the first of several. It compares log-odds of classes 1 … κ, because
// probabilities can round to ties.
func mostProbable(odds []float64) int {
	best, highest := 0, 0.0
	for c, v := range odds {
		if v > highest {
			best, highest = c+1, v
		}
	}
	return best
}

// pseudoInverse returns the inverse of a symmetric matrix a ≥ 0 on its range.
func pseudoInverse(a *mat.Dense) *mat.Dense {
	values, vectors, ok := eigen(a)
	if !ok {
		return a // not finite; the results computed with it are not finite either
	}
	return linalg.Mapped(values, vectors, func(v float64) float64 {
		if v > negligible*values[0] {
			return 1 / v
		}
		return 0
	})
}
