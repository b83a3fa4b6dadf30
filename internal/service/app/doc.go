// Package app is the process that `wardcast serve` runs. It joins the parts: a consumer for each configured stream
// (triage notes, responses to questionnaires), the models that score, their reload, and the endpoints for metrics and
// health. To embed it, call New, then Run until the context ends.
//
// docs/metrics.md lists the metrics. Those of a stream, of package ingest and of its models, have a label stream
// (triage or questionnaires).
package app
