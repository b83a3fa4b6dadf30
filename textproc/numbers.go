package textproc

import "slices"

// typed appends the term of one range of m to t.arena.
func (t *Transformer) typed(m *measure, r int) {
	if r >= 0 && m.ranges[r] != "" {
		t.arena = append(t.arena, t.v.typed[m.first+r])
	}
}

// addTyped adds a measurement of lexemes [from,to) with the terms that typed has appended for it, if any, and returns
// to.
func (t *Transformer) addTyped(from, to int, m *measure) int {
	end := len(t.arena)
	if end > t.taken && t.v.settings.Numbers {
		t.add(from, to, t.arena[t.taken:end:end], 0, nil, m)
	}
	t.taken = end
	return to
}

// one adds a measurement of one value and returns to.
func (t *Transformer) one(from, to int, m *measure, x float64) int {
	t.typed(m, m.rangeOf(x))
	return t.addTyped(from, to, m)
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

// date reads a day next to a month, and a year after them: 12SEP96, jan 5, 2020. A date has no term. It returns the
// lexeme after them, or 0 if none begins at i. "may" and "dec" are words too: they need a year, or a number that
// touches them.
func (t *Transformer) date(i int) int {
	name := i
	if t.isNumber(i) {
		name++
	}
	if !t.isClass(name, month) {
		return 0
	}
	touching := name > i && t.lex[name].glued || t.isNumber(name+1) && t.lex[name+1].glued
	if name == i && t.isNumber(name+1) && isYear(t.lex[name+1].value) { // mar 2018
		t.ofYear(i, name+2, t.lex[name+1].value)
		return name + 2
	}
	day, end := i, name+1
	if name == i {
		day, end = name+1, name+2
	}
	if !t.isNumber(day) || t.lex[day].value > 31 && !touching {
		return 0
	}
	year := end
	if t.isMark(year, ',') {
		year++
	}
	dated := t.isNumber(year) && (t.lex[year].value >= 1900 && t.lex[year].value < 2100 || t.lex[year].glued)
	if dated {
		end = year + 1
	}
	if !touching && !dated && t.is(name, "may", "dec") {
		return 0
	}
	return end
}

// digits reads the form that begins with the number at i and returns the lexeme after it.
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
	if end := t.date(i); end > 0 {
		return end
	}
	if end := t.street(i); end > i {
		return end
	}
	if t.numbers(i) {
		t.events = append(t.events, event{kind: ended, lex: int32(i)})
		t.clause++
		return i + 2
	}
	low, high, next := t.value(i)
	if t.isMark(next, '/') && t.isNumber(next+1) && t.lex[next+1].value == 10 {
		return t.fraction(i, next-1, high)
	}
	if end := t.outOfTen(next); end > 0 {
		return t.one(i, end, painScore, high)
	}
	if t.isMark(next, '-') && t.isNumber(next+1) && next == i+3 { // 2020-01-31
		return next + 2
	}
	if t.is(next, "over") && t.isNumber(next+1) && isPressure(high, t.lex[next+1].value) {
		return t.pressure(i, next+2, high, t.lex[next+1].value)
	}
	if next == i+1 && t.ofYear(i, next, l.value) {
		return next
	}
	if end := t.weeksPregnant(i, next, high); end > 0 {
		return end
	}
	if end := t.age(i); end > 0 {
		return end
	}
	if next > i+1 || !t.touchesLetters(next) || t.unitAt(next) != noUnit || t.is(next, "x", "m", "percent") {
		if end := t.counted(i, next, low, high); end > 0 {
			return end
		}
	}
	return next
}

// numbers reports whether the number at i, with the bracket after it, begins an item of a list: 1) cough 2) fever.
func (t *Transformer) numbers(i int) bool {
	const most, near = 20, 12 // items, and lexemes to look back
	if !t.isMark(i+1, ')') || !t.lex[i+1].glued || t.lex[i].glued || t.lex[i].value > most {
		return false
	}
	for k := i - 1; k >= max(0, i-near); k-- {
		if t.isMark(k, '(') {
			return false
		}
	}
	return true
}

func (t *Transformer) touchesLetters(i int) bool {
	return i < len(t.lex) && t.lex[i].glued && t.lex[i].kind == letters
}

// outOfTen reads "out of 10" or "of 10" after a number. It returns 0 if neither is at i.
func (t *Transformer) outOfTen(i int) int {
	if t.is(i, "out") {
		i++
	}
	if t.is(i, "of") && (t.isNumber(i+1) && t.lex[i+1].value == worstPain || t.is(i+1, "ten")) {
		return i + 2
	}
	return 0
}

