package textproc

// partsOf are the units of durations written as a part of a week, a year or a day: 3/7, 2/52, 6/12, 1/24.
var partsOf = map[float64]unit{7: days, 52: weeks, 12: months, 24: hours}

// lasted reads a duration a/b of lexemes [from,at+3), or an age if "old" or, at the start of the note, a sex follows or
// "baby" precedes. Hours and months need a word that makes the fraction a duration: elsewhere it is a date or an acuity
// of vision. It returns 0 if there is none.
func (t *Transformer) lasted(from, at int, a, b float64) int {
	u, end := partsOf[b], at+3
	if u == noUnit || a < 1 || a > 2*b || t.isClass(from-1, dating) {
		return 0
	}
	if after, old := t.old(end); old || from == 0 && t.sexAt(end) || from == 1 && u != days && t.is(0, "bub", "baby") {
		var who byte
		if end = after; t.sexAt(end) {
			who, end = t.lex[end].word.sex, end+1
		}
		return t.addAge(from, end, yearsOf(a, u), who)
	}
	if (u == hours || u == months) && !t.isClass(end, lastingCue) && !t.isClass(from-1, lastingCue) {
		return 0
	}
	return t.elapsed(from, end, a*hoursOf[u])
}

// lasting reads the number at i with the unit of time at lexeme at. It returns 0 if that is not a duration.
func (t *Transformer) lasting(i, at int, x float64) int {
	u, end := t.unitAt(at), at+1
	if len(t.lex[at].word.raw) == 1 && !t.lex[at].glued && !t.is(i-1, "x") ||
		len(t.lex[at].word.raw) == 1 && t.isMark(end, '/') && t.touchesLetters(end+1) { // h/o
		return 0
	}
	if t.rates(at) { // 98 hr 110
		return at
	}
	if t.isClass(i-1, repeating) || u == hours && t.isNumber(i) && t.lex[i].end-t.lex[i].start == 4 { // 0200 hrs
		return end
	}
	end = t.elapsed(i, end, x*hoursOf[u])
	if u >= months && u <= years && t.is(end-1, "ago", "back") {
		t.trigger(end-1, end, over)
	}
	return end
}

// lastsSince reports whether the time of the past at event i is when something began that has lasted since: pain
// started 5 years ago, same as last time.
func (t *Transformer) lastsSince(i int) bool {
	const near = 5 // lexemes
	at := int(t.events[i].lex)
	dated := t.is(at, "ago", "last", "years", "yrs", "few") || t.isNumber(at) || t.isClass(at, month)
	return dated && t.among(at-near, at, beginning)
}

// elapsed adds a duration in hours of lexemes [i,end), with "ago" behind it, and returns the lexeme after them.
func (t *Transformer) elapsed(i, end int, x float64) int {
	end = t.one(i, end, duration, x)
	if t.is(end, "ago") || t.is(end, "back") && (t.isMark(end+1, '.') || t.isMark(end+1, ',')) { // 2 hrs back.
		if n := len(t.mentions); n > 0 && t.mentions[n-1].measure == duration && t.mentions[n-1].first == int32(i) {
			t.mentions[n-1].end = t.lex[end].end
		}
		end++
	}
	return end
}

func isYear(x float64) bool { return x >= 1900 && x < 2100 }

// ofYear gives what stands before the year x of lexemes [from,next), with its month, to the past: in 2015, cva 3/2018,
// mi in mar 2018. It returns false if there is no year; without "in", it must be that of a disease or a treatment.
func (t *Transformer) ofYear(from, next int, x float64) bool {
	if !isYear(x) || !t.is(from-1, "in") && !t.dates(from) {
		return false
	}
	t.trigger(from, next, over)
	return true
}

// dates reports whether a year at lexeme i is that of a disease or a treatment straight before it.
func (t *Transformer) dates(i int) bool {
	n := len(t.mentions)
	if n == 0 || t.mentions[n-1].last != int32(i) || t.mentions[n-1].entry == nil {
		return false
	}
	kind := t.mentions[n-1].entry.Kind
	return kind == "history" || kind == "finding" || kind == "treatment"
}
