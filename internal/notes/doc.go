// Package notes reads triage notes from tables in any format of package table: with labels for training and evaluation
// (Read), without them for scoring (Open). Every error names file, line and column; none quotes a note or an identifier.
package notes
