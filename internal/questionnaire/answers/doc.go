// Package answers reads a file of answers into a table: the roles of the columns, the codebook that describes the
// items, missing entries, confounds as columns of numbers, and several visits. Package table reads the formats.
//
// Every error about a file is a *table.Error with its line and column. None quotes an answer or an id.
package answers
