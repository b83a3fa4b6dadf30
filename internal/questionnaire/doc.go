// Package questionnaire holds what all its rooms share: items, confounds, labels, visits, codes of missing entries, and
// reasons to refuse a file.
//
// n participants answer m items on a bounded scale: M is n×m, with NaN for a missing answer. Known variables about them
// are C, n×c. Package solver/icqf finds k factors, M ≈ W·Qᵀ + C·Qcᵀ, scores W n×k in [0,1], loadings Q m×k, Qc m×c.
//
//	answers    a file of answers and its codebook → a table
//	fit        a table → a model; the number of factors; new answers → scores
//	model      the stored model
//	responses  one message of the stream → scores
//	meta       several fits → a second stage, and a compact set of items
//	evaluate   prediction of labels and stability of loadings on held-out participants
//	cfa        confirmatory factor models
//	items      reliability of scales, and statistics of items
//	report     the HTML report and its drawings
//	folder     the output folder: written whole or not at all
//
// The solver gets the participants in the order of their answers, so no bit depends on the order of the file.
//
// It stands in internal because questionnaires are a second product on the same solvers and the same ingest, with
// models of their own: neither classifier nor models knows it, and its interfaces are commands and messages.
package questionnaire
