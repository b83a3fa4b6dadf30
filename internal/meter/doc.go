// Package meter creates and registers Prometheus metrics whose names share a prefix.
//
// It stands in internal because the stream and the HTTP service both create metrics with it, and neither belongs to the
// other.
package meter
