// Package notes reads triage notes from tables in any format of package table: with labels for training and evaluation
// (Read), without them for scoring (Open). Every error names file, line and column; none quotes a note or an
// identifier.
//
// It stands in internal because its rows are what models/train and classifier take: an outsider trains and scores rows
// of their own, without our formats of files.
package notes
