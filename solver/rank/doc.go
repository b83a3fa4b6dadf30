// Package rank chooses the number of factors.
//
// Blockwise cross-validation holds blocks of cells out, fits the rest, and compares the reconstruction with what was held
// out (Kanagal and Sindhwani 2010). Methods that take no missing cells have bi-cross-validation, which holds out whole rows
// and columns, an information criterion, and the agreement of repeated runs. Equal input, settings and seed give equal bits
// for every number of threads.
package rank
