package textproc

// measured reads the number that belongs to the key of lexemes [i,next). It returns 0 if there is none.
func (t *Transformer) measured(i, next int, e *entry) int {
	m := e.measure
	at := next
	for n := 0; n < 4 && at < len(t.lex) && t.separates(at, m); n++ {
		at++
	}
	if m == glucose {
		if end := t.meterReads(i, next, at); end > 0 {
			return end
		}
	}
	if m == coma && t.is(at, "e") {
		return t.eyesVoiceMotor(i, at)
	}
	if !t.isNumber(at) || !t.belongs(m, i, at) {
		return 0
	}
	if u := t.unitAt(at + 1); m != glucose && m != refill && u.isTime() && !t.is(at+1, "h") && !t.rates(at+1) ||
		t.is(at+1, "am", "pm") || t.isClass(at+1, month) && t.lex[at+1].glued {
		return 0
	}
	if t.isMark(at+1, '/') && !t.is(at+2, "min", "minute", "mt") || t.is(at+1, "over") {
		if end := t.measuredFraction(i, next, at, e); end > 0 {
			return t.changed(end, m)
		}
		return 0
	}
	low, high, end := t.scaled(m, at)
	if m == glucose && high < mostMmol && !t.lex[at].point && !t.is(end-2, "mmol") &&
		(t.is(i, "bsl", "bm", "bms") || t.is(i, "bgl") && t.v.settings.Concepts.speaks("au", "uk")) {
		low, high = low*mgOfMmol, high*mgOfMmol
	}
	step := t.beyond(next, at) * m.step
	if high+step <= m.most && low+step >= m.least {
		low, high = low+step, high+step
	}
	return t.changed(t.finish(i, next, at, end, e, low, high), m)
}

// scaled reads the number or the range at lexeme at in the unit of m, with that unit.
func (t *Transformer) scaled(m *measure, at int) (low, high float64, end int) {
	low, high, end = t.value(at)
	switch m {
	case heartRate:
		if t.is(end, "bpm") {
			end++
		} else if t.isMark(end, '/') && t.is(end+1, "min", "minute", "mt") {
			end += 2
		}
	case duration:
		low, high = low*hoursOf[days], high*hoursOf[days]
	case temperature:
		low, high = celsius(low), celsius(high)
		if t.isMark(end, other) {
			end++
		}
		if t.is(end, "f", "c") {
			end++
		}
		if t.is(end, "r") && (t.lex[end].glued || end+1 == len(t.lex) || t.lex[end+1].kind == mark &&
			!t.lex[end+1].glued || t.isMark(end+1, ',') || t.isMark(end+1, ';')) { // rectal
			end++
		}
	case glucose:
		if t.lex[at].point && high < mostMmol || t.is(end, "mmol", "mmols") {
			low, high = low*mgOfMmol, high*mgOfMmol
		}
		end = t.concentration(end)
	case saturation:
		if t.isMark(end, '%') || t.is(end, "percent") {
			end++
		}
	case refill:
		if t.unitAt(end) == seconds || t.is(end, "s") {
			end++
		}
	case sodium, potassium, lactate, protein:
		end = t.concentration(end)
	case hemoglobin:
		end = t.concentration(end)
		if low >= leastGramsALitre {
			low, high = low/10, high/10
		}
	case troponinLevel:
		end = t.concentration(end)
		if t.lex[at].point && high < 10 { // ng/mL, as ng/L
			low, high = low*1000, high*1000
		}
	case painScore:
		if after := t.outOfTen(end); after > 0 {
			end = after
		}
	}
	if t.isMark(at-1, '"') && t.isMark(end, '"') {
		end++
	}
	return low, high, end
}

// Units of glucose and hemoglobin.
const (
	mgOfMmol         = 18.018 // mg/dL in a mmol/L of glucose
	mostMmol         = 36     // a glucose below is in mmol/L
	leastGramsALitre = 30     // a hemoglobin from this on is in g/L
)

// concentration returns the lexeme after a unit such as mmol/l at i, or i if there is none.
func (t *Transformer) concentration(i int) int {
	if !t.is(i, "g", "mg", "ng", "mmol", "mmols", "meq", "umol", "pg") {
		return i
	}
	if t.isMark(i+1, '/') && t.is(i+2, "l", "dl", "ml", "liter", "litre") {
		return i + 3
	}
	return i + 1
}

