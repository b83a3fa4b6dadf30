package textproc

import "strings"

const (
	oldest      = 120 // years; a greater number is not an age
	adultVitals = 8   // years from which vital signs have the ranges of adults (ESI)
)

// age reads an age, and the sex after it, at the number i. It returns 0 if there is none.
func (t *Transformer) age(i int) int {
	years, who, end := t.ageAt(i)
	if end == 0 {
		return 0
	}
	return t.addAge(i, end, years, who)
}

// sexFirst reads "M/45" and "female, 32" at the start of a note. It returns 0 if lexeme i begins no such form.
func (t *Transformer) sexFirst(i int) int {
	who, at := t.lex[i].word.sex, i+1
	if i > 0 || who == 0 {
		return 0
	}
	if t.isMark(at, '/') || t.isMark(at, ',') || t.isMark(at, '-') {
		at++
	}
	if !t.isNumber(at) || t.lex[at].point {
		return 0
	}
	if years, _, end := t.ageAt(at); end > 0 {
		return t.addAge(i, end, years, who)
	}
	if end := at + 1; end == len(t.lex) || t.lex[end].kind == letters && !t.lex[end].glued && t.unitAt(end) == noUnit ||
		t.isMark(end, ',') || t.isMark(end, '\n') {
		return t.addAge(i, end, t.lex[at].value, who)
	}
	return 0
}

// Patient returns the age in years and the sex, F or M, that the last note says of the patient, as far as they are
// auxiliary columns and not terms; otherwise -1 and "".
func (t *Transformer) Patient() (years float64, sex string) { return t.years, t.sex }

// addAge adds the age and the sex of lexemes [from,to). Only the first age of a note is the patient's.
func (t *Transformer) addAge(from, to int, years float64, who byte) int {
	if n := len(t.events); n > 0 && t.events[n-1].effect == kin && t.events[n-1].end == int32(from) { // mother 45 yo
		t.events[n-1].end = int32(to)
		return t.addTyped(from, to, age)
	}
	if t.aged || from > 0 && t.effectAt(to) == kin { // 40F with 3 yo sister
		return t.addTyped(from, to, age)
	}
	t.aged = true
	if years < adultVitals {
		t.young = true
	}
	if settings := &t.v.settings; settings.AgeColumn {
		t.years = years
	} else if settings.Age {
		t.typed(age, age.rangeOf(years))
	}
	if i := strings.IndexByte("fm", who); i >= 0 && t.v.settings.SexColumn {
		t.sex = "FM"[i : i+1]
	} else if i >= 0 && t.v.settings.Age {
		t.typed(sex, i)
	}
	return t.addTyped(from, to, age)
}

// ageAt returns the age and the sex that stand at the number i, and the lexeme after them, 0 if there are none.
func (t *Transformer) ageAt(i int) (age float64, who byte, end int) {
	if i > 0 && t.lex[i].glued && t.lex[i-1].kind == letters {
		return 0, 0, 0
	}
	at := i + 1
	if t.isShort(at) && (t.isGauge(i, at) || t.isTemperature(i, at) || t.isDistance(i, at)) {
		return 0, 0, 0
	}
	if t.isMark(at, '-') || t.isMark(at, '/') && (i == 0 || t.lex[at].glued) && t.sexAt(at+1) { // 67/M
		at++
	}
	if at >= len(t.lex) || t.lex[at].kind != letters || t.lex[at].word == nil {
		return 0, 0, 0
	}
	value, unit, touches := t.lex[i].value, t.lex[at].word, t.lex[at].glued
	a, one := agedWords[unit.raw]
	switch {
	case one && (a.years == 1 || touches || i == 0):
		age, who, end = value*a.years, a.sex, at+1
		if who == 0 {
			end = t.skipPoint(end)
		}
	case unit.unit >= days && unit.unit <= years || unit.raw == "m" && t.isMonth(at):
		u := months
		if unit.unit != noUnit {
			u = unit.unit
		}
		age = yearsOf(value, u)
		var old bool
		if end, old = t.old(at + 1); !old && (t.is(i-1, "x") || !t.sexAt(end) && !t.ageAlone(i, at)) {
			return 0, 0, 0
		}
		// 45F
	case unit.sex != 0 && (touches && len(unit.raw) == 1 || t.beginsSentence(i)) && !t.lex[i].point &&
		value < leastFever && t.sexAt(at):
		return value, unit.sex, at + 1
	default:
		return 0, 0, 0
	}
	if who == 0 {
		if (t.isMark(end, ',') || t.isMark(end, '/') || t.isMark(end, '-')) && t.sexAt(end+1) {
			end++
		}
		if old := t.is(end-1, "o", "yo", "old"); old && end < len(t.lex) && t.lex[end].end-t.lex[end].start == 1 &&
			t.lex[end].kind == letters && !t.sexAt(end) && t.sexAt(end+1) { // 17 y o w f
			end++
		}
		if t.sexAt(end) {
			who, end = t.lex[end].word.sex, end+1
		} else if t.isClass(i-1, person) {
			who = t.lex[i-1].word.sex
		}
	}
	return age, who, end
}

// isMonth reports whether the m at lexeme at, after a number, is a month: 6m old, 6 m/o.
func (t *Transformer) isMonth(at int) bool {
	return t.is(at+1, "old") || (t.isMark(at+1, '/') || t.isMark(at+1, '.')) && t.is(at+2, "o") ||
		t.isMark(at+1, '-') && t.is(at+2, "old")
}

// leastFever is the least number that is read as degrees Fahrenheit in "102F", not as years.
const leastFever = 100

// ageAlone reports whether a number at i and its unit at the start of a note, or behind a person, are an age without
// "old": 40Y, 6wk, male 48 yrs.
func (t *Transformer) ageAlone(i, unit int) bool {
	if i > 0 && !t.isClass(i-1, person) || t.isClass(unit+1, expecting|labouring) ||
		t.is(unit+1, "of", "ago", "hx", "h", "history", "s", "pp", "post",
			"postpartum", "in", "now", "since") {
		return false
	}
	u := t.unitAt(unit)
	return u == years || u == months && i > 0 || t.lex[unit].glued && (u == weeks || u == months)
}

// old reads the word that makes a time an age: old, /o, .o. or -old. It returns the lexeme after it.
func (t *Transformer) old(at int) (end int, found bool) {
	switch {
	case (t.isMark(at, '/') || t.isMark(at, '.')) && t.is(at+1, "o", "old"):
		return t.skipPoint(at + 2), true
	case t.is(at, "o", "old", "olds"):
		return at + 1, true
	case t.isMark(at, '-') && t.is(at+1, "old"):
		return at + 2, true
	}
	return at, false
}

// skipPoint returns at, or the lexeme after a full stop that closes "y.o.".
func (t *Transformer) skipPoint(at int) int {
	if t.isMark(at, '.') && t.lex[at].glued {
		return at + 1
	}
	return at
}

// sexAt reports whether the word at i is a sex. The f of f/u and of f12 does not.
func (t *Transformer) sexAt(i int) bool {
	w := t.wordAt(i)
	return w != nil && w.sex != 0 && (len(w.raw) > 1 || !(t.isNumber(i+1) && t.lex[i+1].glued) &&
		!(t.isMark(i+1, '/') && t.lex[i+1].glued && t.touchesLetters(i+2)))
}
