package textproc

import "strings"

// Status is what a note says about a finding.
type Status uint8

// The statuses. If several apply, another person's takes precedence over denied, denied over uncertain, uncertain over
// past.
const (
	Affirmed Status = iota
	Negated
	Uncertain
	Historical
	OtherPerson
	statuses = iota
)

// prefixes mark the terms with a status. No affirmed term begins with one.
var prefixes = [statuses]string{"", "not:", "maybe:", "past:", "other:"}

// String returns the name of the status in the program's output.
func (s Status) String() string {
	return [statuses]string{"affirmed", "negated", "uncertain", "historical", "other-person"}[s]
}

type eventKind uint8

const (
	mentioned eventKind = iota + 1
	comma
	dash   // between spaces
	ended  // a sentence
	joined // a slash or an ampersand
	colon
	bracket // that closes
	triggered
	minusAfter  // a minus sign before what it denies: -loc
	minusBefore // after it: flu-
	plusAfter
	plusBefore
	listOpened // a list over lines, after a colon
	listItem   // its next line, with a bullet
	listLine   // or without
)

// event is something that matters for the status of mentions.
type event struct {
	kind     eventKind
	effect   effect
	traits   traits
	mention  int32
	lex, end int32 // lexemes
}

func (t *Transformer) assignStatus() {
	t.scope = newScope()
	s := &t.scope
	var heading scope // of a list over lines
	for i := range t.events {
		e := &t.events[i]
		switch e.kind {
		case mentioned:
			t.mention(s, i)
		case comma, dash:
			s.uncertain = s.uncertain && e.kind == comma && (s.planned && t.bare(i+1, true) || t.endsWithOr(i+1))
			s.another, s.sign = s.another && (t.events[i-1].effect == otherPerson || t.continuesKin(s, i+1)), 0
			s.listed = true
			if s.denied > 0 && !t.continuesDenial(s, i+1) {
				s.denied = 0
			}
			if e.kind == dash { // denies fever - cough today
				s.settle()
			}
			if s.mechanisms || s.past && !t.continuesPast(s, i+1) {
				s.past = false
			}
			s.allergic = s.allergic && t.continuesAllergies(i+1)
			if t.kindAt(i+1) != asideOnly {
				s.ceased = 0
			}
			s.kin = -1
		case ended:
			*s = newScope()
		case listOpened:
			s.sign, s.kin = 0, -1
			heading = *s
		case listItem:
			*s = heading
		case listLine:
			s.sign, s.kin = 0, -1
		case colon: // r/o cva: slurred speech, but not r/o: cva
			s.uncertain = s.uncertain && t.events[i-1].kind == triggered
			t.endHeading(s, i)
			if s.kin == int(e.lex) && t.isKind(i+1, "symptom", "finding", "history", "mechanism") { // son: fever
				giveToKin(t, s, i)
				s.family = s.another
			}
			if s.by != denies { // not obtainable. referring diagnosis: syncope
				s.settle()
			}
		case bracket: // (not her usual self) and febrile
			s.uncertain = false
			if s.by != denies {
				s.denied = 0
			}
		case minusAfter:
			s.denied, s.sign = 0, -1
		case plusAfter:
			s.denied, s.sign, s.uncertain = 0, 1, false
			if s.kin == int(e.lex) && t.isKind(i+1, "symptom", "finding", "history") { // brother + RSV
				giveToKin(t, s, i)
			}
		case minusBefore:
			if t.closes(i) {
				t.backward(i, Negated, true)
			}
			s.sign = 0
		case plusBefore:
			if t.closes(i) {
				t.backward(i, Affirmed, true)
			}
			s.denied, s.sign = 0, 0
		case triggered:
			t.apply(s, i)
		}
	}
}

// endHeading ends a list of the past or of allergies before the next heading, whose colon is event i: pmh: dm, meds:
// insulin.
func (t *Transformer) endHeading(s *scope, i int) {
	if !s.past && !s.allergic || !t.isKind(i-1, "treatment", "admin") {
		return
	}
	m := &t.mentions[t.events[i-1].mention]
	if m.last != t.events[i].lex {
		return
	}
	s.past, s.allergic = false, false
	if m.status == Historical {
		t.setStatus(m, Affirmed)
	}
}

