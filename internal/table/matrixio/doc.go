// Package matrixio reads matrices from files: MatrixMarket (.mtx), NumPy arrays (.npy) and the tables of package table,
// such as CSV.
//
// Files are read as written: no transposing, centring or scaling. Every entry must be a finite number; only
// Options.Gaps also accepts missing ones. Malformed input is refused with a *table.Error of the line and the column, by
// its name in a table and otherwise its number. It never quotes a field, since the file may hold notes by mistake.
//
// Memory grows with the entries that were read, not with the sizes that a header claims. Every function may be called
// concurrently.
package matrixio
