package elasticnet

import (
	"context"
	"testing"
)

// BenchmarkSharedCases times the cross-validation that TestBesideR compares with glmnet's.
func BenchmarkSharedCases(b *testing.B) {
	for _, name := range []string{"bow_tfidf", "proj_K50", "proj_K150"} {
		b.Run(name, func(b *testing.B) {
			c := shared(b, name)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := CrossValidate(context.Background(), c.problem, c.folds, DefaultSettings()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
