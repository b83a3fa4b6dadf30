// Package matrixio reads matrices from files: MatrixMarket (.mtx), NumPy arrays (.npy) and the tables of package table, such
// as CSV.
//
// Files are taken as written: no transposing, centring or scaling. Every entry must be a finite number, but for the
// missing answers of ReadAnswers. Malformed input is refused with an *Error that names file, line and column; field
// contents are never quoted, since a file of notes may have been named by mistake.
//
// Memory follows the entries that were read, not the sizes a header claims. Every function may be called
// concurrently.
package matrixio
