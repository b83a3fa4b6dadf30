// Package factorize implements `wardcast factorize` and `wardcast rank`. It reads a matrix file. The first command
// writes two factors and a report; the second chooses the number of topics by a criterion.
//
// Run writes into the output folder
//
//	factors.safetensors   float64 tensors "scores" [n,k] and "topics" [p,k]; supervised methods with κ+1 classes and q
//	                      auxiliary features add "coefficients" [κ,k], "aux_coefficients" [κ,q] and "intercept" [κ]
//	result.json           a Report
//
// Each file is written completely or not at all, result.json last: if it exists, it describes the factors next to it.
//
// It stands in internal because it implements two commands that read and write files: solver does no file access, and
// cmd holds only flags.
package factorize
