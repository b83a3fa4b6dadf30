package solver

import (
	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/solver/linalg"
)

// SquaredResidual returns ‖X − Scores·Topicsᵀ‖² for an n×p matrix X, scores n×k and topics p×k.
//
// For a dense X it is summed entry by entry, at n·p·k multiply-adds. For any other X it is
//
//	‖X‖² − 2·tr(Scoresᵀ·X·Topics) + tr((ScoresᵀScores)·(TopicsᵀTopics))
//
// at one product of X with k columns, with an absolute error of about 1e-16·‖X‖².
func SquaredResidual(x mat.Matrix, topics, scores *mat.Dense) float64 {
	op := linalg.OperatorOf(x, 0)
	if d, ok := op.(linalg.Dense); ok {
		return denseResidual(d, topics, scores)
	}
	n, k := scores.Dims()
	projected := mat.NewDense(n, k, nil)
	op.MulTo(projected, topics)
	threads := linalg.ThreadsOf(op)
	return op.NormSquared() - 2*linalg.Dot(scores, projected) + linalg.Dot(threads.Gram(scores), threads.Gram(topics))
}

// residualRows is the number of rows of the fit that are held at a time.
const residualRows = 64

func denseResidual(x linalg.Dense, topics, scores *mat.Dense) float64 {
	n, p := x.Dims()
	_, k := scores.Dims()
	transposed, fit := mat.DenseCopyOf(topics.T()), mat.NewDense(min(n, residualRows), p, nil)
	var sum float64
	for from := 0; from < n; from += residualRows {
		to := min(from+residualRows, n)
		block := fit.Slice(0, to-from, 0, p).(*mat.Dense)
		x.Threads.MulTo(block, scores.Slice(from, to, 0, k).(*mat.Dense), transposed)
		for i := from; i < to; i++ {
			row := block.RawRowView(i - from)
			for j, v := range x.RawRowView(i) {
				d := v - row[j]
				sum += d * d
			}
		}
	}
	return sum
}
