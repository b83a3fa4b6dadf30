package solver

import "gonum.org/v1/gonum/mat"

// Head is what a supervised method learns beside the factors, for labels 0 … κ, where 0 is the reference. How it makes
// the log-odds of a document from scores or topics is the method's.
type Head struct {
	// Coefficients is κ×k: one row per class 1 … κ, one column per topic.
	Coefficients *mat.Dense
	// AuxCoefficients is κ×q, nil for q = 0.
	AuxCoefficients *mat.Dense
	// Intercept holds κ values.
	Intercept []float64
}

// Supervised is a State that also has a head.
type Supervised interface {
	State
	// Head returns the head that belongs to the factors of Finish. It is called after it.
	Head() *Head
}
