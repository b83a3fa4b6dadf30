package textproc

import (
	"slices"
	"strings"
)

// titled reads a title or a role at i and the names after it, such as "Mrs Smith", "Mr John Whitfield" or "NP Garcia",
// and returns the next lexeme. Names are not terms. It returns i if no name follows. A word of the concepts is a name
// where both it and the title have a capital ("Dr Stroke"). Else it is none in four places: after "dr" or "ms" without
// a full stop, after "ms." inside a sentence, after an article ("the dr. fever"), and after a role ("nurse fever")
// unless that stands behind "by". Inside a sentence, "miss" is a verb.
func (t *Transformer) titled(i int) int {
	if t.is(i, "miss") && !t.beginsSentence(i) || t.is(i, "master", "kum") && !t.hasCapital(i+1) {
		return i
	}
	at, point := i+1, t.isMark(i+1, '.') && t.lex[i+1].glued
	if point {
		at++
	}
	const initials = 2
	for n := 0; n < initials && t.isInitial(at); n++ {
		at++
		if t.isMark(at, '.') {
			at++
		}
	}
	if t.isClass(i, role) && t.isMark(at, ':') && t.isGiven(at+1) { // NOK: Jane Doe
		at++
	}
	if at >= len(t.lex) || t.lex[at].kind != letters || !t.mayBeName(at) {
		return i
	}
	if w := t.lex[at].word; w != nil {
		capitals := t.hasCapital(at) && (t.hasCapital(i) && !t.isClass(i, role) && !t.isArticle(i-1) ||
			t.isClass(i, role) && (t.is(i-1, "by") || t.isMark(at+1, '-') && t.lex[at+1].glued))
		own := w.node != nil && w.correct == w && w.node.entry != nil
		switch {
		case own && (w.node.entry.effect != none || !t.namesFindings(i, point) &&
			(!capitals || w.node.entry.Kind == "admin")):
			return i
		case t.isClass(i, role) && !t.isUnknown(at) && !capitals:
			return i
		}
	}
	if t.is(i, "ms") && t.lex[i].word.node != nil && t.lex[i].word.node.entry != nil &&
		t.senseOf(i, i+1, t.lex[i].word.node.entry) != nil {
		return i
	}
	return t.names(at+1, false)
}

// hasCapital reports whether the word at i begins with a capital and goes on without: Burns, not BURNS.
func (t *Transformer) hasCapital(i int) bool {
	if !t.beginsUpper(i) {
		return false
	}
	at := t.noteAt(i) + 1
	return at < len(t.note) && lower[t.note[at]] <= t.note[at]
}

// beginsUpper reports whether the word at i begins with a capital.
func (t *Transformer) beginsUpper(i int) bool {
	if i < 0 || i >= len(t.lex) || t.lex[i].kind != letters {
		return false
	}
	c := t.note[t.noteAt(i)]
	return lower[c] > c
}

// noteAt returns the byte of the note at which lexeme i starts.
func (t *Transformer) noteAt(i int) int {
	at := int(t.lex[i].start)
	if t.folded {
		at = t.folder.start[at]
	}
	return at
}

// opening reads the surname and first names that a note begins with, "Okafor, Ngozi:" or "OKAFOR Ngozi", and returns
// the lexeme after them. It returns 0 if there are none.
func (t *Transformer) opening() int {
	if !t.beginsUpper(0) || !t.isGiven(0) {
		return 0
	}
	end := t.names(1, true)
	comma := false
	for i := range t.lex[:end] {
		if comma = comma || t.isMark(i, ','); t.lex[i].kind == letters && !t.beginsUpper(i) {
			return 0
		}
	}
	if comma && end < len(t.lex) && (t.isNumber(end) || strings.IndexByte(":.;-(", t.lex[end].c) >= 0) ||
		!t.hasCapital(0) && t.hasCapital(1) && end > 1 {
		return end
	}
	return 0
}

// opensNote reports whether the word at i, which no table has, stands among the one to three such words with capitals
// that begin a note and before a number, a mark or a word without: Okafor chest pain. It may be a name: see isNamed.
func (t *Transformer) opensNote(i int) bool {
	const most = 3
	if i >= most {
		return false
	}
	end := 0
	for end < most && t.beginsUpper(end) && t.isGiven(end) {
		end++
	}
	return i < end && !t.beginsUpper(end)
}

func (t *Transformer) isArticle(i int) bool {
	return t.is(i, "the", "a", "her", "his", "their", "my", "family")
}

// relation reads "W/o Suresh" at i, wife of, behind the age or sex of a patient, and returns the lexeme after the name.
// It returns i if this is none.
func (t *Transformer) relation(i int) int {
	at, k := i+3, i-1
	if !t.is(i, "w", "s", "d", "c") || !t.isMark(i+1, '/') || !t.is(i+2, "o") || !t.hasCapital(at) || !t.isGiven(at) {
		return i
	}
	if t.isMark(k, ',') {
		k--
	}
	if !t.isNumber(k) && t.unitAt(k) != years && (k < 0 || t.lex[k].word == nil || t.lex[k].word.sex == 0 &&
		agedWords[t.lex[k].word.raw].years == 0) {
		return i
	}
	return t.names(at+1, false)
}

