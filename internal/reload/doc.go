// Package reload keeps the contents of files and reads them again after a change, so that a renewed certificate,
// password or token needs no restart.
//
// It stands in internal because connections of ingest and the HTTP server of the service both use it, and it belongs to
// neither.
package reload
