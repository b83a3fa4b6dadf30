package textproc

// mention is a part of the note that means something: a concept, a measurement, or a word.
type mention struct {
	start, end  int32 // bytes of the scanned text while it is read, then of the note
	first, last int32 // its first lexeme and the one after it
	terms       []*term
	parts       int // how many of terms are parts of a concept, which come last
	entry       *entry
	measure     *measure
	status      Status
	clause      int32
	stop        bool // a stop word
	plain       bool // the term counts as it is in spite of the status: a chronic disease of the past
}

// isTest reports whether m takes a result that follows it.
func (m *mention) isTest() bool { return m.entry != nil && m.entry.test }

// recognize fills t.mentions and t.events from t.lex.
func (t *Transformer) recognize() {
	t.mentions, t.events, t.arena, t.clause, t.young, t.status, t.aged, t.plus = t.mentions[:0], t.events[:0], t.arena[:0], 0, false, false, false, false
	for i := 0; i < len(t.lex); {
		l := &t.lex[i]
		var next int
		switch l.kind {
		case digits:
			next = t.digits(i)
		case letters:
			next = t.word(i)
		default:
			next = t.mark(i)
		}
		i = next
	}
	if t.young {
		t.ageRanges()
	}
	if t.status {
		t.assignStatus()
	}
}

// word reads what begins with the word at i and returns the lexeme after it.
func (t *Transformer) word(i int) int {
	l := &t.lex[i]
	w := l.word
	if w == nil { // noise
		return i + 1
	}
	if next := t.special(i); next > i {
		return next
	}
	if w.unit.isTime() && t.isMark(i-1, '/') && l.glued { // pads/hr
		return i + 1
	}
	if w.node != nil {
		if e, next := t.longest(i); e != nil {
			if end := t.surface(i, next, e); end > i {
				return end
			}
		}
	}
	if w.raw == "non" && t.isMark(i+1, '-') && t.lex[i+1].glued && t.touchesNext(i+1) { // non-displaced
		t.status = true
		t.events = append(t.events, event{kind: minusAfter, lex: int32(i)})
		return i + 2
	}
	t.plain(i)
	return i + 1
}

// plain adds the word at i as it stands.
func (t *Transformer) plain(i int) {
	l := &t.lex[i]
	w := l.word
	if w == nil || w.stem[0] == nil {
		return
	}
	t.add(i, i+1, w.stem[:], 0, nil, nil)
	if w.stop {
		t.events = t.events[:len(t.events)-1]
		t.mentions[len(t.mentions)-1].stop = true
	}
}

// add appends a mention of lexemes [from,to).
func (t *Transformer) add(from, to int, terms []*term, parts int, e *entry, m *measure) {
	t.status = t.status || e != nil && e.denied
	t.events = append(t.events, event{kind: mentioned, mention: int32(len(t.mentions)), lex: int32(from)})
	t.mentions = append(t.mentions, mention{
		start: t.lex[from].start, end: t.lex[to-1].end, first: int32(from), last: int32(to), terms: terms, parts: parts, entry: e, measure: m, clause: t.clause,
	})
}

// longest follows the tree of surfaces from the word at i. It returns the entry of the longest surface and the lexeme after it.
func (t *Transformer) longest(i int) (best *entry, next int) {
	n := t.lex[i].word.node
	next = i + 1
	for at := i + 1; ; {
		if n.entry != nil {
			best, next = n.entry, at
		}
		if len(n.next) == 0 || at >= len(t.lex) {
			return best, next
		}
		child := n.child(&t.lex[at])
		for skipped := 0; child == nil && skipped < 2 && at+1 < len(t.lex) && t.fills(at); skipped++ {
			at++
			child = n.child(&t.lex[at])
		}
		if child == nil {
			return best, next
		}
		n = child
		at++
	}
}

// fills reports whether the lexeme at i may stand between two words of a surface: a small word, a hyphen, or the stop
// of a shortened word.
func (t *Transformer) fills(i int) bool {
	l := &t.lex[i]
	return l.c == '-' && l.glued && t.lex[i+1].glued || t.isClass(i, filler) || t.shortens(i)
}

// shortens reports whether lexeme i is the full stop of a shortened word: abd. pain.
func (t *Transformer) shortens(i int) bool {
	return t.lex[i].c == '.' && t.lex[i].glued && t.isClass(i-1, shortened)
}

// child returns the node after the word of l, or nil.
func (n *node) child(l *lexeme) *node {
	if l.word == nil {
		return nil
	}
	for i := range n.next {
		if e := &n.next[i]; e.word == l.word.like && (l.glued || !e.glued) {
			return e.node
		}
	}
	return nil
}

