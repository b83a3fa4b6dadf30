// Package questionnaire is what `wardcast questionnaire` does: answers in; scores, loadings, a model and a report out.
//
// n participants answer m items on a bounded scale, M n×m with NaN where there is no answer; what is known of them besides
// is C n×c. Package solver/icqf finds k factors, M ≈ W·Qᵀ + C·Qcᵀ, with scores W n×k in [0,1], loadings Q m×k and Qc m×c.
//
// Into the output folder Fit's result writes
//
//	scores.csv          id, factor1 … factork
//	loadings.csv        item, factor1 … factork, the columns of the confounds, intercept
//	model.json          a Model: items, confounds, Summary
//	model.safetensors   float64 tensors "loadings" [m,k] and "confound_loadings" [m,c]
//	SHA256SUMS          of these two; Load refuses what does not match
//	report.html         one file, self-contained; loadings.svg and loadings.png are its heat map
//	ages.csv, ages.svg  of visits: loadings over the bins of time
//	compact.csv         of a second stage: items that estimate its scores
//	result.json         a Summary
//
// each complete or not at all, result.json last: where it stands, it describes the files beside it.
//
// The solver gets the participants in the order of their answers, so that no bit of the result depends on the order of the
// file. Errors name file, line and column; no error quotes an answer or an id.
package questionnaire
