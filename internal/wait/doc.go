// Package wait waits for time to pass, or for a context to end, and tells whether something has ended.
//
// It stands in internal because ingest, models, the bridge, the service and the lab all wait with it.
package wait
