// Package service has no code: its packages are what `wardcast serve` and a nightly retraining run as processes. app
// joins configuration, HTTP and pages, forecasts of beds, promotion, and monitoring.
//
// It stands in internal because it joins ingest, classifier and models, which do not depend on each other, into a
// process that is used over Kafka and HTTP; deploy holds only the files that install it.
package service
