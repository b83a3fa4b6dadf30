// Package reproduce runs the experiments of J. Y. Li, R. Zhu, A. Qu, H. Ye and Z. Sun, "Semi-orthogonal non-negative
// matrix factorization with an application in text mining", again and lays its results beside the printed ones:
// Simulate its sections 5 and 8.2 to 8.4, Triage its section 6 on any labelled notes. Convergence does so for section 5 of
// J. Lee, H. Lyu and W. Yao, "Exponentially convergent algorithms for supervised matrix factorization", and Leukaemia for
// its section 6 on the samples of another study. Questionnaires does so for table 1 of K. C. Lam, B. E. Mahony, A. Raznahan and
// F. Pereira, "Interpretable factorization of clinical questionnaires to identify latent factors of psychopathology".
//
// X is n×p with X = G·Fᵀ + E, so that rows are documents; the paper's X is the transpose. F is p×k (topics), G is n×k
// (scores).
//
// Equal settings and seeds give equal numbers, seconds apart, whatever GOMAXPROCS is. An experiment that is ended
// through its context returns what it has.
package reproduce
