// Package loglimit writes one log line for all events of a kind that come together, with their number. None is left
// uncounted: what comes within a period after a line is counted by the next one, which waits for the end of the period
// and not for another event. It also says what of a panic may be logged.
//
// It stands in internal because ingest and the service log with it: how often a line is logged is nothing that a caller
// of the library asks for.
package loglimit
