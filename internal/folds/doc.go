// Package folds deals rows into the parts of a cross-validation, and checks and reads such parts: for each row the
// number of its fold, counted from 0. Take takes rows from lists.
//
// Every function is a pure function of its arguments: equal seeds give equal folds.
//
// It stands in internal because classifier, solver and models all deal rows, none of them above the others in this, and
// because callers of the library bring folds as plain numbers.
package folds
