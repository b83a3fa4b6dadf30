package textproc

import (
	"math"
	"slices"
)

// effect is what a trigger does. A new one is a constant, a row of effectRules with the function that changes the
// scope, a line in the header of concepts/status.tsv, and a case of TestEffects.
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
	precaution
	either
	historical
	after
	over
	otherPerson
	exposed
	present
	kin
	has
	tells
	self
	until
	ends
	stops
	reason
	change
	ceased
	allergy
	acts // of words, not of surfaces
	asides
	seeks
)

// traits say what follows from an effect besides its change of the scope. They are copied to the events.
type traits uint8

const (
	begins    traits = 1 << iota // may give a status; the other effects only end what these begin
	keepsTerm                    // its words may be terms too
	precedes                     // its event goes before the mention of its own surface, for which it counts
	nearKin                      // may stand between a person and what the person has

	// Its effect on the item of a list of denials or of the past that contains it (see bare).
	endsItem    // the item ends before it, and stands alone
	notAlone    // no item with it stands alone
	aloneInPast // an item with it stands alone only in a list of the past
)

type effectRule struct {
	name   string // in concepts/status.tsv
	traits traits
	change func(t *Transformer, s *scope, i int) // by the trigger of event i
	class  class                                 // of an effect of words, which gives it
}

var effectRules = [...]effectRule{
	deny:        {name: "deny", traits: begins | endsItem, change: denyNext},
	denies:      {name: "denies", traits: begins | endsItem, change: denyNext},
	not:         {name: "not", traits: begins | endsItem, change: denyNext},
	absent:      {name: "absent", traits: begins, change: before(Negated, false)},
	free:        {name: "free", traits: begins, change: before(Negated, true)},
	negative:    {name: "negative", traits: begins, change: denyTested},
	denied:      {name: "denied", traits: begins, change: denyEither},
	maybe:       {name: "maybe", traits: begins | notAlone, change: doubtNext},
	unsure:      {name: "unsure", traits: begins, change: before(Uncertain, false)},
	precaution:  {name: "precaution", traits: begins, change: before(Uncertain, true)},
	either:      {name: "either", traits: begins, change: doubtBoth},
	historical:  {name: "past", traits: begins | aloneInPast, change: beginPast},
	after:       {name: "after", traits: begins | aloneInPast, change: beginAfter},
	over:        {name: "over", traits: begins | notAlone, change: pastBefore},
	otherPerson: {name: "other", traits: begins, change: beginOther},
	exposed:     {name: "exposed", traits: begins | precedes, change: exposeTested},
	present:     {name: "present", change: affirmTested},
	kin:         {name: "kin", traits: begins | keepsTerm | nearKin, change: nameKin},
	has:         {name: "has", traits: keepsTerm | nearKin | precedes, change: giveToKin},
	tells:       {name: "tells", traits: keepsTerm | nearKin, change: endByTelling},
	self:        {name: "self", traits: keepsTerm, change: returnToPatient},
	until:       {name: "until", traits: keepsTerm | precedes, change: affirmUntil},
	ends:        {name: "end", traits: keepsTerm | precedes, change: endClause},
	stops:       {name: "stop", traits: keepsTerm | precedes, change: endAll},
	reason:      {name: "reason", traits: keepsTerm, change: endReason},
	change:      {name: "change", traits: begins, change: denyChange},
	ceased:      {name: "ceased", traits: begins, change: endTreatment},
	allergy:     {name: "allergy", traits: begins | keepsTerm, change: beginAllergies},
	acts:        {name: "acts", class: acting},
	asides:      {name: "aside", class: aside},
	seeks:       {name: "seek", class: seeking},
}

// effectNamed returns the effect of a name in concepts/status.tsv, or none.
func effectNamed(name string) effect {
	at := slices.IndexFunc(effectRules[:], func(r effectRule) bool { return r.name == name })
	return effect(max(at, int(none)))
}

// scope is the context at a place of the note.
type scope struct {
	denial
	history
	kinship
	uncertain bool
	planned   bool // the doubt is about a condition, which passes commas: return if fever, vomiting
	sign      int8 // of the next mention: -1 denied, 1 affirmed
}

type denial struct {
	denied  int  // how many more mentions are denied
	fresh   bool // nothing has been said since the denial
	passes  bool // the denial passes commas
	by      effect
	refused bool // a denial, or a surface with its own no, came earlier in the sentence
	what    said
}

// said is what a denial has denied so far.
type said uint8

const (
	nothingYet said = iota
	asideOnly       // no finding: no insurance
	aWord
	aTest
	aFinding
)

// and returns what is denied by a denial of s that goes on with next. A head that is no finding (covid contact) takes
// the words before it with it; other words that are no finding do not outweigh one.
func (s said) and(next said, head bool) said {
	if head || next > s && (s != asideOnly || next > aWord) {
		return next
	}
	return s
}