// fraction reads a/b: a pain score, a blood pressure, a date. a stands at lexeme at; a range of a begins at from
// (7-8/10).
func (t *Transformer) fraction(from, at int, a float64) int {
	b, next := t.lex[at+2].value, at+3
	if a <= 12 && t.ofYear(from, next, b) {
		return next
	}
	if t.isMark(next, '/') && t.isNumber(next+1) { // a date
		return next + 2
	}
	if end := max(t.lasted(from, at, a, b), t.weeksOfForty(from, at, a, b)); end > 0 {
		return end
	}
	switch {
	case b == worstPain && a <= b:
		if !t.isClass(from-1, dating) {
			return t.one(from, next, painScore, a)
		}
	case isPressure(a, b):
		return t.pressure(from, next, a, b)
	}
	if t.unitAt(next) == nothing && t.lex[next].glued {
		next++
	}
	return next
}

// isPressure distinguishes a blood pressure from a date and an acuity of vision.
func isPressure(systole, diastole float64) bool {
	return systole >= 60 && systole <= 300 && diastole >= 30 && diastole < systole
}

func (t *Transformer) pressure(from, next int, systole, diastole float64) int {
	t.typed(systolic, systolic.rangeOf(systole))
	t.typed(diastolic, diastolic.rangeOf(diastole))
	return t.addTyped(from, next, systolic)
}

// counted reads the number of lexemes [i,next) with its unit. It returns 0 if there is none.
func (t *Transformer) counted(i, next int, low, high float64) int {
	at := next
	// 2-day
	if t.isMark(at, '-') && t.lex[at].glued && at+1 < len(t.lex) && t.lex[at+1].glued && t.unitAt(at+1) != noUnit {
		at++
	}
	if end := t.needle(i, at, high); end > 0 {
		return end
	}
	switch short := t.isShort(at); {
	case short && (t.isGauge(i, at) || t.isTemperature(i, at)):
		return at + 1
	case short && t.isDistance(i, at):
		return t.fallen(i, at+1, high*feetOf[metres])
	}
	u, end := t.unitAt(at), at+1
	switch u {
	case seconds, minutes, hours, days, weeks, months, years:
		return t.lasting(i, at, high)
	case repeats:
		return t.one(i, end, count, high)
	case amount, pills:
		if w := t.lex[at].word; len(w.raw) == 1 && !t.lex[at].glued {
			return 0
		}
		kind := 0.0
		if u == pills {
			kind = 1
		}
		return t.one(i, end, dose, kind)
	case litres:
		if t.isMark(end, '/') && t.is(end+1, "min", "minute", "m") {
			return t.one(i, end+2, oxygen, high)
		}
		if t.is(at, "lpm", "lnc") || t.oxygenAfter(end) || t.oxygenBefore(i) {
			return t.one(i, end, oxygen, high)
		}
		return end
	case feet, metres, storeys:
		return t.fallen(i, end, high*feetOf[u])
	case milesAnHour:
		return t.one(i, end, speed, high)
	case kilometresAnHour:
		return t.one(i, end, speed, high*.62)
	case nothing:
		switch {
		case t.is(at, "km") && t.isMark(end, '/') && t.is(end+1, "h", "hr"):
			return t.one(i, end+2, speed, high*.62)
		case i > 0 && t.lex[i].glued && t.lex[i-1].kind == letters: // 8jul88 f/u
			return 0
		case t.is(at, "f") && high >= 94 && high <= 110, t.is(at, "c") && high >= 34 && high <= 43 &&
			(t.lex[next-1].point || t.lex[at].glued && high >= 38):
			return t.one(i, end, temperature, celsius(high))
		case t.lex[at].glued, len(t.lex[at].word.raw) > 1 && !t.is(at, "in", "st", "fr"):
			return end
		}
		return 0
	}
	switch {
	case t.isMark(at, '%'), t.is(at, "percent"):
		if t.isClass(end, airing) || t.isOxygen(end) || t.isOxygen(i-2) || t.is(i-1, "sat", "sats", "spo") ||
			t.isNumber(end) && t.unitAt(end+1) == litres || t.isMark(end, '@') && t.unitAt(end+2) == litres ||
			t.followsVital(i) {
			t.typed(saturation, saturation.worse(low, high))
			return t.addTyped(i, end, saturation)
		}
		return end
	case t.isMark(at, '\'') && t.lex[at].glued: // 12'
		return t.fallen(i, end, high)
	case t.is(at, "x") && t.lex[at].glued && !(end < len(t.lex) && t.lex[end].glued && t.lex[end].kind != mark): // 3x
		return t.one(i, end, count, high)
		// 102.4 fever
	case t.is(at, "fever", "fevers", "temp", "temperature") &&
		(high >= 37.5 && high <= 43 || high >= 99 && high <= 113):
		return t.one(i, next, temperature, celsius(high))
	case t.isClass(i-1, taking) && at < len(t.lex) && t.lex[at].kind == letters && !t.lex[at].glued: // took 2 tylenol
		return t.one(i, next, dose, 1)
	}
	return 0
}

