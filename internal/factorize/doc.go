// Package factorize is what `wardcast factorize` and `wardcast rank` do: a matrix file in; two factors and a report out, or the
// number of topics that a criterion chooses.
//
// Run writes into the output folder
//
//	factors.safetensors   float64 tensors "scores" [n,k] and "topics" [p,k]; supervised methods with κ+1 classes and q
//	                      auxiliary features add "coefficients" [κ,k], "aux_coefficients" [κ,q] and "intercept" [κ]
//	result.json           a Report
//
// Each file is written completely or not at all, result.json last: if it exists, it describes the factors next to it.
package factorize