// mayBeName reports whether the word at i may be the first name after a title: no single letter, function word, unit,
// verb, month, or word for a doctor without a name.
func (t *Transformer) mayBeName(i int) bool {
	w := t.lex[i].word
	return w == nil || len(w.raw) > 1 && !w.stop && w.unit == noUnit && w.class&(acting|month|practice|aside) == 0
}

// names returns the lexeme after the names that go on at lexeme i: up to two more words, and the parts of one with
// hyphens. Behind a name with a capital they are words with one, other than verbs and findings of several words, else
// uncommon words that no table has. Commas may stand between if commas is set: Garcia, Maria.
func (t *Transformer) names(i int, commas bool) int {
	const most = 2
	capitals := !commas && t.hasCapital(i-1)
	for n := 0; ; {
		switch next := i + 1; {
		case t.isMark(i, '-') && t.lex[i].glued && t.touchesLetters(next):
			i += 2
		case capitals && t.is(i, "van", "von", "de", "der", "la", "del", "bin", "al") && (t.hasCapital(next) ||
			t.is(i, "de") && t.hasCapital(next+1)):
			i = next
		case n < most && (capitals && t.isFurther(i) || !capitals && t.isGiven(i)):
			i, n = next, n+1
		case n < most && commas && t.isMark(i, ',') && t.isGiven(next):
			i, n = next+1, n+1
		default:
			return i
		}
	}
}

// isFurther reports whether the word at i, behind a name with a capital, is one more.
func (t *Transformer) isFurther(i int) bool {
	if !t.hasCapital(i) || !t.mayBeName(i) || t.inflected(i) {
		return false
	}
	if w := t.lex[i].word; w != nil && w.node != nil {
		e, next := t.longest(i)
		return next == i+1 && (e == nil || e.effect == none && e.Kind != "admin")
	}
	return true
}

// isUnknown reports whether a word stands at lexeme i that no table has, so that it may be a name.
func (t *Transformer) isUnknown(i int) bool {
	return t.isUnlisted(i) && (t.lex[i].word == nil || !english()[t.lex[i].word.raw])
}

// isUnlisted is isUnknown, but for common English words and first names that look like a misspelled finding.
func (t *Transformer) isUnlisted(i int) bool {
	if i < 0 || i >= len(t.lex) || t.lex[i].kind != letters {
		return false
	}
	w := t.lex[i].word
	return w == nil || !w.listed && !w.stop && len(w.raw) > 1
}

// isGiven reports whether the word at i may be a name after "Pt:" or a comma: no table has it, and it is not common.
func (t *Transformer) isGiven(i int) bool {
	return t.isUnlisted(i) && !t.inflected(i) && (t.lex[i].word == nil || !commonWords()[t.lex[i].word.raw])
}

// inflected reports whether the word at i ends like a verb, an adverb or an adjective: Mr Smith unsteady, limping.
func (t *Transformer) inflected(i int) bool {
	w := t.lex[i].word
	return w != nil && endsIn(w.raw, "ed", "ing", "ly", "ful", "less", "ous", "able", "ive", "ical", "ness")
}

func endsIn(raw string, endings ...string) bool {
	return slices.ContainsFunc(endings, func(ending string) bool { return strings.HasSuffix(raw, ending) })
}

// called reads "Pt Name: Garcia, Maria" at i and returns the lexeme after it. It returns i if no name follows.
func (t *Transformer) called(i int) int {
	at := i + 1
	if !t.is(i, "name") { // Patient: Sarah Okoro
		switch {
		case t.isMark(at, ':') && t.isGiven(i+2):
			return t.names(i+3, true)
		case t.hasCapital(at) && t.isGiven(at) && t.hasCapital(at+1) && t.isGiven(at+1): // Patient Maria Garcia
			return t.names(at+1, false)
		}
		return i
	}
	if !t.isMark(at, ':') && !t.isMark(at, '-') && !t.is(i-1, "pt", "pts", "patient", "patients", "full", "first", "last", "family",
		"given") {
		return i
	}
	for t.isMark(at, ':') || t.isMark(at, '-') || t.is(at, "is") {
		at++
	}
	if at >= len(t.lex) || t.lex[at].kind != letters || !t.mayBeName(at) {
		return i
	}
	return t.names(at+1, true)
}