// oxygenAfter reports whether the words from lexeme i on make the litres before them a flow of oxygen.
func (t *Transformer) oxygenAfter(i int) bool {
	return t.isOxygen(i) || t.isClass(i, breathed) || t.is(i, "simple", "face") && t.isClass(i+1, breathed) ||
		t.is(i, "home") && t.isOxygen(i+1)
}

// oxygenBefore reports whether the words before the litres at lexeme i make them a flow of oxygen: on 2L, @ 2L, O2 at
// 6L, NC: 3L.
func (t *Transformer) oxygenBefore(i int) bool {
	const most = 3 // words and marks between
	if t.is(i-1, "on") || t.isMark(i-1, '@') {
		return true
	}
	k := i - 1
	for n := 0; n < most && k >= 0 && (t.isClass(k, separator) || t.isMark(k, ':') || t.isMark(k, '=') ||
		t.isMark(k, '-')); n++ {
		k--
	}
	return t.is(k, "nc", "nrb", "mask", "cannula", "hfnc", "bipap", "cpap") || t.is(k, "oxygen") || t.isOxygen(k-1)
}

// needle reads the gauge of a needle, such as "20g iv" or "18 ga R hand", so that it is not read as a dose. It returns
// 0 if there is none.
func (t *Transformer) needle(i, at int, x float64) int {
	const least, most, near = 14, 26, 4 // gauges, and lexemes to look at
	if !t.is(at, "g", "ga", "gauge") || x < least || x > most || int(x)%2 != 0 {
		return 0
	}
	end := at + 1
	found := t.is(i-1, "iv", "piv") || t.is(i-2, "iv", "piv")
	for k := end; k < min(len(t.lex), end+near) && t.lex[k].kind == letters; k++ {
		found = found || t.isClass(k, needled)
	}
	if !found {
		return 0
	}
	k := end
	if t.is(k, "iv", "piv") {
		k++
	}
	if t.is(k, "in", "to") {
		k++
	}
	if t.is(k, "lac") { // the left antecubital vein, no laceration
		if k > end {
			t.plain(end)
		}
		t.add(k, k+1, t.v.leftSide, 0, nil, nil)
		return k + 1
	}
	return end
}

// isShort reports whether a word of one letter or two stands at lexeme i: only such ones are units of tubes, degrees
// and metres.
func (t *Transformer) isShort(i int) bool {
	return i < len(t.lex) && t.lex[i].kind == letters && t.lex[i].end-t.lex[i].start <= 2
}

// isGauge reports whether the letter at lexeme at, after the number i, makes it the gauge of a tube: 16F foley.
func (t *Transformer) isGauge(i, at int) bool {
	const near = 3 // lexemes
	if !t.is(at, "f", "fr", "fg") {
		return false
	}
	return t.among(i-near, at+1+near, tubed)
}

// isTemperature reports whether the F at lexeme at, after a number, is a degree, though the number is not one of
// people.
func (t *Transformer) isTemperature(i, at int) bool {
	const coldest = 30 // a girl of six with a fever is 6F fever
	return t.is(at, "f") && t.lex[i].value >= coldest && t.is(at+1, "temp", "temps", "temperature", "fever")
}

// isDistance reports whether the m at lexeme at, after the number i, is a metre: fell 3m, from 6m, walked 50m.
func (t *Transformer) isDistance(i, at int) bool {
	const highest = 15 // metres that people fall from more often than they have the age
	const near = 8     // lexemes to look at
	if !t.is(at, "m") || t.is(at+1, "old", "o") || t.isMark(at+1, '/') && t.is(at+2, "o") {
		return false
	}
	for k := i - 1; k >= max(0, i-near) && (t.lex[k].kind != mark || t.lex[k].c == '~'); k-- {
		if t.isClass(k, moving) && k >= i-2 || t.isClass(k, falling) && t.lex[i].value <= highest {
			return true
		}
	}
	return false
}

// isOxygen reports whether "o2" begins at lexeme i.
func (t *Transformer) isOxygen(i int) bool {
	return t.is(i, "o") && t.isNumber(i+1) && t.lex[i+1].value == 2 && t.lex[i+1].glued || t.is(i, "oxygen")
}

// fallen adds the height of a fall of lexemes [i,end) if words of a fall stand near, and returns end.
func (t *Transformer) fallen(i, end int, up float64) int {
	const before, after = 6, 3
	if t.among(i-before, i, falling) || t.among(end, end+after, falling) {
		return t.one(i, end, height, up)
	}
	return end
}

