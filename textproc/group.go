package textproc

import (
	"slices"
	"strings"
)

// group is a part of an explanation: neighbouring words of one status with at most one finding of the tables, and the
// short words that link them. Apart they would say something else: brisk reflexes, coffee table, rash on the chest.
type group struct {
	from, to int // mentions
	head     int // the mention of the finding; else the first that is not bare
	words    int // without places and what links
	finding  bool
	places   bool // nothing but places, sides and what is no finding alone
	bare     bool // nothing that is a finding alone
	alone    bool // joins no other: a measurement, a word that may be a name
	closed   bool // nothing that follows joins it, unless it is bare: primary md
}

// Bounds of a group. Notes may have no marks at all.
const (
	groupWords = 5
	groupBytes = 60
)

// gather fills t.groups. Neighbours are joined first, from behind, since what stands before a finding belongs to it;
// then lists of places, what "of" links, what other words link, and at last a place and what was noted there.
func (t *Transformer) gather() {
	t.groups = t.groups[:0]
	for i := len(t.mentions) - 1; i >= 0; i-- {
		m := &t.mentions[i]
		if m.standing = t.standing(m); m.standing >= linking {
			continue
		}
		strange := t.hasCapital(int(m.first)) && !t.inflected(int(m.first)) && m.entry == nil && !t.isCommon(m)
		p := group{
			from: i, to: i + 1, head: i,
			finding: m.standing == apart || m.standing == nameable && m.entry != nil,
			places:  m.standing >= place,
			bare:    m.standing >= bare,
			alone:   m.measure != nil || strange,
			closed: m.measure != nil || m.standing == apart || m.standing == last ||
				m.entry != nil && m.entry.Kind == "admin",
		}
		if m.standing < place {
			p.words = 1
		}
		if next := len(t.groups) - 1; next >= 0 {
			q := &t.groups[next]
			if t.touch(p, *q) && (t.fit(p, *q) && !t.ends(p, *q) || p.closed && q.bare && !(p.alone && t.begins(*q))) {
				*q = p.with(*q)
				continue
			}
		}
		t.groups = append(t.groups, p)
	}
	slices.Reverse(t.groups)
	t.join((*Transformer).listed)
	t.join((*Transformer).of)
	t.join((*Transformer).by)
	t.join(func(t *Transformer, p, q group) bool { return t.links(p, q, linking) })
	t.join(func(t *Transformer, p, q group) bool {
		return !p.bare && q.places && !t.begins(q) && t.links(p, q, unnamed)
	})
	t.join(func(t *Transformer, p, q group) bool { return p.places && !p.bare && !q.bare && t.links(p, q, unnamed) })
	t.join((*Transformer).says)
	t.groups = slices.DeleteFunc(t.groups, func(p group) bool { return p.bare })
	for _, marks := range []string{",&-/@+\"", ",&-/@+\"*();[]"} {
		t.join(func(t *Transformer, p, q group) bool { return (p.isPlace() || q.isPlace()) && t.near(p, q, marks) })
	}
}

// ends reports whether q, which p touches, is of another clause: arm MD said; inj ankle fell; off bed hit head; onto
// wall dizzy.
func (t *Transformer) ends(p, q group) bool {
	first := int(t.mentions[p.from].first)
	if p.isPlace() {
		return q.closed || p.from > 0 && int(t.mentions[p.from-1].last) == first && t.begins(q)
	}
	if t.is(first-1, "a", "an", "the", "his", "her", "their") {
		first--
	}
	at, e := first-1, t.mentions[q.head].entry
	stated := e != nil && q.head == q.from && (e.Kind == "symptom" || e.Kind == "finding")
	return !p.bare && !p.finding && (t.is(at, "onto", "into", "against", "off", "on", "at", "over", "down") &&
		(stated || t.begins(q)) || t.is(at, "of", "in", "from") && t.begins(q))
}

// begins reports whether q begins with a verb, which stands at the head of a clause where notes have no marks.
func (t *Transformer) begins(q group) bool {
	first := int(t.mentions[q.from].first)
	return t.mentions[q.from].standing == light || t.isClass(first, acting) || t.is(first, "hitting", "striking",
		"landing", "falling", "twisting", "injuring", "causing")
}

// isPlace reports whether p is a place without what is there.
func (p group) isPlace() bool { return p.places && !p.bare }

// join joins neighbouring groups that fit and pass.
func (t *Transformer) join(pass func(t *Transformer, p, q group) bool) {
	kept := t.groups[:0]
	for _, q := range t.groups {
		if last := len(kept) - 1; last >= 0 && t.fit(kept[last], q) && pass(t, kept[last], q) {
			place := kept[last].isPlace() && !q.finding && t.of(kept[last], q) // site of injection
			if !q.closed || kept[last].bare || place {
				kept[last] = kept[last].with(q)
				kept[last].places, kept[last].closed = kept[last].places || place, kept[last].closed && !place
				continue
			}
		}
		kept = append(kept, q)
	}
	t.groups = kept
}

// fit reports whether q may join p, the group before it.
func (t *Transformer) fit(p, q group) bool {
	open := !p.closed || q.isPlace() && (t.begins(q) || t.links(p, q, linking)) // vax in left arm
	return !p.alone && open && !q.alone && !(p.finding && q.finding) && p.words+q.words <= groupWords &&
		t.hasStatus(p, q) &&
		(q.places || t.mentions[q.to-1].end-t.mentions[p.from].start <= groupBytes)
}

