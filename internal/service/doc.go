// Package service has no code: its rooms are what `wardcast serve` and a nightly retraining run as processes. app joins
// them: configuration, HTTP and pages, forecasts of beds, promotion, and what watches the stream.
//
// It stands in internal because it joins ingest, classifier and models, which know nothing of each other, into one
// process that is used over Kafka and HTTP; deploy holds only the files by which it is installed.
package service
