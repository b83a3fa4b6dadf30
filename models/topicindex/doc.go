// Package topicindex finds topics by their words, over all versions of all models of a store.
//
// A topic is a document: its heaviest words with signs and weights, what nurses wrote for them, its label, prevalence,
// coefficient and direction, and its model, complaint, method, version, generation, status and date. Factors of
// questionnaires are topics too, whose words stand in the texts of their items. No text of a note is in the index: it
// holds what the versions hold.
//
// # Score
//
// A query is read as a note is, by textproc with the settings of a served model: "sob", "shortness of breath" and
// "dyspnea" are one term. Words that no topic has are looked up as the beginning of a word, and as a word with one
// typing error. A topic's score is the sum over the query's terms of
//
//	idf · w·k / (w + K)
//
// times the share of the terms that it has. This is BM25 as bleve computes it, with the weight in place of the count: w
// is |weight| divided by the length of the topic, in (0,1], and K = 0.3. A topic therefore stands before another if the
// term weighs more in it. A word in the form in which nurses wrote it counts in addition. Of equal scores, the topic of
// a served model comes first, then the newest.
//
// # The index is disposable
//
// It lies in a folder for caches on the machine of its reader, whatever the store is: see docs/adr/0014. The folder's
// name follows from the versions of the store and their statuses. If it is missing, damaged or cannot be opened, it is
// made again from the store; versions that the index before it has are not read again, since a version never changes.
// An Index is safe for concurrent use; Refresh replaces what it searches, and the index before is closed after its last
// search.
package topicindex
