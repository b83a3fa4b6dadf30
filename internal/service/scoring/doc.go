// Package scoring answers notes with predictions. It routes a note to the champion of its complaint, or to the model of
// all complaints, and lets that model score it. The stream and the command line share it, so that a note gets the same
// bytes wherever it comes from.
package scoring
