// Package rank chooses the number of factors.
//
// Each criterion has a file and a function:
//
//	BlockwiseCV      error in blocks of held-out cells (Kanagal and Sindhwani 2010)   methods that take missing cells
//	BiCrossValidate  error in held-out rows and columns (Owen and Perry 2009)         any method
//	BIC1             information criterion (Stoica and Selén 2004)                    least squares
//	Stabilities      agreement of repeated runs (Brunet et al.; Kim and Park)         non-negative scores
//	Parallel         eigenvalues compared with noise (Horn 1965)                      factor analysis
//	SimpleStructures BIC of models with each item on one factor                       factor analysis
//	MAP              mean squared partial correlation (Velicer 1976)                  factor analysis
//
// A matrix is n×p: rows are documents (participants), columns are terms (items). Equal input, settings and seed give
// equal bits for every number of threads. Nothing passed in is modified.
package rank
