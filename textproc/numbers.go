package textproc

// typed appends the term of one range of m to t.arena and returns the range.
func (t *Transformer) typed(m *measure, r int) {
	if r >= 0 && m.ranges[r] != "" {
		t.arena = append(t.arena, t.v.typed[m.first+r])
	}
}

// addTyped adds a measurement of lexemes [from,to) with the terms of t.arena from first on.
func (t *Transformer) addTyped(from, to, first int, m *measure) int {
	if len(t.arena) > first && t.v.settings.Numbers {
		t.add(from, to, t.arena[first:len(t.arena):len(t.arena)], 0, nil, m)
	}
	return to
}

// one adds a measurement of one value.
func (t *Transformer) one(from, to int, m *measure, x float64) int {
	first := len(t.arena)
	t.typed(m, m.rangeOf(x))
	return t.addTyped(from, to, first, m)
}

// value reads a number or a range of numbers at i.
func (t *Transformer) value(i int) (low, high float64, next int) {
	low, next = t.lex[i].value, i+1
	high = low
	if t.isMark(next, '-') && t.lex[next].glued && t.isNumber(next+1) && t.lex[next+1].glued {
		high, next = t.lex[next+1].value, next+2
	} else if t.is(next, "to") && t.isNumber(next+1) {
		high, next = t.lex[next+1].value, next+2
	}
	return low, high, next
}

// digits reads what begins with the number at i and returns the lexeme after it.
func (t *Transformer) digits(i int) int {
	l := &t.lex[i]
	if l.word != nil && l.word.node != nil {
		if e, next := t.longest(i); e != nil { // "12 lead", "5150"
			if end := t.surface(i, next, e); end > i {
				return end
			}
		}
	}
	if t.isMark(i+1, '/') && t.isNumber(i+2) {
		return t.fraction(i, i, l.value)
	}
	low, high, next := t.value(i)
	if t.isMark(next, '/') && t.isNumber(next+1) && t.lex[next+1].value == 10 {
		return t.fraction(i, next-1, high)
	}
	if t.is(next, "out") && t.is(next+1, "of") && t.isNumber(next+2) && t.lex[next+2].value == 10 {
		return t.one(i, next+3, painScore, high)
	}
	if t.isMark(next, '-') && t.isNumber(next+1) && next == i+3 { // 2020-01-31
		return next + 2
	}
	if end := t.age(i); end > 0 {
		return end
	}
	if next > i+1 || !t.touchesLetters(next) || t.unitAt(next) != noUnit || t.is(next, "x") {
		if end := t.counted(i, next, low, high); end > 0 {
			return end
		}
	}
	return next
}

func (t *Transformer) touchesLetters(i int) bool {
	return i < len(t.lex) && t.lex[i].glued && t.lex[i].kind == letters
}

// fraction reads a/b of lexemes [from, at] and what follows: a pain score, a blood pressure, a date.
func (t *Transformer) fraction(from, at int, a float64) int {
	b, next := t.lex[at+2].value, at+3
	if t.isMark(next, '/') && t.isNumber(next+1) { // a date
		return next + 2
	}
	switch {
	case b == 10 && a <= 10:
		if !t.dated(from) {
			return t.one(from, next, painScore, a)
		}
	case a >= 60 && a <= 300 && b >= 30 && b < a:
		return t.pressure(from, next, a, b)
	}
	if t.unitAt(next) == nothing && t.lex[next].glued {
		next++
	}
	return next
}

// dated reports whether the word before lexeme i makes a/b a date.
func (t *Transformer) dated(i int) bool {
	return t.is(i-1, "on", "since", "lmp", "until", "til", "from", "by")
}

// pressure adds a blood pressure.
func (t *Transformer) pressure(from, next int, systole, diastole float64) int {
	first := len(t.arena)
	t.typed(systolic, systolic.rangeOf(systole))
	t.typed(diastolic, diastolic.rangeOf(diastole))
	return t.addTyped(from, next, first, systolic)
}

