// Package notes reads triage notes from tables in any format of package table: with labels for training and evaluation
// (Read), without them for scoring (Open). Every error names file, line and column; none quotes a note or an
// identifier.
//
// It stands in internal because its rows are the input of models/train and classifier: other programs train on and
// score their own rows, without our file formats.
package notes
