// Package jsonscan reads JSON (RFC 8259) in one pass without building values that the caller skips: Kafka messages and
// lines of tables.
//
// It stands in internal because ingest reads messages with it and table reads rows: it depends on neither, and callers
// of the library need no other JSON reader.
package jsonscan