// counted reads a number with its unit. It returns 0 if there is none.
func (t *Transformer) counted(i, next int, low, high float64) int {
	at := next
	if t.isMark(at, '-') && t.lex[at].glued && at+1 < len(t.lex) && t.lex[at+1].glued && t.unitAt(at+1) != noUnit { // 2-day
		at++
	}
	u := t.unitAt(at)
	end := at + 1
	switch u {
	case minutes, hours, days, weeks, months, years:
		if w := t.lex[at].word; len(w.raw) == 1 && !t.lex[at].glued {
			return 0
		}
		if u == hours && t.isNumber(end) && t.lex[end].value >= 30 && t.unitAt(end+1) == noUnit { // "98 hr 110" is a heart rate
			return next
		}
		if u == weeks && t.lex[at].glued && t.isNumber(end) && t.lex[end].glued && t.is(end+1, "d") && high >= gestation.least { // 38w3d
			return t.one(i, end+2, gestation, high)
		}
		if u == weeks && t.pregnant(end) {
			return t.one(i, end, gestation, high)
		}
		end = t.one(i, end, duration, high*hoursOf[u])
		if t.is(end, "ago") {
			if n := len(t.mentions); n > 0 && t.mentions[n-1].measure == duration && t.mentions[n-1].first == int32(i) {
				t.mentions[n-1].end = t.lex[end].end
			}
			if u == years {
				t.trigger(end, end+1, over)
			}
			end++
		}
		return end
	case amount, pieces:
		kind := 0.0
		if u == pieces {
			kind = 1
		}
		return t.one(i, end, dose, kind)
	case litres:
		if t.is(i-1, "on") || t.is(end, "nc", "nrb", "o2", "oxygen", "nasal", "mask", "via", "hfnc", "non", "by", "n") {
			return t.one(i, end, oxygen, high)
		}
		return end
	case feet:
		for k := i - 1; k >= 0 && k >= i-6; k-- {
			if t.is(k, "fell", "fall", "fallen", "falling", "jumped", "jump", "off", "ladder", "from", "height", "roof", "dropped") {
				return t.one(i, end, height, high)
			}
		}
		return end
	case milesAnHour:
		return t.one(i, end, speed, high)
	case nothing:
		switch {
		case t.is(at, "f") && high >= 94 && high <= 110, t.is(at, "c") && t.lex[next-1].point && high >= 34 && high <= 43:
			return t.one(i, end, temperature, celsius(high))
		case t.lex[at].glued, t.is(at, "cm", "mm", "inch", "inches", "lb", "lbs", "kg", "km", "am", "pm", "mmhg"):
			return end
		}
		return 0
	}
	switch {
	case t.isMark(at, '%'):
		if t.is(end, "ra", "room", "on", "o2", "ora") || t.is(i-1, "o2", "sat", "sats", "spo2") {
			first := len(t.arena)
			t.typed(saturation, saturation.worse(low, high))
			return t.addTyped(i, end, first, saturation)
		}
		return end
	case t.is(at, "x") && t.lex[at].glued && !(end < len(t.lex) && t.lex[end].glued && t.lex[end].kind != mark): // 3x
		return t.one(i, end, count, high)
	}
	return 0
}

// pregnant reports whether one of the next words is about a pregnancy.
func (t *Transformer) pregnant(i int) bool {
	for seen := 0; i < len(t.lex) && seen < 3; i++ {
		switch {
		case t.is(i, "preg", "pregnant", "pregnancy", "gestation", "gest", "gestational", "iup", "gravid", "ega", "ga", "gestationally"):
			return true
		case t.lex[i].kind == letters:
			seen++
		case t.isMark(i, '.') || t.isMark(i, ',') || t.isMark(i, ';'):
			return false
		}
	}
	return false
}

