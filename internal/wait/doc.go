// Package wait waits for time to pass, or for a context to end.
//
// It stands in internal because the service and the lab both poll with it, and neither belongs to the other.
package wait
