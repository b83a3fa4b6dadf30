// Package hl7 reads and writes messages of HL7 v2, versions 2.3 to 2.8, in the encoding with separators. It knows the
// grammar (segments, fields, repetitions, components, escapes, character sets, times), not the meaning of a message.
//
// A Message is the text of the message and the places of its segments. Fields are found when they are asked for, so
// memory is a small multiple of the message, whatever it holds: at most MaxSegments segments of MaxFields fields each.
// Segments that nobody asks for, such as Z segments, cost nothing.
//
// What senders do beyond the standard is read where it has one meaning:
//
//   - Segments end as the first one does: with \r, \n or \r\n. Another kind of line end within a field is text.
//   - A line that is not a segment belongs to the field before it: the sender did not escape a line break.
//   - MSH-2 has one to five characters. A separator that it does not define does not occur.
//   - Without MSH-18, or with ASCII, a message may be in UTF-8, of which ASCII is a part.
//   - 8859/1 may use the characters that Windows-1252 has in place of control characters.
//   - An escape that is unknown or not closed is text.
//
// Package mllp transports messages.
package hl7
