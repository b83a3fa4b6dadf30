// Package model is the stored model of a questionnaire: its items, confounds and loadings, and the summary of the fit.
//
// A fit writes these files into its output folder:
//
//	model.json          a Model: items, confounds, Summary
//	model.safetensors   float64 tensors "loadings" [m,k] and "confound_loadings" [m,c]
//	SHA256SUMS          of these two; Load refuses other files
//	scores.csv          id, factor1 … factork
//	loadings.csv        item, factor1 … factork, the columns of the confounds, intercept
//	compact.csv         for a second stage: items that estimate its scores
//	result.json         the Summary
package model
