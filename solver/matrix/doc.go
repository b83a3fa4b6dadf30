// Package matrix holds the input matrices of the solvers: a sparse matrix, CSR, and small interfaces by which any other
// matrix can offer fast products and rows.
//
// Orientation: X is n×p, rows are documents (participants), columns are terms (items). Every function of the solvers
// that takes a gonum mat.Matrix treats it by its type:
//
//   - *mat.Dense is used without a copy;
//   - *CSR stays sparse;
//   - an Operator is used through its products, and through its rows if it also implements Rows;
//   - gonum's transpose of a *CSR is used as the sparse matrix CSR.Transpose;
//   - any other matrix is read once through At and held as a dense copy: n·p numbers. The few methods that look
//     at single entries treat an Operator without Rows in the same way.
//
// A CSR is immutable and safe for concurrent use.
package matrix