// age reads an age and a sex at the number i. It returns 0 if there is none.
func (t *Transformer) age(i int) int {
	l := &t.lex[i]
	at := i + 1
	if l.value > 120 || at >= len(t.lex) || t.is(i-1, "x") {
		return 0
	}
	hyphen := func() {
		if t.isMark(at, '-') && at+1 < len(t.lex) {
			at++
		}
	}
	hyphen()
	if at >= len(t.lex) || t.lex[at].kind != letters || t.lex[at].word == nil {
		return 0
	}
	w := t.lex[at].word
	size, who := 0.0, byte(0)
	switch a, found := ageWords[w.raw]; {
	case found && (a.years == 1 || t.lex[at].glued || i == 0):
		size, who = a.years, a.sex
		at++
		if w.raw == "yo" {
			at = t.skipPoint(at)
		}
	case w.unit == years || w.unit == months || w.unit == weeks || w.unit == days || w.raw == "m" && t.isMark(at+1, '/'):
		size = 1. / 12
		if w.unit != noUnit {
			size = hoursOf[w.unit] / hoursOf[years]
		}
		if w.unit == months {
			size = 1. / 12
		}
		unitEnd := at + 1
		at++
		old := false
		switch {
		case (t.isMark(at, '/') || t.isMark(at, '.')) && t.is(at+1, "o", "old"):
			at, old = t.skipPoint(at+2), true
		case t.is(at, "o", "old", "olds"):
			at, old = at+1, true
		case t.isMark(at, '-') && t.is(at+1, "old"):
			at, old = at+2, true
		}
		if !old && !t.sexAt(at) && !(i == 0 && (w.unit == years || t.lex[i+1].glued && (w.unit == weeks || w.unit == months)) && !t.is(unitEnd, "of", "ago", "hx", "h", "history", "s", "preg", "pregnant")) {
			return 0
		}
	case (w.raw == "f" || w.raw == "m") && !l.point && (t.lex[at].glued || i == 0):
		size, who = 1, w.raw[0]
		at++
	case i == 0 && sexes[w.raw] != 0:
		size, who = 1, sexes[w.raw]
		at++
	default:
		return 0
	}
	if who == 0 {
		if t.isMark(at, ',') || t.isMark(at, '/') || t.isMark(at, '-') {
			if t.sexAt(at + 1) {
				at++
			}
		}
		if t.sexAt(at) {
			who = sexes[t.lex[at].word.raw]
			at++
		}
	}
	years := l.value * size
	if years < 8 {
		t.young = true
	}
	first := len(t.arena)
	if t.v.settings.Age {
		t.typed(age, age.rangeOf(years))
		if who != 0 {
			r := 0
			if who == 'm' {
				r = 1
			}
			t.typed(sex, r)
		}
	}
	return t.addTyped(i, at, first, age)
}

// skipPoint returns at, or the lexeme after a full stop that closes "y.o.".
func (t *Transformer) skipPoint(at int) int {
	if t.isMark(at, '.') && t.lex[at].glued {
		return at + 1
	}
	return at
}

func (t *Transformer) sexAt(i int) bool {
	return i < len(t.lex) && t.lex[i].kind == letters && t.lex[i].word != nil && sexes[t.lex[i].word.raw] != 0
}

// special reads the forms of letters and digits that no table of surfaces can hold: x3, L5, G3P2. It returns i if there is none.
func (t *Transformer) special(i int) int {
	raw := t.lex[i].word.raw
	if len(raw) != 1 {
		return i
	}
	switch raw {
	case "x":
		at := i + 1
		if t.isMark(at, '/') {
			at++
		}
		if !t.isNumber(at) {
			break
		}
		low, high, next := t.value(at)
		if u := t.unitAt(next); u >= minutes && u <= years && (t.lex[next].glued || len(t.lex[next].word.raw) > 1) {
			return max(t.counted(at, next, low, high), next)
		}
		if t.lex[at].point {
			return next
		}
		return t.one(i, next, count, high)
	case "c", "t", "l", "s":
		if at := i + 1; t.isNumber(at) && t.lex[at].glued && !t.lex[at].point && !(i > 0 && t.lex[i].glued && t.lex[i-1].kind == digits) {
			most := map[string]float64{"c": 7, "t": 12, "l": 5, "s": 5}[raw]
			if n := t.lex[at].value; n >= 1 && n <= most {
				next := at + 1
				if (t.isMark(next, '-') || t.isMark(next, '/')) && t.lex[next].glued {
					k := next + 1
					if t.is(k, "c", "t", "l", "s") {
						k++
					}
					if t.isNumber(k) && t.lex[k].glued {
						next = k + 1
					}
				}
				return t.one(i, next, spine, map[string]float64{"c": 0, "t": 1, "l": 2, "s": 3}[raw])
			}
		}
	case "g":
		if at := i + 1; t.isNumber(at) && t.lex[at].glued && t.is(at+1, "p") && t.isNumber(at+2) {
			next := at + 3
			for t.is(next, "a", "ab", "l", "sab", "tab") && t.isNumber(next+1) && t.lex[next+1].glued {
				next += 2
			}
			return t.one(i, next, ob, 0)
		}
	}
	return i
}

