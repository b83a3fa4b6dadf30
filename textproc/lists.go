package textproc

import "strings"

// continuesKin reports whether the item of a list at event i belongs to another person, like the items before it. A
// disease does; after a word for the past, everything but a symptom does.
func (t *Transformer) continuesKin(s *scope, i int) bool {
	if !t.bare(i, true) || i >= len(t.events) {
		return false
	}
	if s.family { // family hx: mi, cva, but family hx of aneurysm, worst headache
		for ; i < len(t.events) && t.events[i].kind == mentioned; i++ {
			if t.isKind(i, "symptom") {
				return false
			}
		}
		return true
	}
	if m := t.mentionOf(i); m == nil || m.entry == nil {
		return m != nil && s.kinHistory
	}
	return t.isKind(i, "history") || s.kinHistory && t.isKind(i, "finding")
}

// continuesPast reports whether a list of the past goes on after the comma before event i. Under a heading it does so
// up to a complaint or the present.
func (t *Transformer) continuesPast(s *scope, i int) bool {
	if !s.heading {
		return t.bare(i, true)
	}
	for _, e := range t.events[i:min(len(t.events), i+farthest)] {
		switch e.kind {
		case comma, dash, ended, listOpened, listItem, listLine:
			return true
		case mentioned:
			m := &t.mentions[e.mention]
			if m.measure != nil && m.measure.vital || t.isClass(int(m.first), acting) {
				return false
			}
		case triggered:
			if e.effect == stops && !t.takes(int(e.lex)) || e.effect == maybe {
				return false
			}
		}
	}
	return true
}

// takes reports whether a word for a drug that is taken stands at lexeme i. Under a heading of the past the list goes
// on after it: pmh: afib on warfarin, dm.
func (t *Transformer) takes(i int) bool { return t.is(i, "on", "takes", "taking") }

// continuesAllergies reports whether a list of allergies goes on after the comma before event i: up to a complaint.
func (t *Transformer) continuesAllergies(i int) bool {
	for _, e := range t.events[i:min(len(t.events), i+farthest)] {
		switch e.kind {
		case comma, dash, ended, listOpened, listItem, listLine:
			return true
		case mentioned:
			m := &t.mentions[e.mention]
			if m.measure != nil || t.isClass(int(m.first), acting) || m.entry != nil &&
				(m.entry.Kind == "symptom" || m.entry.Kind == "mechanism" || m.entry.Kind == "history") {
				return false
			}
		case triggered:
			if e.effect == stops || e.effect == has {
				return false
			}
		}
	}
	return true
}

// bare reports whether the item of a list that begins at event i stands alone: no duration, count, score, vital sign,
// side or positive sign before the next comma, and no new beginning. A list of the past may have further words for the
// past.
func (t *Transformer) bare(i int, past bool) bool {
	said, known := false, false
	for _, e := range t.events[i:] {
		switch e.kind {
		case mentioned:
			m := &t.mentions[e.mention]
			if m.measure != nil || t.isClass(int(m.first), acting) || m.entry != nil && m.entry.Kind == "admin" ||
				m.entry != nil && len(m.terms) == 1 && m.terms[0].side {
				return false
			}
			said, known = true, m.entry != nil
		case comma, dash, ended, listOpened, listItem, listLine:
			return true
		case plusAfter, plusBefore:
			return false
		case triggered:
			switch {
			case e.effect == self: // "sob pt has", not "shortly pt was"
				return known && !past
			case e.effect == stops: // "or cough but has" ends the item; "seizure today" is not in the past
				return said && !(past && t.isClass(int(e.lex), recently))
			case e.traits&notAlone != 0, e.traits&aloneInPast != 0 && !past:
				return false
			case e.traits&endsItem != 0:
				return true
			}
		}
	}
	return true
}

// continuesDenial reports whether a denial goes on after the comma before event i.
func (t *Transformer) continuesDenial(s *scope, i int) bool {
	switch {
	case s.by != not && t.endsWithOr(i):
		return true
	case !s.passes || !t.bare(i, false) || t.isStatement(i, s.by != denies) || t.isPredicate(i):
		return false
	case s.by == denies:
		return true
	case s.what == nothingYet, s.what == aFinding && t.kindAt(i) == asideOnly: // nil LOC, collar on
		return false
	case s.what == asideOnly || s.what == aTest && s.by == negative:
		return t.kindAt(i) == s.what
	}
	return !t.placed(i)
}

// isStatement reports whether the item of a list that begins at event i says what was done, by a participle behind
// another word: no loc, self extricated. So does one with "since" or a number, if dated is set: no fever, cough since
// Monday.
func (t *Transformer) isStatement(i int, dated bool) bool {
	from := i
	for ; i < len(t.events) && (t.events[i].kind == mentioned || t.events[i].traits&keepsTerm != 0); i++ {
		if dated && i > from && t.is(int(t.events[i].lex), "since") {
			return true
		}
	}
	if i == from || t.events[i-1].kind != mentioned || i < len(t.events) && t.events[i].kind == triggered {
		return false
	}
	m := &t.mentions[t.events[i-1].mention]
	last := int(m.last) - 1
	w := t.lex[last].word
	done := w != nil && (strings.HasSuffix(w.raw, "ed") || t.is(last, "taken", "done", "worn", "broken", "torn"))
	return dated && t.isNumber(last+1) || done && last > int(t.events[from].lex) &&
		(m.entry == nil && t.effectAt(last) == none || t.isKind(i-1, "mechanism"))
}

// endsWithOr reports whether the list that goes on at event i ends with "or": no vomiting, pain at the back, or fever.
func (t *Transformer) endsWithOr(i int) bool {
	for k := i; k < min(len(t.events), i+farthest); k++ {
		e := &t.events[k]
		switch {
		case e.kind == mentioned:
			m := &t.mentions[e.mention]
			if m.measure != nil || t.isClass(int(m.first), acting) && !m.isTest() {
				return false
			}
			if t.is(int(m.first)-1, "or", "nor") && (m.entry == nil || m.entry.Kind != "anatomy") {
				return true
			}
		case e.kind != comma && e.kind != joined:
			return false
		}
	}
	return false
}

// placed reports whether the item of a list that begins at event i says where it is: "no loc, laceration to forehead".
// Nurses do not say where something is absent, except after "denies".
func (t *Transformer) placed(i int) bool {
	for _, e := range t.events[i:] {
		if e.kind != mentioned {
			return false
		}
		if m := &t.mentions[e.mention]; m.entry != nil && t.is(int(m.last), "to", "on", "over", "above") {
			return true
		}
	}
	return false
}

// kindOf returns what a denial of m denies.
func (t *Transformer) kindOf(m *mention) said {
	switch {
	case t.isClass(int(m.last)-1, aside):
		return asideOnly
	case m.entry == nil || m.entry.Kind == "anatomy":
		return aWord
	case m.isTest():
		return aTest
	case m.entry.Kind == "treatment" || m.entry.Kind == "admin":
		return asideOnly
	}
	return aFinding
}

// kindAt returns what a denial of the item that begins at event i denies.
func (t *Transformer) kindAt(i int) said {
	if m := t.mentionOf(i); m != nil {
		return t.kindOf(m)
	}
	return nothingYet
}