// meterReads reads HI or LO, which a meter shows for a glucose out of its range, after the key of lexemes [i,next) and
// separators up to lexeme at. It returns 0 if there is none.
func (t *Transformer) meterReads(i, next, at int) int {
	shown := at
	if !t.is(at, "hi", "lo") {
		for shown--; shown > next && (t.isMark(shown, '"') || t.isMark(shown, '\'')); {
			shown--
		}
		if shown < next || t.isNumber(at) || !t.is(shown, "low", "high") {
			return 0
		}
	}
	x := glucose.most
	if t.is(shown, "lo", "low") {
		x = glucose.least
	}
	end := shown + 1
	if t.isMark(end, '"') || t.isMark(end, '\'') {
		end++
	}
	return t.one(i, end, glucose, x)
}

// beyond reports whether a number at lexeme at, whose separators begin at next, is a bound: 1 for over, -1 for under, 0
// for neither.
func (t *Transformer) beyond(next, at int) float64 {
	for k := next; k < at; k++ {
		switch {
		case t.isMark(k+1, '='):
		case t.isMark(k, '>') || t.is(k, "over", "above", "greater", "more"):
			return 1
		case t.isMark(k, '<') || t.is(k, "under", "below", "less"):
			return -1
		}
	}
	return 0
}

// arrow returns the lexeme after an arrow at i, as in 90->150 and 90 --> 150, or 0 if none stands there.
func (t *Transformer) arrow(i int) int {
	at := i
	for t.isMark(at, '-') || t.isMark(at, '=') {
		at++
	}
	if t.isMark(at, '>') {
		return at + 1
	}
	return 0
}

// changed reads the later values of m behind arrows from lexeme end on and returns the lexeme after them.
func (t *Transformer) changed(end int, m *measure) int {
	for {
		at := t.arrow(end)
		if at > 0 && t.is(at, "now", "to") {
			at++
		}
		if at == 0 || !t.isNumber(at) {
			return end
		}
		if t.isMark(at+1, '/') && t.isNumber(at+2) {
			if end = t.fraction(at, at, t.lex[at].value); m != systolic && m != painScore {
				return end
			}
			continue
		}
		low, high, next := t.scaled(m, at)
		t.typed(m, m.worse(low, high))
		end = t.addTyped(at, next, m)
	}
}

// rates reports whether "hr" at i is a heart rate, not an hour: a number of that size follows, without a unit.
func (t *Transformer) rates(i int) bool {
	at := i + 1
	if t.isMark(at, ':') || t.isMark(at, '=') {
		at++
	}
	return t.is(i, "hr") && t.isNumber(at) && t.lex[at].value >= 30 && t.unitAt(at+1) == noUnit
}

// separates reports whether lexeme i may stand between a key of m and its number.
func (t *Transformer) separates(i int, m *measure) bool {
	l := &t.lex[i]
	switch l.c {
	case ':', '=', '~', '(', '@', '>', '<', '#', '"', '\'':
		return true
	case '+':
		return m == potassium
	case '-':
		return !(l.glued && t.touchesNext(i)) || t.isNumber(i+1)
	}
	if m == orientation && t.is(i, "to") {
		return false
	}
	return t.isClass(i, separator) || m == orientation && t.is(i, "x") || m == painScore &&
		t.is(i, "a", "an", "as", "rated")
}

// measuredFraction reads a/b at the number at, which belongs to the key of lexemes [i,next): 120/80, 90/palp, 8/10,
// 14/15.
func (t *Transformer) measuredFraction(i, next, at int, e *entry) int {
	a := t.lex[at].value
	if !t.isNumber(at + 2) {
		if e.measure == systolic && t.is(at+2, "p", "palp", "palpation", "doppler") {
			return t.finish(i, next, at, at+3, e, a, a)
		}
		return 0
	}
	switch b := t.lex[at+2].value; {
	case e.measure == systolic:
		return t.pressure(i, at+3, a, b)
	case e.measure == painScore && b == worstPain, e.measure == coma && b == coma.most:
		return t.finish(i, next, at, at+3, e, a, a)
	}
	return 0
}

