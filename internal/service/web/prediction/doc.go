// Package prediction is how pages show a prediction: its probability, the note with the words that moved it, the vital
// signs, and the tables that add up to its log-odds. It also says terms and topics in words. The text of a note is
// shown only if it is handed over.
package prediction
