// Package watch measures, while notes are scored, how they differ from those that the models were trained on, and
// whether the predictions come true.
//
// Drift counts notes as they are scored: a few additions for each, no label, no note kept. Labels joins predictions
// with the outcomes that come hours or days later; it is fed by whoever reads the two KafkaTopics, never by the scorer.
// Both are prometheus.Collector and safe for concurrent use.
//
// # Drift
//
// Counts are of the last seven days and today, in UTC, from the start of the process on, by model. A model that is
// taken over into a new generation goes on counting. What training has not recorded is left out.
//
// # Late labels
//
// Visits count whose first prediction was made between eight days and one day ago: most of them are decided by then. Of
// visits that are decided quickly too few are admitted, so younger ones would look like drift. They are measured by
// name of the model, whatever its version.
package watch
