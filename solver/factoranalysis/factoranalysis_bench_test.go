package factoranalysis_test

import (
	"fmt"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/solver/factoranalysis"
)

// sizes are those of bfi, Anxiety, spi with traits and with facets, the questionnaires of table 1, and a battery of
// many.
var sizes = []struct{ n, p, k int }{
	{2800, 25, 5}, {766, 29, 2}, {4000, 135, 5}, {4000, 135, 27}, {200, 100, 10}, {272, 591, 17},
}

func each(b *testing.B, work func(b *testing.B, x *mat.Dense, k int)) {
	b.Helper()
	for _, s := range sizes {
		b.Run(fmt.Sprintf("n=%d/p=%d/k=%d", s.n, s.p, s.k), func(b *testing.B) {
			x, _ := planted(s.n, s.p, s.k, 0.2)
			x = punched(likert(x, -1.5, -0.8, 0, 0.8, 1.5), 0.01)
			b.ReportAllocs()
			work(b, x, s.k)
		})
	}
}

func BenchmarkCorrelate(b *testing.B) {
	for _, kind := range []factoranalysis.Kind{factoranalysis.Pearson, factoranalysis.Polychoric} {
		b.Run("kind="+string(kind), func(b *testing.B) {
			each(b, func(b *testing.B, x *mat.Dense, _ int) {
				for b.Loop() {
					if _, err := factoranalysis.Correlate(b.Context(), x, kind, 0); err != nil {
						b.Fatal(err)
					}
				}
			})
		})
	}
}

func BenchmarkFit(b *testing.B) {
	for _, by := range []factoranalysis.Extraction{factoranalysis.Minres, factoranalysis.MaximumLikelihood} {
		b.Run("extraction="+string(by), func(b *testing.B) {
			each(b, func(b *testing.B, x *mat.Dense, k int) {
				if n, p := x.Dims(); n <= p && by == factoranalysis.MaximumLikelihood {
					b.Skip("no inverse")
				}
				for b.Loop() {
					if _, err := factoranalysis.Fit(b.Context(), x,
						factoranalysis.Settings{Factors: k, Extraction: by}); err != nil {
						b.Fatal(err)
					}
				}
			})
		})
	}
}

func BenchmarkScores(b *testing.B) {
	each(b, func(b *testing.B, x *mat.Dense, k int) {
		m := fit(b, x, factoranalysis.Settings{Factors: k})
		for b.Loop() {
			if _, err := m.Transform(x); err != nil {
				b.Fatal(err)
			}
		}
		n, _ := x.Dims()
		b.ReportMetric(float64(n*b.N)/b.Elapsed().Seconds(), "participants/s")
	})
}