// surface adds what the surface of lexemes [i,next) means. It returns the lexeme after what it read, or i if the words
// have to be taken as they stand.
func (t *Transformer) surface(i, next int, e *entry) int {
	if e.measure != nil {
		if end := t.measured(i, next, e); end > 0 {
			return end
		}
	}
	if e.senses != nil {
		own := e
		if e = t.senseOf(i, next, e); e == nil {
			if next > i+1 && own.effect == none {
				return next // d/c, h/h: letters between marks are no words
			}
			return i
		}
	}
	if e.effect == free && e.terms == nil && !t.besideFinding(i) {
		return i
	}
	if e.terms != nil && !e.dropped {
		t.add(i, next, e.terms, e.parts, e, nil)
	}
	if e.effect != none {
		t.trigger(i, next, e.effect)
	}
	if e.ends {
		t.trigger(i, next, stops)
	}
	if e.terms == nil && !e.dropped && (e.effect == none || e.effect > visible) {
		return i
	}
	return next
}

// besideFinding reports whether a symptom or finding ends straight before lexeme i.
func (t *Transformer) besideFinding(i int) bool {
	n := len(t.mentions)
	if n == 0 || t.mentions[n-1].entry == nil || t.mentions[n-1].end+1 < t.lex[i].start {
		return false
	}
	kind := t.mentions[n-1].entry.kind
	return kind == "symptom" || kind == "finding"
}

// senseOf returns the reading of a surface that its context asks for, nil for the word as it stands.
func (t *Transformer) senseOf(i, next int, e *entry) *entry {
	for k := range e.senses {
		s := &e.senses[k]
		if s.cues == nil || s.before && t.cue(i-1, -1, s) || s.after && t.cue(next, 1, s) {
			return s.entry
		}
	}
	return nil
}

// cue reports whether a cue of s stands within its window from lexeme i on, in the direction of step. The window counts words
// between spaces.
func (t *Transformer) cue(i, step int, s *sense) bool {
	const most = 4 // lexemes for each word: forms with slashes are one word
	seen := 0
	for n := most * (s.window + 1); n > 0 && i >= 0 && i < len(t.lex); n, i = n-1, i+step {
		l := &t.lex[i]
		if step > 0 && !l.glued {
			seen++
		}
		if seen > s.window || l.c == '.' || l.c == ';' || l.c == '\n' {
			return false
		}
		if t.cued(i, step, seen, s) {
			return true
		}
		if step < 0 && !l.glued {
			if seen++; seen >= s.window {
				return false
			}
		}
	}
	return false
}

// cued reports whether the lexeme at i is a cue of s.
func (t *Transformer) cued(i, step, seen int, s *sense) bool {
	l := &t.lex[i]
	switch {
	case l.kind == digits:
		return s.cues["#"] || s.cues["#/10"] && t.slashed(i, 10) || s.cues["20/#"] && l.value == 20 && t.slashed(i, -1)
	case l.c == '+' || l.c == '-':
		return seen == 0 && s.cues[string(rune(l.c))] && t.touches(i, step)
	case l.c == ',':
		return seen == 0 && s.cues[","]
	case l.kind == mark || l.word == nil:
		return false
	case s.cues[l.word.like.raw]:
		return true
	case l.word.raw == "g":
		return s.cues["g#p#"] && t.isNumber(i+1) && t.lex[i+1].glued
	}
	return s.slashes && t.isMark(i+1, '/') && i+2 < len(t.lex) && t.lex[i+2].word != nil && s.cues[l.word.raw+"/"+t.lex[i+2].word.raw]
}

// touches reports whether the sign at i touches the word on the side that it was met from.
func (t *Transformer) touches(i, step int) bool {
	if step < 0 {
		return t.lex[i+1].glued
	}
	return t.lex[i].glued
}

// slashed reports whether the number at i is followed by a slash and n, or any number if n is negative.
func (t *Transformer) slashed(i int, n float64) bool {
	return i+2 < len(t.lex) && t.lex[i+1].c == '/' && t.lex[i+2].kind == digits && (n < 0 || t.lex[i+2].value == n)
}

// is reports whether lexeme i is the word raw.
func (t *Transformer) is(i int, raw ...string) bool {
	if i < 0 || i >= len(t.lex) || t.lex[i].kind != letters || t.lex[i].word == nil {
		return false
	}
	for _, r := range raw {
		if t.lex[i].word.raw == r {
			return true
		}
	}
	return false
}

// isMark reports whether lexeme i is the mark c.
func (t *Transformer) isMark(i int, c byte) bool { return i >= 0 && i < len(t.lex) && t.lex[i].c == c }

// isNumber reports whether lexeme i is a number.
func (t *Transformer) isNumber(i int) bool {
	return i >= 0 && i < len(t.lex) && t.lex[i].kind == digits
}