// eyesVoiceMotor reads the parts of a coma scale, E4V5M6, from lexeme at on. It returns 0 if one is missing.
func (t *Transformer) eyesVoiceMotor(i, at int) int {
	sum := 0.0
	for _, part := range []string{"e", "v", "m"} {
		if !t.is(at, part) || !t.isNumber(at+1) {
			return 0
		}
		sum += t.lex[at+1].value
		at += 2
	}
	return t.one(i, at, coma, sum)
}

// finish adds the measurement of lexemes [at,end), and before it the concept of its key, lexemes [i,next), if it keeps
// one; else the key is part of the measurement.
func (t *Transformer) finish(i, next, at, end int, e *entry, low, high float64) int {
	m := e.measure
	if m.concepts && e.terms != nil {
		t.add(i, next, e.terms, e.parts, e, nil)
		i = at
	}
	t.typed(m, m.worse(low, high))
	return t.addTyped(i, end, m)
}

// followsVital reports whether a vital sign ends straight before lexeme i.
func (t *Transformer) followsVital(i int) bool {
	n := len(t.mentions)
	return n > 0 && t.mentions[n-1].measure != nil && t.mentions[n-1].measure.vital &&
		t.mentions[n-1].end+3 >= t.lex[i].start
}

// nextToVital distinguishes a single-letter key from a letter: another vital sign stands before or after it.
func (t *Transformer) nextToVital(key, number int) bool {
	if len(t.lex[key].word.raw) > 1 || t.followsVital(key) {
		return true
	}
	for at := number + 1; at < len(t.lex) && at <= number+2; at++ {
		if w := t.lex[at].word; w != nil && w.node != nil && w.node.entry != nil && w.node.entry.measure != nil &&
			w.node.entry.measure.vital {
			return true
		}
	}
	return false
}

// belongs reports whether a number is the value of m that stands behind a key, where the key may mean something else.
func (t *Transformer) belongs(m *measure, key, number int) bool {
	l := &t.lex[number]
	switch m {
	case heartRate: // PR 96
		if t.is(key, "pr") {
			return l.value >= 30 && t.unitAt(number+1) == noUnit
		}
		return t.isMark(number+1, '/') && t.unitAt(number+2) == minutes || t.nextToVital(key, number)
	case breathing:
		return t.nextToVital(key, number)
	case temperature: // t 39.5, fever 103
		return l.value >= 32 && l.value <= 43 || l.value >= 90 && l.value <= 113
	case saturation: // o2 94, not 2 litres
		return l.value >= 30
	case glucose: // BM 14.2 and BM 9 mmol are no bowel movements
		return !t.is(key, "bm", "bms") || l.point || t.is(number+1, "mmol", "mmols") ||
			t.v.settings.Concepts.speaks("uk")
	case painScore:
		return t.rated(key, number)
	case potassium: // K 6.8, K+ 5, K of 7
		return l.point || number > key+1 && t.lex[number-1].c != '-' || len(t.lex[key].word.raw) > 1
	case sodium: // Na 128, else not applicable
		return l.value >= 90
	case orientation: // alert needs an x
		return !t.is(key, "alert") || t.is(number-1, "x") || number > key+2
	}
	return true
}

// rated distinguishes a pain score from another number: "pain 8", "pain is 8", not "pain in 2 fingers".
func (t *Transformer) rated(key, number int) bool {
	if t.lex[number].value > worstPain || t.isMark(number+1, ':') && t.isNumber(number+2) { // at 1:30
		return false
	}
	for i := key + 1; i < number; i++ {
		if t.lex[i].kind == letters && !t.is(i, "is", "was", "of", "now", "currently", "level", "scale", "score",
			"rating", "rated", "pain", "at", "a", "an", "as", "her", "his", "their", "my", "the") {
			return false
		}
	}
	if t.is(key, "rates", "rated") {
		return true
	}
	next := number + 1
	return next >= len(t.lex) || t.lex[next].kind == mark && t.lex[next].c != '%' ||
		t.is(next, "now", "currently", "today", "with", "and", "at", "out", "of")
}

// ageRanges gives vital signs of a child separate terms.
func (t *Transformer) ageRanges() {
	for i := range t.mentions {
		if m := &t.mentions[i]; m.measure != nil && m.measure.child {
			for k, x := range m.terms {
				if x.child != nil {
					m.terms[k] = x.child
				}
			}
		}
	}
}
