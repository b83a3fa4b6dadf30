package svd_test

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/solver"
	"github.com/wardcast/wardcast/solver/solvertest"
	"github.com/wardcast/wardcast/solver/svd"
)

func TestSVDContract(t *testing.T) {
	t.Parallel()
	solvertest.Run(t, func(*testing.T) solver.Method { return svd.Method{} }, solvertest.Promises{
		OrthonormalTopics: true,
		Monotone:          true,
		NoUpdates:         true,
		Objective:         squaredResidual,
		Stationarity: func(x, topics, scores *mat.Dense) float64 {
			_, k := topics.Dims()
			var want mat.SVD
			want.Factorize(x, mat.SVDNone)
			var best float64
			for _, v := range want.Values(nil)[k:] {
				best += v * v
			}
			return math.Abs(squaredResidual(x, topics, scores)/best - 1)
		},
		MaxStationarity: 1e-12,
	})
}

func squaredResidual(x, topics, scores *mat.Dense) float64 {
	var fit mat.Dense
	fit.Mul(scores, topics.T())
	fit.Sub(x, &fit)
	norm := mat.Norm(&fit, 2)
	return norm * norm
}
