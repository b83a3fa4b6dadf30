// Package table reads and writes tables of named columns: separated values (.csv, .tsv, any other name), JSON lines
// (.jsonl, .ndjson, .json) and Parquet (.parquet). Text may be compressed (.gz, .zst).
//
// Every format gives the same cells: texts as they stand, numbers in their shortest spelling, true and false, times as
// RFC 3339. A missing cell is the empty string, the only form in separated values; so are JSON's null, an absent field,
// a list, and Parquet's null. Fields of nested objects are columns with dots in their names, as in vitals.hr.
//
// Text must be UTF-8; a byte order mark is dropped. Rows are read one at a time, and a row of text is at most 16 MiB,
// so that memory stays bounded whatever a file holds; table.go and text.go have further limits. No error quotes a cell.
//
// It stands in internal because notes, answers, matrices and the output of commands are all tables: it belongs to none
// of them, since it does not interpret the cells.
package table
