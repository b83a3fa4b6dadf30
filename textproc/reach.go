package textproc

import "strings"

// farthest is how many events around a trigger are searched for the mention that it is about.
const farthest = 16

// closes reports whether the sign of event i is about the mention straight before it: not the n of n-. A minus needs a
// concept, and one that takes a result, or the end of the item, or other signs after words: in "scalp- mom states" it
// is a dash.
func (t *Transformer) closes(i int) bool {
	e, m := &t.events[i], t.mentionOf(i-1)
	switch {
	case m == nil || m.measure != nil || m.last != e.lex:
		return false
	case e.kind == plusBefore || m.isTest() || t.lex[e.lex].c == '(':
		return true
	case m.entry == nil || m.entry.Kind == "anatomy":
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

// answers reports whether the denial of event i is the answer in "fever: no", or in "fever no, cough yes": it stands
// behind a finding, and up to the end of the item only findings with an answer each follow. In "cough no fever no rash"
// it stands before a finding.
func (t *Transformer) answers(i int) bool {
	e := &t.events[i]
	if (t.isMark(int(e.lex)-1, ':') || t.isMark(int(e.lex)-1, '?')) &&
		(int(e.end) >= len(t.lex) || t.lex[e.end].kind == mark) {
		return true
	}
	if !t.isAnswer(i) || !t.asked(i) {
		return false
	}
	for k := i + 1; k < len(t.events); k++ {
		switch next := &t.events[k]; {
		case next.kind == comma || next.kind == ended || next.kind == bracket || next.kind >= listOpened,
			t.is(int(next.lex), "but"):
			return next.lex == t.events[k-1].end // not felt no p
		case k >= i+farthest || next.kind != mentioned:
			return false
		}
		for k < len(t.events) && (t.events[k].kind == mentioned || t.asks(k)) {
			k++
		}
		if k == len(t.events) || !t.isAnswer(k) {
			return false
		}
	}
	return int(t.events[len(t.events)-1].end) == len(t.lex)
}

func (t *Transformer) isAnswer(i int) bool {
	return t.events[i].kind == triggered && t.is(int(t.events[i].lex), "no", "nil", "yes", "n", "y")
}

// asks reports whether event i is the mark between a question and its answer.
func (t *Transformer) asks(i int) bool {
	return t.events[i].kind == colon || t.events[i].kind == dash ||
		t.events[i].kind == triggered && t.isMark(int(t.events[i].lex), '?')
}

// asked reports whether a finding stands straight before event i, but for a mark.
func (t *Transformer) asked(i int) bool {
	at, lex := i-1, t.events[i].lex
	if at >= 0 && t.asks(at) {
		at--
	}
	m := t.mentionOf(at)
	return m != nil && m.measure == nil && (m.last == lex || m.last == lex-1 && t.lex[lex-1].kind == mark)
}

// follows reports whether something is mentioned between event i and the end of its item.
func (t *Transformer) follows(i int) bool {
	for _, e := range t.events[i+1 : min(len(t.events), i+1+farthest)] {
		switch e.kind {
		case mentioned:
			m := &t.mentions[e.mention]
			return m.measure == nil && (m.entry != nil || t.events[i].effect == denied)
		case comma, dash, ended, listOpened, listItem, listLine:
			return false
		case triggered:
			if e.traits&keepsTerm != 0 {
				return false
			}
		}
	}
	return false
}

// tested reports whether a test or what it looks for stands straight before event i.
func (t *Transformer) tested(i int) bool {
	at := i - 1
	for at >= max(0, i-farthest) && (t.events[at].kind == colon || t.events[at].kind == dash ||
		t.events[at].traits&keepsTerm != 0) {
		at--
	}
	m := t.mentionOf(at)
	return m != nil && m.isTest()
}

// current reports whether the word for the past at event i does not mean the past: a duration before it makes "h/o"
// mean "for" (2 day h/o cough), and "prior to" is not "prior".
func (t *Transformer) current(i int) bool {
	lex := int(t.events[i].lex)
	if t.is(lex, "prior") && t.is(int(t.events[i].end), "to") || t.datedNow(i) {
		return true
	}
	m := t.mentionOf(i - 1)
	return m != nil && m.measure == duration && !t.is(lex, "pmh", "pmhx", "previous", "previously")
}

// datedNow reports whether what follows the word for the past at event i has lasted up to now, or happened today:
// history of chest pain since this morning, hx of fever x 3 days. A chronic disease is of the past all the same.
func (t *Transformer) datedNow(i int) bool {
	first := true
	for _, e := range t.events[i+1 : min(len(t.events), i+1+farthest)] {
		switch e.kind {
		case mentioned:
			m := &t.mentions[e.mention]
			switch {
			case first && m.entry != nil && m.entry.Kind == "history", t.isClass(int(m.first), acting):
				return false
			case m.measure == duration:
				return m.terms[0] != t.v.typed[duration.first+len(duration.limits)] // the longest
			case t.isClass(int(m.first), recently):
				return true
			}
			first = first && m.entry == nil
		case triggered:
			switch {
			case t.isClass(int(e.lex), recently):
				return true
			case e.effect == stops, e.effect == has, e.traits&begins != 0:
				return false
			}
		case comma, dash, ended, listOpened, listItem, listLine:
			return false
		}
	}
	return false
}

// headsComplaint reports whether the word for the past at event i is a heading of what has happened: hx: fell.
func (t *Transformer) headsComplaint(i int) bool {
	return t.is(int(t.events[i].lex), "hx", "history") && i+1 < len(t.events) && t.events[i+1].kind == colon &&
		t.isKind(i+2, "symptom", "mechanism")
}

// ownsPast reports whether the word for the past at event i is about the finding straight before it: seizure hx.
func (t *Transformer) ownsPast(i int) bool {
	e, m := &t.events[i], t.mentionOf(i-1)
	return e.end == e.lex+1 && t.is(int(e.lex), "hx", "history") && m != nil && m.measure == nil && m.last == e.lex &&
		(t.mentionOf(i+1) == nil || t.events[i+1].lex != e.end)
}

// sought gives a status to what the test before event i looked for: PCR for norovirus is negative. It returns false if
// there is none: a symptom behind "for" is why the test was done.
func (t *Transformer) sought(i int, status Status) bool {
	for k := i - 1; k >= max(0, i-farthest); k-- {
		e := &t.events[k]
		switch {
		case e.kind == triggered && t.is(int(e.end)-1, "for"):
			if !t.among(int(e.lex)-2, int(e.end), looking) || t.isKind(k+1, "symptom") {
				return false
			}
			for k++; t.events[k].kind == mentioned; k++ {
				t.setStatus(&t.mentions[t.events[k].mention], status)
			}
			t.scope.uncertain = false
			return true
		case e.kind != mentioned && e.kind != joined && e.traits&keepsTerm == 0:
			return false
		}
	}
	return false
}

// endsItem reports whether nothing is mentioned between event i and the end of its item.
func (t *Transformer) endsItem(i int) bool {
	for _, e := range t.events[i+1 : min(len(t.events), i+1+farthest)] {
		switch e.kind {
		case comma, dash, ended, bracket, listOpened, listItem, listLine:
			return true
		case mentioned:
			return false
		}
	}
	return true
}

// testFollows reports whether a test or what it looks for follows event i, with words between: negative home covid
// test.
func (t *Transformer) testFollows(i int) bool {
	const words = 3
	for k := i + 1; k <= i+words; k++ {
		if m := t.mentionOf(k); m == nil || m.isTest() {
			return m != nil
		}
	}
	return false
}

// isLabel reports whether "no" of event i means number: room no 4, NHS no. 485.
func (t *Transformer) isLabel(i int) bool {
	at, next := int(t.events[i].lex), int(t.events[i].end)
	if !t.is(at, "no") {
		return false
	}
	labelled := t.isClass(at-1, numbered)
	if t.isMark(next, '.') || t.isMark(next, ':') {
		return labelled || t.isNumber(next+1) && t.lex[next+1].glued
	}
	return labelled || t.isNumber(next) && t.unitAt(next+1) == noUnit && !t.isMark(next+1, '/')
}

// backward gives a status to the mentions before event i: the nearest concept of the sentence, else the nearest word,
// and the mentions that a slash, "and" or "or" joins to it. Another person's mention is not changed. If only is set,
// the mention must be straight before. backward returns false if there is none.
func (t *Transformer) backward(i int, status Status, only bool) bool {
	at, word := -1, -1
search:
	for k, seen := i-1, 0; k >= max(0, i-farthest) && seen < 4; k-- {
		e := &t.events[k]
		switch e.kind {
		case ended, listOpened, listItem, listLine:
			break search
		case comma, dash:
			if at >= 0 || word >= 0 || only {
				break search
			}
		case joined: // pmh: copd / allergies: none
			if lex := int(e.lex); word >= 0 && !t.lex[lex].glued && !t.lex[lex+1].glued {
				break search
			}
		case mentioned:
			m := &t.mentions[e.mention]
			if m.measure != nil {
				continue
			}
			seen++
			if m.entry != nil || only {
				at = k
				break search
			}
			if word < 0 && !t.is(int(m.first), "appears", "appear", "appeared", "seems", "seem", "seemed") {
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
		m := &t.mentions[t.events[at].mention]
		if m.status != OtherPerson {
			t.setStatus(m, status)
		}
		before := int(m.first) - 1
		if at == 0 || t.events[at-1].kind != joined && !t.is(before, "and", "or") &&
			(t.events[at-1].kind != mentioned || !t.isMark(before, '#')) { // the # of a fracture: #NOF
			return true
		}
		for at--; at >= 0 && t.events[at].kind != mentioned; at-- {
			switch t.events[at].kind {
			case comma, ended, triggered, minusBefore, plusBefore, listOpened, listItem, listLine: // n+/v-
				return true
			}
		}
		if at < 0 {
			return true
		}
	}
	return true
}

// isActivity reports whether the word at lexeme i is an activity: s/p lifting boxes, s/p accidentally kicked.
func (t *Transformer) isActivity(i int) bool {
	w := t.wordAt(i)
	return w != nil && (w.class&acting != 0 || endsIn(w.raw, "ing", "ly"))
}

// isListed reports whether what begins at lexeme i is joined to what stands before it; and joins a verb to a denial
// only in a list of denials.
func (t *Transformer) isListed(i int, listing bool) bool {
	return t.is(i-1, "or") || t.isMark(i-1, ',') || t.isMark(i-1, '/') ||
		listing && (t.is(i-1, "and") || t.isMark(i-1, '&'))
}

// denyTriad denies all of "SI, HI, AVH denied": the findings in a list before event i that nurses ask for together.
func (t *Transformer) denyTriad(i int) {
	for k := i - 1; k >= max(0, i-farthest); k-- {
		switch e := &t.events[k]; e.kind {
		case comma, dash, joined:
		case mentioned:
			m := &t.mentions[e.mention]
			if m.entry == nil || m.measure != nil {
				return
			}
			switch m.entry.Name {
			case "suicidal_ideation", "homicidal_ideation", "suicidal_ideation+homicidal_ideation", "hallucinations":
				t.setStatus(m, Negated)
			default:
				return
			}
		default:
			return
		}
	}
}

// saysDenied reports whether event i is a concept that denies by itself: afebrile.
func (t *Transformer) saysDenied(i int) bool {
	m := t.mentionOf(i)
	return m != nil && m.entry != nil && m.entry.denied && m.status == Negated
}