type history struct {
	past       bool
	begun      bool // something has been said since the word for the past
	mechanisms bool // belong to today in spite of past
	listed     bool // a comma came since past
	heading    bool // the word for the past is one: pmh: htn, dm
	allergic   bool // in a list of allergies
	ceased     int  // how many more mentions may be a treatment that was stopped
}

type kinship struct {
	another    bool // another person's
	family     bool // it passes commas: family hx: mi, cva
	kinHistory bool // it passes commas before diseases: mother with hx of dm, htn
	kin        int  // lexeme of a person, -1 if none is near
}

// newScope returns the scope at the start of a sentence.
func newScope() scope { return scope{kinship: kinship{kin: -1}} }

// maxDenied is the number of mentions that a denial reaches, except for "denies" and "negative for". Lists in triage
// notes are longer than NegEx's five words.
const maxDenied = 8

// open begins a denial. If each item of a list has its own, no denial passes a comma: no fever, no cough, rash.
func (s *scope) open(e effect) {
	s.denied, s.fresh, s.what, s.by = maxDenied, true, nothingYet, e
	s.passes = e != not && (e == denies || !s.refused)
	if e == denies {
		s.denied = math.MaxInt
	}
	s.refused, s.sign = true, 0
}

// settle ends a denial after which something has been said.
func (s *scope) settle() {
	if !s.fresh {
		s.denied = 0
	}
}

// endClause ends the scopes that a verb or a conjunction ends.
func (s *scope) endClause() {
	s.kin, s.uncertain = -1, false
	s.settle()
}

func endClause(_ *Transformer, s *scope, _ int) { s.endClause() }

// apply changes the scope by the trigger of event i.
func (t *Transformer) apply(s *scope, i int) {
	e := &t.events[i]
	if e.traits&nearKin == 0 && s.kin >= 0 && int(e.lex) > s.kin+2 {
		s.kin = -1
	}
	effectRules[e.effect].change(t, s, i)
}

// before returns the change of an effect that gives a status to the words before it; straight before, if only is set.
func before(status Status, only bool) func(*Transformer, *scope, int) {
	return func(t *Transformer, _ *scope, i int) { t.backward(i, status, only) }
}

func denyNext(t *Transformer, s *scope, i int) {
	if t.isLabel(i) || s.denied > 0 && t.is(int(t.events[i].lex), "nor") { // which goes on with a denial
		return
	}
	if t.answers(i) {
		t.backward(i, Negated, false)
		return
	}
	s.open(t.events[i].effect)
}

// endReason ends the denial of what is no finding before the reason for it: no meds for pain.
func endReason(_ *Transformer, s *scope, _ int) {
	if s.what == asideOnly {
		s.denied = 0
	}
}

// denyChange denies a change of a function of the body, or a list that ends with "or"; a finding that does not change
// is there.
func denyChange(t *Transformer, s *scope, i int) {
	if m := t.mentionOf(i + 1); m != nil && (t.isClass(int(m.first), function) || t.endsWithOr(i+1)) {
		s.open(deny)
	}
}

func denyEither(t *Transformer, s *scope, i int) {
	if t.follows(i) && !t.isMark(int(t.events[i].lex)-1, ':') { // complications: none
		s.open(denies)
		return
	}
	t.backward(i, Negated, false)
	t.denyTriad(i)
}

func denyTested(t *Transformer, s *scope, i int) {
	listed := i > 0 && t.events[i-1].kind == comma && t.mentionOf(i+1) != nil // pos etoh, neg drugs
	switch {
	case t.tested(i):
		t.backward(i, Negated, true)
	case t.sought(i, Negated):
	case t.follows(i), listed, t.testFollows(i):
		s.open(negative)
	default:
		t.backward(i, Negated, false)
	}
}

func affirmTested(t *Transformer, s *scope, i int) {
	s.denied, s.sign = 0, 0
	lex := int(t.events[i].lex)
	if s.kin >= 0 && lex <= s.kin+1 && (t.is(lex, "positive", "pos") || t.isMark(lex, '+')) { // sister +ve covid
		giveToKin(t, s, i)
		return
	}
	if !t.sought(i, Affirmed) && (t.tested(i) || t.isMark(lex-1, '?')) { // flu pos, cough? yes
		t.backward(i, Affirmed, true)
	}
}

// doubtNext begins a doubt about what follows in the item. If nothing does, it is about what stands straight before: pe
// suspected.
func doubtNext(t *Transformer, s *scope, i int) {
	if t.endsItem(i) {
		t.backward(i, Uncertain, true)
	}
	lex := int(t.events[i].lex)
	s.uncertain = true
	const near = 4 // lexemes: go to the ed if
	s.planned = t.is(lex, "precautions") || t.is(lex, "if") && t.among(lex-near, lex, seeking)
}

func doubtBoth(t *Transformer, s *scope, i int) {
	near := func(k int) bool { return t.isKind(i+k, "mechanism") }
	if i > 0 && t.kindAt(i-1) == aWord && (near(-2) || near(-3) || near(1)) {
		return // rta car vs lorry, skateboard vs car crash
	}
	t.backward(i, Uncertain, false)
	s.uncertain = true
}

