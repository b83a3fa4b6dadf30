// Package reload keeps what files hold and reads them again when they have changed, so that a renewed certificate,
// password or token needs no restart.
//
// It stands in internal because connections of ingest and the HTTP server of the service both renew what files hold: it
// belongs to neither.
package reload