// special reads the forms of letters and digits that no table of surfaces can hold: x3, L5, G3P2, two days, F/32. It
// returns i if there is none.
func (t *Transformer) special(i int) int {
	w := t.lex[i].word
	switch {
	case w.sex != 0 && i == 0:
		if end := t.sexFirst(i); end > 0 {
			return end
		}
	case w.value > 0:
		return max(i, t.numeral(i))
	case w.raw == "twice":
		return t.one(i, i+1, count, 2)
	case w.class&(title|role) != 0:
		return t.titled(i)
	case w.raw == "name" || w.raw == "pt" || w.raw == "patient":
		return t.called(i)
	case (w.raw == "age" || w.raw == "aged") && t.isNumber(i+1) && !t.lex[i+1].point:
		if end := t.age(i + 1); end > 0 {
			return end
		}
		if u := t.unitAt(i + 2); u == noUnit && t.lex[i+1].value <= oldest {
			return t.addAge(i, i+2, t.lex[i+1].value, 0)
		}
	}
	if len(w.raw) != 1 {
		return i
	}
	if next := t.relation(i); next > i {
		return next
	}
	if e := t.signedLetter(i); e != nil {
		t.add(i, i+1, e.terms, e.parts, e, nil)
		return i + 1
	}
	switch w.raw {
	case "n", "y":
		return t.letterAnswer(i)
	case "x":
		return t.times(i)
	case "c", "t", "l", "s":
		return t.vertebra(i)
	case "g":
		return t.gravida(i)
	}
	return i
}

// unitAlone reads a unit without a number at i: an hour ago, pads/hr, mg/kg. It returns i if the word is not a unit.
func (t *Transformer) unitAlone(i int) int {
	w := t.lex[i].word
	switch {
	case (w.unit.isTime() || w.unit == nothing && len(w.raw) > 1) && t.isMark(i-1, '/') && t.lex[i].glued:
		return i + 1
	case w.unit.isTime() && t.is(i+1, "ago") && t.is(i-1, "a", "an"):
		if n := len(t.mentions); n > 0 && t.mentions[n-1].last == int32(i) { // "a" as a kept stop word
			t.mentions = t.mentions[:n-1]
		}
		return t.lasting(i-1, i, 1)
	}
	return i
}

// numeral reads a number written as a word with its unit: two days, few hours. It returns 0 if there is none.
func (t *Transformer) numeral(i int) int {
	next := i + 1
	if t.is(i, "couple") && t.is(next, "of") {
		next++
	}
	if t.isMark(next, '-') && t.lex[next].glued {
		next++
	}
	switch u := t.unitAt(next); {
	case u.isTime(), u == pills, u == feet, u == storeys, u == repeats:
	default:
		return 0
	}
	x := t.lex[i].word.value
	t.lex[i].value = x
	if next == i+1 {
		if end := t.weeksPregnant(i, next, x); end > 0 {
			return end
		}
	}
	if end := t.age(i); end > 0 {
		return end
	}
	return t.counted(i, next, x, x)
}

// times reads a count or a duration after x: x3, x 3 days. It returns i if there is none.
func (t *Transformer) times(i int) int {
	at := i + 1
	if t.isMark(at, '/') {
		at++
	}
	if !t.isNumber(at) {
		return i
	}
	low, high, next := t.value(at)
	if t.isMark(next, '/') && t.isNumber(next+1) { // x 3/7
		if end := t.lasted(at, next-1, high, t.lex[next+1].value); end > 0 {
			return end
		}
	}
	if end := t.weeksPregnant(at, next, high); end > 0 {
		return end
	}
	if u := t.unitAt(next); u.isTime() || u == pills || u == repeats {
		if end := t.counted(at, next, low, high); end > 0 {
			return end
		}
	}
	// 3 x 2 cm
	if t.lex[at].point || i > 0 && t.lex[i-1].kind == digits || t.is(i-1, "cm", "mm", "in", "inch", "inches") {
		return next
	}
	return t.one(i, next, count, high)
}

// vertebra reads a level of the spine at i, whose letter names a range of spine: L5, C5-6, L4/L5. It returns i if there
// is none.
func (t *Transformer) vertebra(i int) int {
	r, at := slices.Index(spine.ranges, t.lex[i].word.raw), i+1
	most := [...]float64{7, 12, 5, 5}[r] // of each range
	if t.isMark(at, '-') && t.lex[at].glued {
		at++
	}
	if !t.isNumber(at) || !t.lex[at].glued || t.lex[at].point || i > 0 && t.lex[i].glued && t.lex[i-1].kind == digits ||
		t.lex[at].value < 1 || t.lex[at].value > most {
		return i
	}
	next := at + 1
	if (t.isMark(next, '-') || t.isMark(next, '/')) && t.lex[next].glued {
		k := next + 1
		if t.is(k, spine.ranges...) {
			k++
		}
		if t.isNumber(k) && t.lex[k].glued {
			next = k + 1
		}
	}
	if t.touchesLetters(next) { // T2DM
		return i
	}
	return t.one(i, next, spine, float64(r))
}
