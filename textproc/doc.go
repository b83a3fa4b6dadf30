// Package textproc turns triage notes into rows of a document-term matrix, as Li, Zhu, Qu, Ye and Sun prepare the
// notes for SONMF: numbers, punctuation and stop words are removed, words are stemmed, and the terms weighted
// by tf-idf or binary. Training and scoring run the same code: a Vectorizer that was saved and made again by
// New gives the same bits as the one that Fit returned.
//
// # From a note to a row
//
//	text     invalid UTF-8 and invisible format characters are dropped, Unicode NFKC, case folded
//	words    runs of letters and marks; an apostrophe between letters is part of the word. Everything else
//	         separates, digits too: "96YOM" is the word yom, "3wks" wks. No term ever contains a digit.
//	         Words over 64 bytes are dropped.
//	synonyms a word, or a form with slashes such as c/o, w/ and n/v, becomes what words/synonyms.txt or Settings.Synonyms says
//	stops    stop words and single letters are dropped
//	stems    Porter2 as kljensen/snowball v0.10.0 has it, from before its change of October 2023
//	negation optional: terms denied in the note become terms of their own, "denies pain" gives not_pain
//	n-grams  optional: up to three neighbouring terms of a clause joined by a space
//
// A token is the rest of a word after these steps, a term is a distinct token text, and the vocabulary is the terms that
// have columns. X is n×p: rows are notes, columns terms. n is counted in distinct visits wherever a frequency is meant.
//
// # Invariants
//
// A row depends on its text and the vectorizer alone: not on other notes, their order, threads or what a cache
// holds. A Vectorizer is immutable and safe for concurrent use; a Transformer belongs to one goroutine.
// Errors never quote notes or terms.
//
// Terms come from patients' notes. MinDF counts distinct visits, and a surface form is kept only if as many visits use it,
// so that neither holds a word that fewer patients share.
package textproc