// mark reads the mark at i.
func (t *Transformer) mark(i int) int {
	l := &t.lex[i]
	switch l.c {
	case ',':
		t.events = append(t.events, event{kind: comma, lex: int32(i)})
	case '.', ';', '\n', '!':
		if t.shortens(i) {
			break
		}
		t.events = append(t.events, event{kind: ended, lex: int32(i)})
		t.clause++
	case ':':
		t.clause++
	case '?':
		return t.question(i)
	case '+', '-':
		return t.sign(i)
	case '(':
		if end := t.bracketedSign(i); end > 0 {
			return end
		}
	case '/', '&':
		t.events = append(t.events, event{kind: joined, lex: int32(i)})
	}
	return i + 1
}

// starts reports whether lexeme i stands at the start of a word: after a space, a bracket, a comma or a slash.
func (t *Transformer) starts(i int) bool {
	if !t.lex[i].glued {
		return true
	}
	switch t.lex[i-1].c {
	case '(', ',', '/', ';', ':', '[', '\n', '.':
		return true
	}
	return i == 0
}

// touchesNext reports whether a word follows lexeme i without a space.
func (t *Transformer) touchesNext(i int) bool {
	return i+1 < len(t.lex) && t.lex[i+1].glued && t.lex[i+1].kind != mark
}

// question reads ?uti, syncope? and (?) as doubt.
func (t *Transformer) question(i int) int {
	switch {
	case t.lex[i].glued && i > 0 && t.lex[i-1].kind != mark && !t.touchesNext(i), i+1 == len(t.lex) || t.lex[i+1].kind == mark && t.lex[i+1].c != '?':
		t.trigger(i, i+1, unsure)
	default:
		t.trigger(i, i+1, maybe)
	}
	return i + 1
}

// sign reads +loc and -loc, strep+ and flu-, and runs of signs. A dash between two words is none, nor one between spaces unless it
// closes an item of a list or begins one after a plus sign between spaces.
func (t *Transformer) sign(i int) int {
	end := i + 1
	for end < len(t.lex) && t.lex[end].c == t.lex[i].c && t.lex[end].glued {
		end++
	}
	positive := t.lex[i].c == '+'
	if positive && t.isMark(end, '/') && t.isMark(end+1, '-') { // +/- loc
		t.trigger(i, end+2, maybe)
		return end + 2
	}
	closes := (t.plus || len(t.mentions) > 0 && t.mentions[len(t.mentions)-1].isTest()) &&
		(end == len(t.lex) || t.lex[end].c == ',' || t.lex[end].c == '.' || t.lex[end].c == ';' || t.lex[end].c == '\n')
	before := i > 0 && t.lex[i].glued && (t.lex[i-1].kind == letters || t.lex[i-1].kind == digits)
	after := t.touchesNext(end - 1)
	kind := eventKind(0)
	switch {
	case before && !after, closes && i > 0 && t.lex[i-1].kind == letters: // flu-, flu -
		kind = minusBefore
		if positive {
			kind = plusBefore
		}
	case !before && after && t.starts(i):
		kind = minusAfter
		if positive {
			kind = plusAfter
		}
		if !positive && t.lex[end].kind == digits {
			return end
		}
	case positive && !before:
		kind = plusAfter
		t.plus = true
	case t.plus && t.isMark(i-1, ','): // + fever, - cough
		kind = minusAfter
	default:
		return end
	}
	t.status = true
	t.events = append(t.events, event{kind: kind, lex: int32(i)})
	return end
}

// bracketedSign reads (+) and (-), before or after what they are about. It returns 0 if there is none at i.
func (t *Transformer) bracketedSign(i int) int {
	if i+2 >= len(t.lex) || t.lex[i+2].c != ')' {
		return 0
	}
	c := t.lex[i+1].c
	if c != '+' && c != '-' {
		return 0
	}
	next := i + 3
	kind := minusAfter
	if next >= len(t.lex) || t.lex[next].kind == mark && t.lex[next].c != '(' && t.lex[next].c != '/' || t.isMark(next, '(') && !t.isSign(next) {
		kind = minusBefore
	}
	if c == '+' {
		kind += plusAfter - minusAfter
	}
	t.status = true
	t.events = append(t.events, event{kind: kind, lex: int32(i)})
	return next
}

func (t *Transformer) isSign(i int) bool {
	return i+2 < len(t.lex) && (t.lex[i+1].c == '+' || t.lex[i+1].c == '-') && t.lex[i+2].c == ')'
}

// trigger records that lexemes [i,next) have an effect on what stands near them.
func (t *Transformer) trigger(i, next int, e effect) {
	t.status = true
	t.events = append(t.events, event{kind: triggered, effect: e, lex: int32(i), end: int32(next)})
}
