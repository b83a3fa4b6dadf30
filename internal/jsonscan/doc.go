// Package jsonscan reads JSON (RFC 8259) forward, without building what is not asked for: the messages of Kafka and the
// lines of tables.
//
// It stands in internal because ingest reads messages with it and table reads rows: it knows neither, and no caller of
// the library needs another JSON reader.
package jsonscan