func beginPast(t *Transformer, s *scope, i int) {
	if s.denied > 0 && t.endsItem(i) { // no significant hx, chest pain
		s.denied = 0
		return
	}
	switch {
	case t.current(i), t.headsComplaint(i), t.v.settings.Concepts.speaks("in") && t.isKind(i+1, "mechanism"): // h/o fall
	case t.ownsPast(i):
		t.backward(i, Historical, true)
	default:
		if !t.isListed(int(t.events[i].lex), s.by == denies) { // no fever h/o dm
			s.settle()
		}
		s.history = history{past: true, heading: s.past && s.heading ||
			t.isMark(int(t.events[i].end), ':') || t.isMark(int(t.events[i].end), '-')}
		s.kinHistory = s.another
	}
}

func beginAfter(t *Transformer, s *scope, i int) {
	s.history = history{past: !t.isActivity(int(t.events[i].end)), mechanisms: true}
	s.denied = 0
}

func pastBefore(t *Transformer, s *scope, i int) {
	if t.lastsSince(i) {
		return
	}
	straight := t.unitAt(int(t.events[i].lex)-1) == months    // stroke 2 months ago
	if !t.backward(i, Historical, straight) && t.follows(i) { // resolved rash
		s.history = history{past: true}
	}
}

// endTreatment gives to the past the treatment after the trigger, off lithium, or straight before it: warfarin on hold.
func endTreatment(t *Transformer, s *scope, i int) {
	const near = 2 // mentions
	s.endClause()
	if i > 0 && t.isKind(i-1, "treatment") && !t.is(int(t.events[i].lex), "off", "quit", "ran", "run", "came") {
		t.backward(i, Historical, true)
		return
	}
	s.ceased = near
}

// beginAllergies gives to the past what a patient is allergic to, and the reactions to it.
func beginAllergies(t *Transformer, s *scope, i int) {
	next := int(t.events[i].end)
	switch {
	case t.is(next-1, "to") && s.kin == int(t.events[i].lex) && !t.is(s.kin-2, "per"): // son allergic to nuts
		giveToKin(t, s, i)
	case t.is(next-1, "to"), t.isMark(next, ':'), t.isMark(next, '-'), t.isMark(next, '('):
		s.allergic, s.past = true, false
	case i > 0 && (t.isKind(i-1, "treatment") || t.kindAt(i-1) == aWord): // penicillin allergy
		t.backward(i, Historical, true)
	}
}

func beginOther(t *Transformer, s *scope, i int) {
	s.another, s.family = true, t.is(int(t.events[i].lex), "family", "fhx", "fh")
	s.settle()
}

func exposeTested(t *Transformer, _ *scope, i int) {
	if t.tested(i) { // covid exposure
		t.backward(i, OtherPerson, true)
	}
}

func nameKin(t *Transformer, s *scope, i int) {
	lex := int(t.events[i].lex)
	if i > 0 && t.events[i-1].kind == mentioned && !t.is(lex+1, "of") && // pregnant wife, but pregnant mother of two
		t.is(lex-1, "pregnant", "diabetic", "epileptic", "asthmatic", "autistic", "demented", "disabled") {
		t.backward(i, OtherPerson, true)
	}
	s.kin = int(t.events[i].end)
}

func giveToKin(t *Transformer, s *scope, i int) {
	lex := int(t.events[i].lex)
	and := s.kin - 2 // pt and brother had, she and brother have, pt and her brother have, per mom has
	if t.isClass(and, filler) {
		and--
	}
	with := t.effectAt(and - 1)
	own := t.is(and, "per") || t.is(and, "by") && lex == s.kin || t.is(and, "and") && (with == self || t.is(lex, "have") && with != kin)
	if s.kin >= 0 && lex <= s.kin+1 && !own {
		s.another, s.family, s.kinHistory = true, false, false
	}
	s.kin = -1
	if !s.fresh {
		s.denied, s.past = 0, s.past && (!s.begun || !t.is(lex, "with", "w", "has"))
	}
	if t.is(lex, "with", "w") {
		s.uncertain = false
	}
}

func endByTelling(_ *Transformer, s *scope, _ int) {
	s.endClause()
	s.another = false
}

func returnToPatient(_ *Transformer, s *scope, _ int) {
	s.kin, s.another, s.past = -1, false, s.past && !s.begun
	s.settle()
}

func affirmUntil(t *Transformer, s *scope, i int) {
	if s.denied > 0 && !s.fresh || t.saysDenied(i-1) {
		t.backward(i, Affirmed, false)
	}
	s.denied, s.uncertain, s.kin = 0, false, -1
}

func endAll(t *Transformer, s *scope, i int) {
	lex, person := int(t.events[i].lex), s.kin
	s.endClause()
	if t.takes(lex) && (s.heading || s.another && person == lex) { // pmh: afib on warfarin, fhx: brother on warfarin
		return
	}
	s.past, s.allergic, s.another = false, false, false
}
