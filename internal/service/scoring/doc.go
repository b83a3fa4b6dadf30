// Package scoring answers notes with predictions: it routes a note to its complaint's champion, or to the
// model of all complaints, and lets that model score it. The stream, the command line and the API share it, so
// that a note has the same answer wherever it comes from.
package scoring
