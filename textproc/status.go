package textproc

import "math"

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
	self
	until
	ends
	stops
	acts // of words, not of surfaces
)

var effects = map[string]effect{
	"deny": deny, "denies": denies, "not": not, "absent": absent, "free": free, "negative": negative, "denied": denied,
	"maybe": maybe, "unsure": unsure,
	"either": either, "past": historical, "after": after, "over": over, "other": otherPerson, "exposed": exposed,
	"present": present, "kin": kin, "has": has, "tells": tells, "self": self, "until": until,
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
	listOpened // a list over lines, after a colon
	listItem   // its next line, with a bullet
	listLine   // or without
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

// scope is what holds at a place of the note.
type scope struct {
	denied     int  // how many more mentions are denied
	fresh      bool // nothing has been said since the denial
	commas     bool // the denial passes commas
	listing    bool // it is of a word that lists: denies, negative for
	refused    bool // a denial, or a surface with its own no, has gone before in the sentence
	uncertain  bool
	past       bool
	begun      bool // something has been said since the word for the past
	mechanisms bool // that are of today in spite of past
	listed     bool // a comma came since past
	another    bool // another person's
	family     bool // it passes commas: family hx: mi, cva
	kinHistory bool // it passes commas before diseases: mother with hx of dm, htn
	kin        int  // lexeme of a person, -1 if none is near
	sign       int8 // of the next mention: -1 denied, 1 affirmed
}

// assignStatus gives every mention its status.
func (t *Transformer) assignStatus() {
	s := scope{kin: -1}
	var heading scope // of a list over lines
	for i := range t.events {
		e := &t.events[i]
		switch e.kind {
		case mentioned:
			t.mention(&s, i)
		case comma:
			s.uncertain, s.another, s.sign = false, s.another && t.continuesKin(&s, i+1), 0
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
		case listOpened:
			s.sign, s.kin = 0, -1
			heading = s
		case listItem:
			s = heading
		case listLine:
			s.sign, s.kin = 0, -1
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
	s.refused = s.refused || m.entry != nil && t.is(int(m.first), "no") // no allergies, no meds, rash
	if m.entry != nil && m.entry.now && (s.past || !s.fresh) {
		s.denied, s.past, s.another = 0, false, false
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
			t.denyTriad(i)
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
		if t.tested(i) || t.isMark(int(t.events[i].lex)-1, '?') { // flu pos, cough? yes
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
		s.kinHistory = s.another
	case after:
		s.past, s.listed, s.mechanisms, s.begun = !t.isActivity(int(t.events[i].end)), false, true, false
		s.denied = 0
	case over:
		if !t.backward(i, Historical, false) && t.follows(i) { // resolved rash
			s.past, s.listed, s.mechanisms, s.begun = true, false, false, false
		}
	case otherPerson:
		s.another, s.family = true, t.is(int(t.events[i].lex), "family", "fhx")
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
			s.another, s.family, s.kinHistory = true, false, false
		}
		s.kin = -1
		if !s.fresh {
			s.denied, s.past = 0, s.past && !t.is(int(t.events[i].lex), "with", "w", "has")
		}
		if t.is(int(t.events[i].lex), "with", "w") {
			s.uncertain = false
		}
	case until:
		if s.denied > 0 && !s.fresh || t.saysDenied(i-1) {
			t.backward(i, Affirmed, false)
		}
		s.denied, s.uncertain, s.kin = 0, false, -1
	case self:
		s.kin, s.another, s.past = -1, false, s.past && !s.begun
		if !s.fresh {
			s.denied = 0
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
