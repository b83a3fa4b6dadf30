// Package textproc turns triage notes into rows of a document-term matrix, whose columns are what the nurse meant:
// concepts, measurements and words, each with its status. Training and scoring run the same code: a Vectorizer that was
// saved and made again by New gives the same bits as the one that Fit returned.
//
// # From a note to a row
//
//	text       markup of HTML and HL7 is decoded, invalid UTF-8 and invisible format characters are dropped,
//	           typographic characters replaced, Unicode NFKC, case folded
//	lexemes    words (runs of letters and marks, apostrophes left out, at most 64 bytes), numbers, and single marks
//	numbers    with their keys and units become ranges: hr:111-130, pain:7-10, age:75-84y, dur:1-3d; a child's vital
//	           signs have their own, child:hr:>=131. Dates, times of day, sizes and other numbers are not terms.
//	concepts   the longest surface of concepts.tsv and of the tables of dialects (uk.tsv, au.tsv, in.tsv, ca.tsv): sob
//	           and "short of breath" are dyspnea, n/v is nausea and vomiting.
//	           Its parts are added: chest_pain, chest, pain.
//	senses     a surface with several is read by its neighbours (senses.tsv), or left as it is
//	names      words after a title or a role are names, not terms: Mrs Smith, NP Jones; nor are e-mail addresses,
//	           streets and postcodes. An unknown word after a relative or "seen by" has no pieces.
//	spelling   an unknown word of five letters or more is read as the word of a surface that is one edit away
//	stop words and single letters are not terms
//	stems      other words: Porter2 of kljensen/snowball v0.10.0, before the change of October 2023
//	status     by the words and signs around (status.tsv): denied, possible, past, or another person's. Such a term is
//	           separate, not:fever, and never counts as affirmed, except for chronic diseases: h/o copd is copd.
//	phrases    optional: up to three neighbouring terms of a clause joined by a space, without measurements and parts
//
// A mention, exported as Token, is a part of the note that has a meaning, with its terms. A term is a column's name;
// ':' and '_' occur only in terms of measurements, statuses and concepts. The vocabulary is the terms that have
// columns. X is n×p: rows are notes, columns terms. n is counted in distinct patients wherever a frequency is meant.
//
// LearnPieces adds rows of the pieces of words, for words without a term; Parts attributes a prediction to places in
// the note.
//
// # The tables
//
// Settings.Concepts holds the concepts, senses and triggers; nil stands for the built-in ones in the folder concepts,
// whose headers explain them. Concepts.With adds a site's own. They are saved with a model.
//
// Triggers and scopes follow NegEx (Chapman et al. 2001) and ConText (Harkema et al. 2009); finding misspelled words by
// leaving letters out follows SymSpell (Garbe 2012). The words are our own. Sources of the ranges are given with them.
//
// # Invariants
//
// A row depends on its text and the vectorizer alone: not on other notes, their order, threads or what a cache holds,
// nor on the Unicode form or the case of the text. Spans of tokens lie in the note, are not empty, ascend and do not
// overlap. A Vectorizer is immutable and safe for concurrent use; a Transformer belongs to one goroutine. The time of a
// row is linear in its text: triggers and senses search a bounded distance. Errors never quote notes or the terms of a
// vocabulary.
//
// Terms come from patients' notes. MinDF counts distinct patients, and a surface form is kept only if as many patients
// use it, so that neither contains a word of fewer patients. For words of the tables and common English words, which
// are hardly names, it is MinCommon.
package textproc
