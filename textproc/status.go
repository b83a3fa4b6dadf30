package textproc

import (
	"math"
	"strings"
)

// Status says what a note says of a finding.
type Status uint8

// The statuses. Where several apply, another person's goes before denied, denied before uncertain, uncertain before past.
const (
	Affirmed Status = iota
	Negated
	Uncertain
	Historical
	OtherPerson
	statuses = iota
)

// prefixes mark the terms of a status. No affirmed term begins with one.
var prefixes = [statuses]string{"", "not:", "maybe:", "past:", "other:"}

// String returns the name of the status in the program's output.
func (s Status) String() string {
	return [statuses]string{"affirmed", "negated", "uncertain", "historical", "other-person"}[s]
}

// effect is what a trigger does; concepts/status.tsv describes each.
type effect uint8

const (
	none effect = iota
	deny
	denies
	not
	absent
	free
	negative
	denied
	maybe
	unsure
	either
	historical
	after
	over
	otherPerson
	exposed
	present
	visible // the effects from here on belong to words that keep a term
	kin
	has
	tells
	ends
	stops
	acts // of words, not of surfaces
)

var effects = map[string]effect{
	"deny": deny, "denies": denies, "not": not, "absent": absent, "free": free, "negative": negative, "denied": denied, "maybe": maybe, "unsure": unsure,
	"either": either, "past": historical, "after": after, "over": over, "other": otherPerson, "exposed": exposed, "present": present, "kin": kin, "has": has, "tells": tells,
	"end": ends, "stop": stops, "acts": acts,
}

// eventKind is what happens at a place of the note.
type eventKind uint8

const (
	mentioned eventKind = iota + 1
	comma
	ended  // a sentence
	joined // a slash or an ampersand
	colon
	bracket // that closes
	triggered
	minusAfter  // a minus sign before what it denies: -loc
	minusBefore // after it: flu-
	plusAfter
	plusBefore
)

// event is something that matters for the status of mentions.
type event struct {
	kind     eventKind
	effect   effect
	mention  int32
	lex, end int32 // lexemes
}

// maxDenied is how many mentions a denial reaches, but for "denies" and "negative for". Lists in triage notes are longer than NegEx's
// five words.
const maxDenied = 8

// farthest is how many events around a trigger are searched for what it is about.
const farthest = 16

// scope is what holds at a place of the note.
type scope struct {
	denied     int  // how many more mentions are denied
	fresh      bool // nothing has been said since the denial
	commas     bool // the denial passes commas
	listing    bool // it is of a word that lists: denies, negative for
	refused    bool // a denial has gone before in the sentence
	uncertain  bool
	past       bool
	begun      bool // something has been said since the word for the past
	mechanisms bool // that are of today in spite of past
	listed     bool // a comma came since past
	another    bool // another person's
	kin        int  // lexeme of a person, -1 if none is near
	sign       int8 // of the next mention: -1 denied, 1 affirmed
}

// assignStatus gives every mention its status.
func (t *Transformer) assignStatus() {
	s := scope{kin: -1}
	for i := range t.events {
		e := &t.events[i]
		switch e.kind {
		case mentioned:
			t.mention(&s, i)
		case comma:
			s.uncertain, s.another, s.sign = false, false, 0
			s.listed = true
			if !s.commas || s.denied > 0 && (!t.bare(i+1, false) || !s.listing && t.placed(i+1)) {
				s.denied = 0
			}
			if s.mechanisms || s.past && !t.bare(i+1, true) {
				s.past = false
			}
			s.kin = -1
		case ended:
			s = scope{kin: -1}
		case colon: // r/o cva: slurred speech, but not r/o: cva
			s.uncertain = s.uncertain && t.events[i-1].kind == triggered
		case bracket: // (not her usual self) and febrile
			s.uncertain = false
			if !s.listing {
				s.denied = 0
			}
		case minusAfter:
			s.denied, s.sign = 0, -1
		case plusAfter:
			s.denied, s.sign, s.uncertain = 0, 1, false
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
			t.apply(&s, i)
		}
	}
	t.chronic()
}

// closes reports whether the sign of event i is about what stands straight before it: not the n of n-. A minus needs a concept, and one
// that takes a result, or the end of the item, or other signs after words: in "scalp- mom states" it is a dash.
func (t *Transformer) closes(i int) bool {
	if i == 0 || t.events[i-1].kind != mentioned {
		return false
	}
	e, m := &t.events[i], &t.mentions[t.events[i-1].mention]
	switch {
	case m.measure != nil || m.last != e.lex:
		return false
	case e.kind == plusBefore || m.isTest() || t.lex[e.lex].c == '(':
		return true
	case m.entry == nil || m.entry.kind == "anatomy":
		return false
	}
	next := int(e.lex) + 1
	if next >= len(t.lex) || strings.IndexByte(",.;)/\n", t.lex[next].c) >= 0 {
		return true
	}
	for k := max(0, i-farthest); k < min(len(t.events), i+farthest); k++ {
		if kind := t.events[k].kind; k != i && (kind == minusBefore || kind == plusBefore || kind == plusAfter) {
			return true
		}
	}
	return false
}

