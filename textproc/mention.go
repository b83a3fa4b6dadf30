package textproc

import "slices"

// mention is a part of the note that has a meaning: a concept, a measurement, or a word.
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
	named       bool // the word may be a name, so that its pieces do not count
	standing    standing
	plain       bool // the term counts as it is in spite of the status: a chronic disease of the past
}

// isTest reports whether m takes a result that follows it.
func (m *mention) isTest() bool { return m.entry != nil && m.entry.Test }

// recognize fills t.mentions and t.events from t.lex.
func (t *Transformer) recognize() {
	t.mentions, t.events, t.arena = t.mentions[:0], t.events[:0], t.arena[:0]
	t.taken, t.clause, t.list = 0, 0, noList
	t.young, t.status, t.aged, t.plus, t.closing = false, false, false, false, false
	t.years, t.sex = -1, ""
	for i := 0; i < len(t.lex); {
		switch t.lex[i].kind {
		case digits:
			i = t.digits(i)
		case letters:
			i = t.word(i)
		default:
			i = t.mark(i)
		}
	}
	if t.young {
		t.ageRanges()
	}
	if t.status {
		t.assignStatus()
	}
}

// word reads the form that begins with the word at i and returns the lexeme after it.
func (t *Transformer) word(i int) int {
	l := &t.lex[i]
	w := l.word
	if t.at {
		if next := t.address(i); next > i {
			return next
		}
	}
	if w == nil { // noise
		return i + 1
	}
	if i == 0 {
		if next := t.opening(); next > 0 {
			return next
		}
	}
	if w.class&leading != 0 {
		if next := t.special(i); next > i {
			return next
		}
	}
	if w.class&month != 0 {
		if next := t.date(i); next > i {
			return next
		}
		if t.isClass(i-1, dating) || t.is(i-1, "in", "of", "last", "early", "mid", "late", "next", "this", "until") {
			return i + 1
		}
	}
	if w.unit != noUnit {
		if next := t.unitAlone(i); next > i {
			return next
		}
	}
	if w.node != nil {
		e, next := t.longest(i)
		if w.raw == "w" && next > i+2 && t.isMark(i+1, '/') && !t.lex[i+2].glued { // w/ c/o is no wheelchair
			e, next = w.node.child(&t.lex[i+1]).entry, i+2
		}
		if e != nil {
			if e.effect == not {
				e, next = t.negated(e, next)
			}
			if end := t.surface(i, next, e); end > i {
				return end
			}
		}
	}
	if w.raw == "non" { // non-displaced, non smoker
		next := i + 1
		if t.isMark(next, '-') && t.lex[next].glued && t.touchesNext(next) {
			next++
		}
		if next < len(t.lex) && t.lex[next].kind == letters {
			t.status = true
			t.events = append(t.events, event{kind: minusAfter, lex: int32(i)})
			return next
		}
	}
	if next := t.postcode(i); next > i {
		return next
	}
	t.plain(i)
	return i + 1
}

func (t *Transformer) plain(i int) {
	l := &t.lex[i]
	w := l.word
	if w == nil || w.stem[0] == nil || t.isUnlisted(i) && t.isOfKin(i) {
		return
	}
	t.add(i, i+1, w.stem[:], 0, nil, nil)
	t.mentions[len(t.mentions)-1].named = !w.shared && (t.isNamed(i) || t.opensNote(i))
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
		start: t.lex[from].start, end: t.lex[to-1].end, first: int32(from), last: int32(to), terms: terms,
		parts: parts, entry: e, measure: m, clause: t.clause,
	})
}

// surface adds the meaning of the surface of lexemes [i,next). It returns the lexeme after the words that it read, or i
// if they have no meaning beyond the words.
func (t *Transformer) surface(i, next int, e *entry) int {
	if e.measure != nil {
		if end := t.measured(i, next, e); end > 0 {
			return end
		}
	}
	effect := e.effect
	if e.senses != nil {
		if e = t.senseOf(i, next, e); e == nil {
			if next > i+1 && effect == none {
				return next // d/c, h/h: letters between marks are not words
			}
			return i
		}
	}
	if !e.Dropped {
		effect = e.effect // else the surface keeps it: pt
	}
	if effect == free && e.terms == nil && !t.afterFinding(i) {
		return i
	}
	before := effectRules[effect].traits&precedes != 0
	if before {
		t.trigger(i, next, effect)
	}
	if e.terms != nil && !e.Dropped {
		t.add(i, next, e.terms, e.parts, e, nil)
	}
	if effect != none && !before {
		t.trigger(i, next, effect)
	}
	if e.Ends {
		t.trigger(i, next, stops)
	}
	if e.terms == nil && !e.Dropped && (effect == none || effectRules[effect].traits&keepsTerm != 0) {
		return i
	}
	return next
}

// afterFinding reports whether a symptom, finding or disease ends straight before lexeme i.
func (t *Transformer) afterFinding(i int) bool {
	return t.isKind(len(t.events)-1, "symptom", "finding", "history") &&
		t.mentions[len(t.mentions)-1].end+1 >= t.lex[i].start
}

// isKind reports whether event i is a concept of one of the kinds.
func (t *Transformer) isKind(i int, kinds ...string) bool {
	m := t.mentionOf(i)
	return m != nil && m.entry != nil && slices.Contains(kinds, m.entry.Kind)
}

// mentionOf returns the mention of event i, nil if that is none.
func (t *Transformer) mentionOf(i int) *mention {
	if i < 0 || i >= len(t.events) || t.events[i].kind != mentioned {
		return nil
	}
	return &t.mentions[t.events[i].mention]
}

func (t *Transformer) is(i int, raw ...string) bool {
	w := t.wordAt(i)
	return w != nil && t.lex[i].kind == letters && slices.Contains(raw, w.raw)
}

func (t *Transformer) isMark(i int, c byte) bool { return i >= 0 && i < len(t.lex) && t.lex[i].c == c }

func (t *Transformer) isNumber(i int) bool {
	return i >= 0 && i < len(t.lex) && t.lex[i].kind == digits
}

// effectAt returns the effect of the word at lexeme i, if it is a trigger by itself.
func (t *Transformer) effectAt(i int) effect {
	if w := t.wordAt(i); w != nil && w.node != nil && w.node.entry != nil {
		return w.node.entry.effect
	}
	return none
}

// trigger records that lexemes [i,next) have an effect on the mentions near them.
func (t *Transformer) trigger(i, next int, e effect) {
	traits := effectRules[e].traits
	t.status = t.status || traits&begins != 0
	t.events = append(t.events, event{kind: triggered, effect: e, traits: traits, lex: int32(i), end: int32(next)})
}
