// Package loglimit limits log lines: one line reports all events of a kind that come together, with their number. No
// event is lost: events within a period after a line are reported by the next line, at the end of the period. It also
// returns the part of a panic that may be logged.
//
// It stands in internal because ingest and the service log with it; callers of the library do not need it.
package loglimit
