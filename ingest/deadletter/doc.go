// Package deadletter looks at dead letters, and sends them back to where they came from once what was wrong is mended.
//
// A dead letter is the message that could not be answered, with headers that tell why. Dead letters stay in their
// KafkaTopic until its retention deletes them: sending one back writes a copy of the original message, without those
// headers, to the KafkaTopic that it came from. The copy carries msg.HeaderReplays, which counts how often the message
// has died. From it the next dead letter knows its attempts, so that a message that dies each time does not go round
// for ever.
//
// Nothing here shows what a message holds: a Letter has its place, its size and the reason. Only Read hands on the
// message itself.
package deadletter
