// Package solver runs the matrix factorizations: one outer loop for all methods, with their common settings,
// starts, stopping rules and results. A method (package sonmf and its siblings) supplies only its state, one
// update and its objective.
//
// Orientation: X is n×p, rows are documents (participants), columns are terms (items). For rank k
//
//	X ≈ Scores·Topicsᵀ, Scores is n×k, Topics is p×k.
//
// X is any gonum mat.Matrix; package matrix says how each kind is used. Zero settings are the defaults.
// Result.Transform scores new rows for the fitted topics.
//
// Iteration 0 is the start; iteration t is the state after t updates. Status is why a run ended; an error means that
// the input cannot be solved at all. A cancelled context ends the run within one update; a Recorder can end it too.
//
// Equal input, settings and seed give equal bits for any number of threads. Bits may differ between architectures,
// GOAMD64 levels, and runs with and without vector kernels. A run keeps all its state to itself, so methods and
// matrices may be shared by concurrent runs.
//
// The methods, each a package with its paper: sonmf (Li et al.), nmf (Lee and Seung; Kimura et al.; Ding et al.; Tomé
// et al.; Cichocki and Phan), smf (Lee, Lyu and Yao), svd (Halko, Martinsson and Tropp). Packages icqf and
// factoranalysis fit questionnaires with missing answers by functions of their own.
package solver
