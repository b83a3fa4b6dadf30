// Package solver runs the matrix factorizations: one outer loop for all methods, with their common settings,
// starts, stopping rules and results. A method (package sonmf and its siblings) supplies only its state, one
// update and its objective.
//
// Orientation: X is n×p, rows are documents (participants), columns are terms (items). For rank k
//
//	X ≈ Scores·Topicsᵀ, Scores is n×k, Topics is p×k.
//
// Iteration 0 is the start; iteration t is the state after t updates. Ending is a Status, never an error: errors
// are for input that cannot be solved at all. Equal input, settings and seed give equal bits for every GOMAXPROCS,
// on one GOARCH and GOAMD64 level, and there with the vector kernels of linalg or without. A run keeps all its state to
// itself, so that methods and operators may be shared by concurrent runs.
package solver
