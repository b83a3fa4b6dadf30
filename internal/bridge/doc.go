// Package bridge turns messages of a hospital's systems into notes and outcomes, and predictions into messages. It is
// the only package that sees identifiers of patients: what leaves it names visits and patients by keyed hashes.
//
// A message of HL7 v2 is read into a Reading, which says what it reports of one visit; a Bundle of FHIR into one for
// each of its visits. Bridge.Join adds it to what is known of the visit and returns the events that follow: a note once
// text and complaint are there and whenever either, or another value, changes; an outcome whenever the sequence of
// admissions, discharges and cancellations means another one. Nothing here reads or writes: the caller writes the
// events, and afterwards the state, from which a later process goes on. So a message that was joined but not
// acknowledged joins again to the same events, with the same identifiers.
//
// Messages come in any order and more than once:
//
//   - A value replaces an older one, by the time of its message (MSH-7); of two with the same time the one that comes
//     later. The same message again changes nothing.
//   - Outcomes follow from all events of a visit by the time at which they happened (EVN-2). A cancellation takes back
//     what it cancels, also if it comes first.
//   - A merge of patients (A40) holds for later messages with the old number.
//   - What came before the first message of an emergency class waits for it.
//
// It stands in internal because it is configured by the file of a deployment, and no other program needs it: the parts
// that others could use, the parser and the transport, are in ingest/hl7 and ingest/fhir.
package bridge