// mention gives the mention of event i its status.
func (t *Transformer) mention(s *scope, i int) {
	m := &t.mentions[t.events[i].mention]
	if m.measure != nil && m.measure != spine {
		s.passes = s.passes && s.by == denies // no bm x 4 days, vomiting
		s.sign = 0
		return
	}
	kind := ""
	if m.entry != nil {
		kind = m.entry.Kind
	}
	if s.kin == int(m.first) && m.isTest() && kind == "finding" { // husband covid+
		giveToKin(t, s, i)
	}
	if t.isClass(int(m.first), acting) {
		// no helmet hit by car
		if s.denied > 0 && !s.fresh && !m.isTest() && !t.isListed(int(m.first), s.by == denies) {
			s.denied = 0
		}
		broke := i > 0 && t.events[i-1].effect == has && t.events[i-1].lex == m.first // son broke arm
		s.past, s.another = s.past && !s.begun, s.another && broke
	}
	if s.by == negative && s.what == aTest && !m.isTest() && m.entry != nil && !t.isListed(int(m.first), false) {
		s.denied = 0 // neg troponin at outside hospital
	}
	if m.entry != nil && m.entry.denied && s.passes && !s.fresh && t.isMark(int(m.first)-1, ',') {
		s.denied = 0 // no cough, afebrile
	}
	s.refused = s.refused || m.entry != nil && t.is(int(m.first), "no") // no allergies, no meds, rash
	if m.entry != nil && m.entry.Now && (s.past || s.allergic || !s.fresh) {
		s.denied, s.past, s.allergic, s.another = 0, false, false, false
	}
	if s.past && (s.listed && kind == "symptom" && !m.entry.Lasting || s.mechanisms && kind == "mechanism" ||
		s.listed && kind == "treatment" && !s.heading) {
		s.past = false
	}
	status := Affirmed
	switch {
	case s.another:
		status = OtherPerson
	case s.sign < 0 || s.sign == 0 && s.denied > 0:
		status = Negated
	case s.uncertain:
		status = Uncertain
	case s.ceased > 0 && (kind == "treatment" || kind == "history"), s.allergic:
		status = Historical
	case s.past && !(s.refused && kind == "history"): // w/o fever, h/o dm
		status = Historical
	}
	if s.ceased > 0 && kind != "treatment" {
		s.ceased--
	}
	if s.denied > 0 {
		s.denied--
		s.what = s.what.and(t.kindOf(m), t.isClass(int(m.last)-1, aside))
	}
	s.fresh, s.begun = false, true
	if m.entry != nil && m.entry.denied { // afebrile
		switch status {
		case Negated:
			status = Affirmed
		case Affirmed:
			status = Negated
		}
	}
	t.setStatus(m, status)
	if s.sign != 0 && !(i+1 < len(t.events) && t.events[i+1].kind == joined) {
		s.sign = 0
	}
}

func (t *Transformer) setStatus(m *mention, s Status) {
	m.status = s
	m.plain = s == Historical && m.entry != nil && m.entry.Kind == "history"
}

// isPredicate reports whether the item of a list that begins at event i, behind a comma, says how the patient is, which
// is nothing that a denial of findings can deny: no fever, hypotensive; no rash, acting normally; no bleeding, in
// labour. Symptoms can be denied as adjectives, and a list of adjectives goes on: denies fever, nauseated; not weak,
// confused.
func (t *Transformer) isPredicate(i int) bool {
	at := int(t.events[i-1].lex) + 1
	if t.isState(at-2) || t.isKind(i, "symptom") && !t.isClass(at, state) {
		return false
	}
	said := t.is(at, "in") && !t.isClass(at+1, filler)
	for ; !said && at < len(t.lex) && t.lex[at].word != nil && t.lex[at].kind == letters; at++ {
		w := t.lex[at].word
		switch {
		case t.isState(at):
			next := at + 1 // in "no pain, swollen ankle" it belongs to the noun
			said = next >= len(t.lex) || t.lex[next].kind != letters || t.lex[next].word == nil || t.lex[next].word.stop
		case strings.HasSuffix(w.raw, "ly"):
			said = at > 0 && t.lex[at-1].word != nil && strings.HasSuffix(t.lex[at-1].word.raw, "ing")
		case !strings.HasSuffix(w.raw, "ing") && !t.is(at, "very", "more", "still", "now", "quite", "too"):
			return false
		}
	}
	return said
}

// isState reports whether the word at i is an adjective or a participle for the state of a patient.
func (t *Transformer) isState(i int) bool {
	const shortest = 6 // panic and colic are nouns
	w := t.wordAt(i)
	return w != nil && (w.class&state != 0 || len(w.raw) >= shortest && !w.stop && !strings.HasSuffix(w.raw, "eed") &&
		endsIn(w.raw, "ic", "ive", "ous", "ed", "less", "ful"))
}