// chronic calls a chronic disease of the past affirmed in a note that affirms nothing else. Its term is the plain one anyway.
func (t *Transformer) chronic() {
	for i := range t.mentions {
		if m := &t.mentions[i]; m.status == Affirmed && m.measure == nil {
			return
		}
	}
	for i := range t.mentions {
		if t.mentions[i].plain {
			t.mentions[i].status = Affirmed
		}
	}
}

// mention gives the mention of event i its status.
func (t *Transformer) mention(s *scope, i int) {
	m := &t.mentions[t.events[i].mention]
	if m.measure != nil && m.measure != spine {
		s.commas = s.commas && s.listing // no bm x 4 days, vomiting
		s.sign = 0
		return
	}
	kind := ""
	if m.entry != nil {
		kind = m.entry.kind
	}
	if t.isClass(int(m.first), acting) {
		if s.denied > 0 && !s.fresh && !t.isListed(int(m.first), s.listing) { // no helmet hit by car
			s.denied = 0
		}
		s.past, s.another = s.past && !s.begun, false
	}
	if s.past && (s.listed && kind == "symptom" || s.mechanisms && kind == "mechanism" || s.listed && kind == "treatment") {
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
	case s.past:
		status = Historical
	}
	if s.denied > 0 {
		s.denied--
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
	m.plain = s == Historical && m.entry != nil && m.entry.kind == "history"
}

// apply changes the scope by the trigger of event i.
func (t *Transformer) apply(s *scope, i int) {
	e := t.events[i].effect
	if e != kin && e != has && e != tells && s.kin >= 0 && int(t.events[i].lex) > s.kin+2 {
		s.kin = -1
	}
	switch e {
	case deny, denies, not:
		if t.answers(i) {
			t.backward(i, Negated, false)
			return
		}
		s.open(e)
	case denied:
		if t.follows(i) {
			s.open(denies)
		} else {
			t.backward(i, Negated, false)
		}
	case absent:
		t.backward(i, Negated, false)
	case free:
		t.backward(i, Negated, true)
	case negative:
		switch {
		case t.tested(i):
			t.backward(i, Negated, true)
		case t.follows(i), i > 0 && t.events[i-1].kind == comma && i+1 < len(t.events) && t.events[i+1].kind == mentioned: // pos etoh, neg drugs
			s.open(deny)
		default:
			t.backward(i, Negated, false)
		}
	case present:
		s.denied, s.sign = 0, 0
		if t.tested(i) {
			t.backward(i, Affirmed, true)
		}
	case maybe:
		s.uncertain = true
	case unsure:
		t.backward(i, Uncertain, false)
	case either:
		t.backward(i, Uncertain, false)
		s.uncertain = true
	case historical:
		if t.current(i) {
			return
		}
		s.past, s.listed, s.mechanisms, s.begun = true, false, false, false
	case after:
		s.past, s.listed, s.mechanisms, s.begun = !t.isActivity(int(t.events[i].end)), false, true, false
		s.denied = 0
	case over:
		if !t.backward(i, Historical, false) && t.follows(i) { // resolved rash
			s.past, s.listed, s.mechanisms, s.begun = true, false, false, false
		}
	case otherPerson:
		s.another = true
		if !s.fresh {
			s.denied = 0
		}
	case exposed:
		if t.tested(i) { // covid exposure
			t.backward(i, OtherPerson, true)
		}
	case kin:
		s.kin = int(t.events[i].end)
	case has:
		if s.kin >= 0 && int(t.events[i].lex) <= s.kin+1 {
			s.another = true
		}
		s.kin = -1
		if !s.fresh {
			s.denied, s.past = 0, s.past && !t.is(int(t.events[i].lex), "with", "w", "has")
		}
		if t.is(int(t.events[i].lex), "with", "w") {
			s.uncertain = false
		}
	case tells, ends, stops:
		s.kin = -1
		if e == tells {
			s.another = false
		}
		if !s.fresh {
			s.denied = 0
		}
		s.uncertain = false
		if e == stops {
			s.past, s.another = false, false
		}
	}
}

// open begins a denial. Where each item of a list has its own, none passes a comma: no fever, no cough, rash.
func (s *scope) open(e effect) {
	s.listing = e == denies
	s.denied, s.fresh, s.commas, s.sign = maxDenied, true, e != not && (s.listing || !s.refused), 0
	if s.listing {
		s.denied = math.MaxInt
	}
	s.refused = true
}

// answers reports whether the denial of event i is the answer in "fever: no".
func (t *Transformer) answers(i int) bool {
	e := &t.events[i]
	return (t.isMark(int(e.lex)-1, ':') || t.isMark(int(e.lex)-1, '?')) && (int(e.end) >= len(t.lex) || t.lex[e.end].kind == mark)
}

// follows reports whether something is mentioned between event i and the end of its item.
func (t *Transformer) follows(i int) bool {
	for _, e := range t.events[i+1 : min(len(t.events), i+1+farthest)] {
		switch e.kind {
		case mentioned:
			m := &t.mentions[e.mention]
			return m.measure == nil && (m.entry != nil || t.events[i].effect == denied)
		case comma, ended:
			return false
		case triggered:
			if e.effect >= visible {
				return false
			}
		}
	}
	return false
}

// tested reports whether a test or what it looks for stands straight before event i.
func (t *Transformer) tested(i int) bool {
	at := i - 1
	for at >= max(0, i-farthest) && (t.events[at].kind == colon || t.events[at].kind == triggered && t.events[at].effect >= visible) {
		at--
	}
	if at < 0 || t.events[at].kind != mentioned {
		return false
	}
	return t.mentions[t.events[at].mention].isTest()
}

// current reports whether the word for the past of event i is none: a duration before it makes "h/o" mean "for" (2 day h/o cough), and
// "prior to" is no "prior".
func (t *Transformer) current(i int) bool {
	if t.is(int(t.events[i].lex), "prior") && t.is(int(t.events[i].end), "to") {
		return true
	}
	if i == 0 || t.events[i-1].kind != mentioned {
		return false
	}
	m := &t.mentions[t.events[i-1].mention]
	return m.measure == duration && !t.is(int(t.events[i].lex), "pmh", "pmhx", "previous", "previously")
}

// bare reports whether the item of a list that begins at event i stands alone: no duration, count, score, vital sign, side or
// positive sign before the next comma, and nothing that begins anew. A list of the past may have further words for the past.
func (t *Transformer) bare(i int, past bool) bool {
	for _, e := range t.events[i:] {
		switch e.kind {
		case mentioned:
			m := &t.mentions[e.mention]
			if m.measure != nil || t.isClass(int(m.first), acting) || m.entry != nil && m.entry.kind == "admin" || m.entry != nil && len(m.terms) == 1 && m.terms[0].side {
				return false
			}
		case comma, ended:
			return true
		case plusAfter, plusBefore:
			return false
		case triggered:
			switch e.effect {
			case historical, after:
				if !past {
					return false
				}
			case stops, over, maybe:
				return false
			case deny, denies, not:
				return true
			}
		}
	}
	return true
}

// placed reports whether the item of a list that begins at event i says where it is: "no loc, laceration to forehead". Nobody says where
// something is not, except after "denies".
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

// backward gives what stands before event i a status: the nearest concept of the sentence, else the nearest word, and what a
// slash, "and" or "or" joins to it; what is another person's stays so. If only is set, it must stand straight before. It returns false
// if nothing does.
func (t *Transformer) backward(i int, status Status, only bool) bool {
	at, word := -1, -1
search:
	for k, seen := i-1, 0; k >= max(0, i-farthest) && seen < 4; k-- {
		e := &t.events[k]
		switch e.kind {
		case ended:
			break search
		case comma:
			if at >= 0 || word >= 0 || only {
				break search
			}
		case mentioned:
			seen++
			m := &t.mentions[e.mention]
			if m.measure != nil {
				continue
			}
			if m.entry != nil || only {
				at = k
				break search
			}
			if word < 0 {
				word = k
			}
		}
	}
	if at < 0 {
		at = word
	}
	if at < 0 {
		return false
	}
	for range maxDenied {
		if m := &t.mentions[t.events[at].mention]; m.status != OtherPerson {
			t.setStatus(m, status)
		}
		if at == 0 || t.events[at-1].kind != joined && !t.conjunction(at) {
			return true
		}
		for at--; at >= 0 && t.events[at].kind != mentioned; at-- {
			if t.events[at].kind == comma || t.events[at].kind == ended || t.events[at].kind == triggered {
				return true
			}
		}
		if at < 0 {
			return true
		}
	}
	return true
}

// conjunction reports whether "and" or "or" stands before the mention of event i.
func (t *Transformer) conjunction(i int) bool {
	return t.is(int(t.mentions[t.events[i].mention].first)-1, "and", "or")
}

// isActivity reports whether the word at lexeme i tells what somebody did: s/p lifting boxes, s/p accidentally kicked.
func (t *Transformer) isActivity(i int) bool {
	if i >= len(t.lex) || t.lex[i].word == nil {
		return false
	}
	w := t.lex[i].word
	return w.class&acting != 0 || strings.HasSuffix(w.raw, "ing") || strings.HasSuffix(w.raw, "ly")
}

// isListed reports whether what begins at lexeme i is joined to what stands before it; and joins a verb to a denial only in a list of
// denials.
func (t *Transformer) isListed(i int, listing bool) bool {
	return t.is(i-1, "or") || t.isMark(i-1, ',') || t.isMark(i-1, '/') || listing && (t.is(i-1, "and") || t.isMark(i-1, '&'))
}
