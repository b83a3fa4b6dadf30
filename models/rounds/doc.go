// Package rounds is training where the notes are too many for one machine: a coordinator, which is the program that
// trains, and shards, which are processes without a state of their own.
//
// A shard is a range of row numbers. What it holds and what it answers are bytes, and whoever relays them, an engine
// such as Apache Spark or Local, keeps and passes on bytes alone:
//
//	count   a message, notes of some patients  → Counts: patients by term, or by piece of a word, as JSON lines
//	rows    a message, notes of a shard        → the shard's rows over the vocabulary
//	round   a message, rows of a shard         → sums over these rows
//	add     answers, one after the other       → their sum
//
// Notes are JSON lines behind a message; messages, rows and sums are files of package safetensors. Every message names
// the format, the version of the program and the rows that it is about; a shard of others refuses it.
//
// Two kinds of rows are made: those of topics, over the terms that topics are made of (Topics), and those of the head,
// over terms, words and auxiliary features, with label and fold (Head). Sums are added in the order of the shards,
// above groupSize shards in groups of as many: so equally many shards give equal bits wherever they lie.
package rounds
