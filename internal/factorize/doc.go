// Package factorize is what `wardcast factorize` does: a matrix file in, two factors and a report out.
//
// Into the output folder it writes
//
//	factors.safetensors   float64 tensors "scores" [n,k] and "topics" [p,k]; of supervised methods with κ+1 classes and q
//	                      auxiliary features also "coefficients" [κ,k], "aux_coefficients" [κ,q] and "intercept" [κ]
//	result.json           a Report
//
// each complete or not at all, result.json last: where it stands, it describes the factors beside it.
package factorize
