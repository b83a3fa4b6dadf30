// Package msg holds the wire types of every Kafka message of wardcast: notes,
// outcomes and responses to questionnaires that come in, predictions and
// scores that go out, the reasons of dead letters and the CloudEvents headers
// beside them. It decodes and encodes JSON by hand, since both stand on the
// scoring path, and carries the JSON Schemas (draft 2020-12) of the messages.
//
// Readers ignore unknown fields, accept fields in any order and match names
// exactly. Of a field that is repeated the last value holds. A version
// "N.M" of the schema is read as its major version N. Everything that cannot
// be read is an *Error with a fixed Reason; no error ever quotes the message,
// because messages hold patients' words.
//
// Strings of a decoded message share one copy of the whole message: clone
// those that are kept for long (strings.Clone) where the rest is not.
//
// All functions are safe for concurrent use on distinct values.
package msg