// isNamed reports whether the word at i, which no table has, stands behind a relative or a word such as "by", with at
// most two other such words and a mark between: mother, Jane Okoro; seen by Garcia. It may be a name: it stays a term,
// which the vocabulary has if several patients share it, but its pieces do not count.
func (t *Transformer) isNamed(i int) bool {
	const most = 5 // lexemes between
	for k := i - 1; k >= max(0, i-1-most); k-- {
		switch {
		case t.isClass(k, naming) || t.effectAt(k) == kin:
			return true
		case t.lex[k].c == ',' || t.lex[k].c == ':' || t.lex[k].c == '(' || t.lex[k].c == '-' || t.isUnlisted(k) ||
			t.hasCapital(k) && t.isMark(k+1, '-'):
		default:
			return false
		}
	}
	return false
}

// isOfKin reports whether the word at i, which no table has and which is not common, stands straight behind a relative,
// somebody who cares for the patient, or "baby of", or behind one such word: wife Linda Garcia, GP: Garcia, carer
// Van-der-Berg. Then it is a name. Groups of people have none.
func (t *Transformer) isOfKin(i int) bool {
	w, k := t.lex[i].word, i-1
	if t.isMark(k, '/') { // crew Garcia / Okoro
		k--
	}
	for n := 0; n < 2 && t.isMark(k, '-') && t.lex[k].glued && (t.isUnknown(k-1) || t.hasCapital(k-1)); n++ {
		k -= 2
	}
	if t.isUnknown(k) || t.hasCapital(k) && t.isGiven(k) {
		k--
	}
	if t.isMark(k, ':') {
		k--
	}
	ofBaby := t.is(k, "of") && t.is(k-1, "baby") || t.is(k, "o") && t.isMark(k-1, '/') && t.is(k-2, "b")
	return (ofBaby || t.is(k, "law", "carer", "caregiver", "crew", "gp", "interpreter") ||
		k >= 0 && t.effectAt(k) == kin && !t.is(k, "contact", "family", "household", "twin")) &&
		!t.inflected(i) && w.correct == w && strings.ContainsAny(w.raw, "aeiouy") && !commonWords()[w.raw] // not gdm
}

// address reads the e-mail address that begins at lexeme i and returns the lexeme after it, or i if there is none.
func (t *Transformer) address(i int) int {
	at, end := false, i
	for end < len(t.lex) && (end == i || t.lex[end].glued) && (t.lex[end].kind != mark ||
		strings.IndexByte("@.-_+", t.lex[end].c) >= 0) {
		at = at || t.lex[end].c == '@' && end > i && t.lex[end-1].kind != mark && end+1 < len(t.lex) &&
			t.touchesLetters(end+1)
		end++
	}
	if !at {
		return i
	}
	if t.lex[end-1].c == '.' { // of the sentence
		end--
	}
	return end
}

// street reads the street and its number at lexeme i, 12 Acacia Avenue, and returns the lexeme after it. It returns i
// if there is none.
func (t *Transformer) street(i int) int {
	const most = 3 // words of its name
	from := i + 1
	if from < len(t.lex) && t.touchesLetters(from) && t.lex[from].end-t.lex[from].start == 1 { // 221B
		from++
	}
	for at := from; at <= from+most && at < len(t.lex); at++ {
		switch {
		case at > from && t.isClass(at, streets):
			return at + 1
		case t.lex[at].glued || !t.isUnlisted(at) && !t.hasCapital(at):
			return i
		}
	}
	return i
}

// postcode reads a postcode of the United Kingdom at i, SW1A 1AA, and returns the lexeme after it, or i.
func (t *Transformer) postcode(i int) int {
	at := i + 1
	if w := t.lex[i].word; w == nil || len(w.raw) > 2 || w.class != 0 && len(w.raw) == 1 || !t.isNumber(at) ||
		!t.lex[at].glued {
		return i
	}
	at++
	if at < len(t.lex) && t.touchesLetters(at) && t.lex[at].end-t.lex[at].start == 1 {
		at++
	}
	if t.isNumber(at) && !t.lex[at].glued && t.lex[at].end-t.lex[at].start == 1 && t.touchesLetters(at+1) &&
		t.lex[at+1].end-t.lex[at+1].start == 2 && t.unitAt(at+1) == noUnit {
		return at + 2
	}
	return i
}

// isInitial reports whether lexeme i is a single letter before a word, with a full stop or without.
func (t *Transformer) isInitial(i int) bool {
	if i >= len(t.lex) || t.lex[i].word == nil || len(t.lex[i].word.raw) != 1 || t.lex[i].kind != letters {
		return false
	}
	next := i + 1
	if t.isMark(next, '.') {
		next++
	}
	return next < len(t.lex) && t.lex[next].kind == letters
}

// namesFindings reports whether a word of the concepts after the title at i is a name: Mrs Payne, Dr. Burns.
func (t *Transformer) namesFindings(i int, point bool) bool {
	if t.is(i, "dr") {
		return point && !t.isArticle(i-1)
	}
	return t.is(i, "mr", "mrs") || point && t.beginsSentence(i)
}

func (t *Transformer) beginsSentence(i int) bool {
	return i == 0 || t.isMark(i-1, '.') || t.isMark(i-1, ';') || t.isMark(i-1, '\n')
}
