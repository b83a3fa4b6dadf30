package textproc

// weeksPregnant reads the age of a pregnancy at the number of lexemes [i,next): 34 wks pregnant, 38w3d. It returns 0 if
// there is none.
func (t *Transformer) weeksPregnant(i, next int, x float64) int {
	const long = 20 // weeks: longer than most symptoms last
	u, end := t.unitAt(next), next+1
	if (t.isNumber(next) && t.isMark(end, '/') || t.isMark(next, '+') && t.lex[next].glued) &&
		t.isNumber(end) != t.isNumber(next) { // 32 5/7 wks, 37+2 wks
		at := next + 2
		sevenths := !t.isNumber(next)
		if t.isNumber(next) {
			sevenths = t.isNumber(at) && t.lex[at].value == 7
			at++
		}
		switch {
		case !sevenths:
		case t.unitAt(at) == weeks:
			return t.one(i, at+1, gestation, x)
		case t.isMark(at, '/') && t.isNumber(at+1) && t.lex[at+1].value == fullTerm: // 31+4/40
			return t.one(i, at+2, gestation, x)
		case t.isMark(next, '+') && t.lex[next+1].value < 7 && t.isObstetric(i): // G2P1 @ 31+4
			return t.one(i, at, gestation, x)
		}
	}
	if u != weeks && u != months {
		return 0
	}
	if u == weeks && t.lex[next].glued && t.isNumber(end) && t.lex[end].glued && t.is(end+1, "d") && x >= 5 { // 38w3d
		return t.one(i, end+2, gestation, x)
	}
	if u == months {
		x *= 30.4 / 7
	}
	if t.is(end, "ago") || t.isMark(end, '-') || t.is(end, "old") {
		return 0
	}
	before := i - 1
	for before >= 0 && before > i-5 && (t.isClass(before, filler|separator) || t.isMark(before, ':') ||
		t.isMark(before, '~') || t.isMark(before, '(') || t.is(before, "x")) {
		before--
	}
	since := before < i-1 && t.is(i-1, "x") || t.is(i-1, "for", "past", "last")
	switch n := len(t.mentions); {
	case t.isClass(before, expecting), t.isClass(before, labouring) && x >= long && !since,
		n > 0 && t.mentions[n-1].measure == ob && !since:
		return t.one(i, end, gestation, x)
	case since:
		return 0
	}
	for at, seen := end, 0; at < len(t.lex) && seen < 3; at++ {
		switch {
		case t.isClass(at, expecting), t.gravidaAt(at) > 0, x >= long && t.isClass(at, labouring):
			return t.one(i, end, gestation, x)
		case t.lex[at].kind == letters:
			seen++
		case t.isMark(at, '.') || t.isMark(at, ';') || t.isMark(at, ',') && x < long:
			return 0
		}
	}
	return 0
}

// fullTerm is the number of weeks of which pregnancies are written as a part: 39/40.
const fullTerm = 40

// weeksOfForty reads 31/40 at lexemes [from,at+3). It returns 0 if that is an acuity of vision or a score.
func (t *Transformer) weeksOfForty(from, at int, a, b float64) int {
	const visual, least, most = 20, 5, 43
	if b != fullTerm || a < least || a > most || a == visual && !t.isObstetric(from) || t.lex[at].point {
		return 0
	}
	return t.one(from, at+3, gestation, a)
}

// isObstetric reports whether words about a pregnancy stand near lexeme i.
func (t *Transformer) isObstetric(i int) bool {
	const near = 8 // lexemes
	for k := max(0, i-near); k < min(len(t.lex), i+near); k++ {
		if t.isClass(k, expecting|labouring) || t.gravidaAt(k) > 0 {
			return true
		}
	}
	return false
}

// gravidaAt returns the lexeme after G3P2 at i, 0 if there is none.
func (t *Transformer) gravidaAt(i int) int {
	if !t.is(i, "g") || !t.isNumber(i+1) || !t.is(i+2, "p") || !t.isNumber(i+3) {
		return 0
	}
	return i + 4
}

// gravida reads G3P2 and its longer forms at i. It returns i if there is none.
func (t *Transformer) gravida(i int) int {
	next := t.gravidaAt(i)
	if next == 0 {
		return i
	}
	for t.is(next, "a", "ab", "l", "sab", "tab") && t.isNumber(next+1) && t.lex[next+1].glued {
		next += 2
	}
	return t.one(i, next, ob, 0)
}
