// Package notes reads labelled triage notes from CSV and JSON-lines files, the input of training and
// evaluation. Every error names file, line and column; none quotes a note or an identifier.
package notes
