// Package retrain is one night's training: it turns past notes and outcomes into labelled notes, trains on the earlier
// ones, and brings the models to the gate with the later ones.
//
// A Source holds the messages: files (Files), or KafkaTopics (internal/service/replay). Collect reads the outcomes,
// then the notes, joins them by visit, and returns rows for models/train with a split in time and with the counts of
// all that was left out, and why. Job.Run does the rest: the fit, the predictions of the later notes, and
// train.Gatekeeper, where the verdict is made and carried out. Job.Rounds shares the fit among shards.
//
// # Labels
//
// Outcomes are an event log. The time of an event is its recorded_at, else its decided_at, else the time of its
// message. Of the events of a visit up to the cut-off (Settings.AsOf) the latest sets the label; of two at the same
// time, the later in the source. If it is a cancellation, or if there is none, the visit is undecided and left out. A
// visit is positive if its disposition is one of Settings.Admission.
//
// # Notes
//
// The first note of a visit counts: by the time of its message, then by its place in the source. A corrected note is
// scored too, but it may have been written when the decision was known; a model that learned from it would promise more
// than it can keep at triage. Notes that the scorer would refuse are refused here for the same reasons. An empty
// message with a key erases what came before of that visit, whether or not the KafkaTopic is compacted.
//
// # Invariants
//
// Every message is counted once: as refused, as excluded for a reason, or as a row. No count, error or warning names a
// visit, a patient or a word of a note. Rows depend on the order of messages only where two messages of one visit have
// the same time.
//
// Memory: the rows (144 bytes, 32 for each auxiliary value, and the text), about 100 bytes for each visit with an
// outcome until the notes are joined, and one message. Texts of notes without a label are never kept. TestMemory
// measures it: a million notes of 150 bytes with six auxiliary values keep 500 bytes each, 589 at the peak.
package retrain
