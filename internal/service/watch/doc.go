// Package watch measures, while notes are scored, how they differ from the training notes, and whether the predictions
// come true. Drift and Labels are both prometheus.Collector and safe for concurrent use.
//
// # Drift
//
// Drift counts notes as they are scored: a few additions for each, no label, no note kept. Counts cover the last seven
// days and today, in UTC, since the start of the process, by model. A model that is part of a new generation too
// continues to count. What training did not record is omitted.
//
// # Late labels
//
// Labels joins predictions with outcomes that come hours or days later, independently of the scorer. It counts visits
// whose first prediction is between one and eight days old. Most of these are decided: of visits decided sooner too few
// are admitted, which would look like drift. Models are measured by name, whatever their version.
package watch
