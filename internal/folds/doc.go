// Package folds assigns rows to the folds of a cross-validation, and checks and splits such assignments: for each row
// the number of its fold, counted from 0.
//
// Every function is a pure function of its arguments: equal seeds give equal folds.
//
// It stands in internal because classifier, solver and models all use it and it belongs to none of them. Callers of the
// library pass folds as plain numbers.
package folds
