// Package msg holds the wire types of wardcast's Kafka messages: incoming notes, outcomes and responses to
// questionnaires; outgoing predictions, forecasts of bed demand, scores and champions; the reasons of dead letters; and
// the CloudEvents headers. It carries the JSON Schemas (draft 2020-12) of the messages.
//
// Notes, responses and predictions are encoded and decoded by hand, since they are on the scoring path. The others go
// through one codec that follows their json tags: outcomes, champions, forecasts of bed demand, scores, and what
// DecodeScored and DecodeArrival read of predictions.
//
// Readers ignore unknown fields, accept fields in any order and match names exactly. If a field is repeated, its last
// value counts. A schema version "N.M" is read as its major version N. A message that cannot be read gives an *Error
// with a fixed Reason. No error ever quotes a message, because messages hold patients' words.
//
// The strings of a decoded message share one copy of the whole message: clone those that are kept longer
// (strings.Clone). All functions are safe for concurrent use on distinct values.
package msg
