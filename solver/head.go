package solver

import "gonum.org/v1/gonum/mat"

// Head holds the coefficients that a supervised method fits next to the factors, for labels 0 … κ, where 0 is the reference.
// The method defines how they give the log-odds of a document from its scores or from the topics.
type Head struct {
	// Coefficients is κ×k: one row per class 1 … κ, one column per topic.
	Coefficients *mat.Dense
	// AuxCoefficients is κ×q, nil for q = 0.
	AuxCoefficients *mat.Dense
	// Intercept holds κ values.
	Intercept []float64
}

// Supervised is a State that also fits a head.
type Supervised interface {
	State
	// Head returns the head that belongs to the factors of Finish. It is called after it.
	Head() *Head
}