// hasStatus reports whether q has the status of p, or is its place: poss palsy on left side of face.
func (t *Transformer) hasStatus(p, q group) bool {
	status := t.mentions[p.head].status
	return status == t.mentions[q.head].status || status != Negated && q.isPlace() && !p.isPlace() &&
		t.links(p, q, unnamed)
}

func (p group) with(q group) group {
	if q.finding || p.bare && !q.bare {
		p.head = q.head
	}
	p.to, p.words, p.finding, p.alone = q.to, p.words+q.words, p.finding || q.finding, p.alone || q.alone
	p.places, p.bare, p.closed = p.places && q.places, p.bare && q.bare, p.closed || q.closed
	return p
}

// between returns the lexemes from the end of p to q.
func (t *Transformer) between(p, q group) (from, to int) {
	return int(t.mentions[p.to-1].last), int(t.mentions[q.from].first)
}

// touch reports whether nothing stands between p and q but a hyphen, a slash or an ordinal number.
func (t *Transformer) touch(p, q group) bool {
	i, end := t.between(p, q)
	for i < end {
		switch {
		case t.isMark(i, '-') && t.lex[i].glued && t.lex[i+1].glued && !t.begins(q), // red-went to er
			t.isMark(i, '/') && t.lex[i].glued && t.lex[i+1].glued, t.isMark(i, '"') && t.lex[i-1].kind == letters:
			i++
		case t.isOrdinal(i):
			i += 2
		case t.isMark(i, '.') && t.lex[i-1].word != nil && t.lex[i-1].word.standing == beside: // lt. knee
			i++
		default:
			return false
		}
	}
	return i == end
}

func (t *Transformer) isOrdinal(i int) bool {
	return t.isNumber(i) && t.is(i+1, "st", "nd", "rd", "th") && t.lex[i+1].glued
}

// links reports whether up to four words that begin no clause stand between p and q, of at most the standing most.
func (t *Transformer) links(p, q group, most standing) bool {
	const near = 4
	from, end := t.between(p, q)
	for i := from; i < end; i++ {
		if t.isMark(i, '/') && t.is(i-1, "w") || t.isMark(i, '@') {
			continue
		}
		if w := t.lex[i].word; t.lex[i].kind != letters || w == nil || w.standing < beside || w.standing > most ||
			t.is(i, "and", "or") || t.turns(i) ||
			i == end-1 && t.is(i, "pt") && (q.bare || t.begins(q)) { // dtp pt turned
			return false
		}
	}
	return from < end && end-from <= near
}

// turns reports whether lexeme i begins another clause.
func (t *Transformer) turns(i int) bool {
	return t.is(i, "when", "while", "who") || t.is(i, "then") && !t.is(i+1, "to") ||
		t.is(i, "but") && !t.is(i+1, "especially", "mostly", "mainly", "only", "also")
}

// says reports whether q says how p is: color has returned, biopsy was inconclusive.
func (t *Transformer) says(p, q group) bool {
	from, end := t.between(p, q)
	return !p.bare && !t.begins(q) && t.links(p, q, unnamed) &&
		t.is(from, "is", "are", "was", "were", "has", "have", "had") &&
		(end == from+1 && !t.is(from, "has", "have", "had") || t.is(end-1, "been", "very", "being"))
}

// near reports whether no more than a few words that are no finding and some marks stand between p and q.
func (t *Transformer) near(p, q group, marks string) bool {
	const farthest = 10
	from, end := t.between(p, q)
	for i := from; i < end; i++ {
		if w := t.lex[i].word; t.lex[i].kind == mark && strings.IndexByte(marks, t.lex[i].c) < 0 ||
			t.turns(i) || t.lex[i].kind == letters && (w == nil || w.standing < bare) && !t.isOrdinal(i-1) &&
			!t.is(i, "x") {
			return false
		}
	}
	return end-from <= farthest
}

// of reports whether "of" stands behind p.
func (t *Transformer) of(p, q group) bool {
	i, _ := t.between(p, q)
	return t.is(i, "of") && t.links(p, q, linking)
}

// by reports whether q is what did p: hit in head by another player's elbow.
func (t *Transformer) by(p, q group) bool {
	i, _ := t.between(p, q)
	return t.is(i, "by") && t.links(p, q, unnamed)
}

// listed reports whether p and q are a list of places or sides, or of what is there: upper & lower arms, head and neck
// pain.
func (t *Transformer) listed(p, q group) bool {
	from, end := t.between(p, q)
	i := from
	if t.isMark(i, ',') && i+1 < end {
		i++
	}
	if i+1 != end || !t.is(i, "and") && !t.isMark(i, '&') && !t.isMark(i, ',') && !t.isMark(i, '/') {
		return false
	}
	last, first := t.placeAt(from-1, p.to-1), t.placeAt(end, q.from)
	return last == beside && first == beside || last != nameable && first != nameable && (p.places || q.places)
}

// placeAt returns whether lexeme i of a mention is a place or a side; nameable if it is neither.
func (t *Transformer) placeAt(i, of int) standing {
	for _, is := range []standing{t.mentions[of].standing, t.lex[i].word.standing} {
		if is == place || is == beside {
			return is
		}
	}
	return nameable
}
