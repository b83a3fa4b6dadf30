// Package wait waits for time to pass, or for a context to end.
//
// It stands in internal because ingest, models, the bridge, the service and the lab all wait with it.
package wait