// measured reads the number that belongs to the key of lexemes [i,next). It returns 0 if there is none.
func (t *Transformer) measured(i, next int, e *entry) int {
	m := e.measure
	at := next
	for n := 0; n < 4 && at < len(t.lex); n++ {
		l := &t.lex[at]
		if l.c == ':' || l.c == '=' || l.c == '~' || l.c == '(' || l.c == '@' || l.c == '>' || l.c == '<' || l.c == '+' && m == potassium ||
			l.c == '-' && !(l.glued && t.touchesNext(at)) || l.word != nil && l.word.separates && !(m == orientation && t.is(at, "to")) || m == orientation && t.is(at, "x") {
			at++
			continue
		}
		break
	}
	if m == glucose && (t.is(at, "hi") || t.is(at, "lo") || t.is(at, "low") && at > next) {
		x := 1000.
		if !t.is(at, "hi") {
			x = 20
		}
		return t.one(i, at+1, m, x)
	}
	if !t.isNumber(at) || m.needs != nil && !m.needs(t, i, at) {
		return 0
	}
	if u := t.unitAt(at + 1); m != glucose && u >= minutes && u <= years && !t.is(at+1, "h") {
		return 0
	}
	if t.isMark(at+1, '/') && t.isNumber(at+2) {
		switch m {
		case systolic:
			return t.pressure(i, at+3, t.lex[at].value, t.lex[at+2].value)
		case painScore:
			return t.finish(i, next, at, at+3, e, t.lex[at].value, t.lex[at].value)
		}
		return 0
	}
	low, high, end := t.value(at)
	switch m {
	case temperature:
		low, high = celsius(low), celsius(high)
		if t.lexIs(end, other) {
			end++
		}
		if t.is(end, "f", "c") {
			end++
		}
	case glucose:
		if t.lex[at].point && high < 36 || t.is(end, "mmol") {
			low, high = low*18.018, high*18.018
		}
		if t.is(end, "mmol", "mg") {
			end++
			if t.isMark(end, '/') && t.is(end+1, "l", "dl") {
				end += 2
			}
		}
	case saturation:
		if t.isMark(end, '%') {
			end++
		}
	case painScore:
		if t.is(end, "out") && t.is(end+1, "of") && t.isNumber(end+2) {
			end += 3
		}
	}
	return t.finish(i, next, at, end, e, low, high)
}

func (t *Transformer) lexIs(i int, c byte) bool { return i < len(t.lex) && t.lex[i].c == c }

// finish adds the measurement of lexemes [at,end), and before it the concept of its key, lexemes [i,next), if it keeps one; else
// the key is part of the measurement.
func (t *Transformer) finish(i, next, at, end int, e *entry, low, high float64) int {
	m := e.measure
	if m.concepts && e.terms != nil {
		t.add(i, next, e.terms, e.parts, e, nil)
		i = at
	}
	first := len(t.arena)
	t.typed(m, m.worse(low, high))
	return t.addTyped(i, end, first, m)
}

// besideVital tells a single-letter key from a letter: another vital sign stands before or after it.
func besideVital(t *Transformer, key, number int) bool {
	if len(t.lex[key].word.raw) > 1 {
		return true
	}
	if n := len(t.mentions); n > 0 && t.mentions[n-1].measure != nil && t.mentions[n-1].measure.vital && t.mentions[n-1].end+3 >= t.lex[key].start {
		return true
	}
	for at := number + 1; at < len(t.lex) && at <= number+2; at++ {
		if w := t.lex[at].word; w != nil && w.node != nil && w.node.entry != nil && w.node.entry.measure != nil && w.node.entry.measure.vital {
			return true
		}
	}
	return false
}

// warm tells a temperature from another number: t 39.5, fever 103.
func warm(t *Transformer, key, number int) bool {
	x := t.lex[number].value
	return x >= 32 && x <= 43 || x >= 90 && x <= 113
}

// saturated tells a saturation from litres: o2 94.
func saturated(t *Transformer, key, number int) bool { return t.lex[number].value >= 30 }

// decimalOrSign tells potassium from the letter: K 6.8, K+ 5.
func decimalOrSign(t *Transformer, key, number int) bool {
	return t.lex[number].point || t.isMark(number-1, '+') || len(t.lex[key].word.raw) > 1
}

// ageRanges gives vital signs of a child terms of their own.
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
