package textproc

import "slices"

// Part is a place of a note that moved a sum over the row's columns and the pieces of its words, or a denied finding,
// whatever it adds.
type Part struct {
	Start, End   int // bytes of the note
	Contribution float64
	Terms        []string // as in Token; none for a word that only its pieces represent
	Status       Status
	// Printable reports that every word of the part is a surface of the vocabulary, a stop word or in the concepts, as
	// it is written, so that a part with a name of this patient alone is not printed.
	Printable bool
}

// Parts distributes the contributions of the last Row over the note: contributions[c] of column row.Columns[c] goes in
// equal shares to its occurrences, a phrase's in equal shares to the findings that it spans, and the contribution of
// the pieces of a word in the last PieceSum to the word. What is no finding (see concepts/style.tsv) is no part, unless
// it belongs to the finding beside it; other is its sum. A denial straight before a denied finding is in its part. The
// parts are in the order of the note, do not overlap, since tokens do not, and add up, with other, to Σ contributions +
// PieceSum but for rounding. They are appended to dst[:0], whose memory is reused.
func (t *Transformer) Parts(dst []Part, contributions []float64) (parts []Part, other float64) {
	t.settle()
	t.share(contributions)
	parts = dst[:0]
	for i, end := 0, 0; i < len(t.mentions); {
		if t.mentions[i].standing == unnamed {
			other += t.shares[i]
			i++
			continue
		}
		first, sum := i, 0.0
		for t.mentions[i].standing == withNext {
			i++
		}
		head := i
		for i++; i < len(t.mentions) && t.mentions[i].standing == withLast; {
			i++
		}
		for _, share := range t.shares[first:i] {
			sum += share
		}
		if sum == 0 && !t.mentions[head].isDenial() {
			continue
		}
		parts = slices.Grow(parts, 1)[:len(parts)+1]
		p := &parts[len(parts)-1] // the memory of its terms is used again
		*p = Part{
			Start: t.startOf(first, end), End: int(t.mentions[i-1].end), Contribution: sum, Terms: p.Terms[:0],
			Status: t.mentions[head].status, Printable: true,
		}
		end = p.End
		t.describe(p, &t.mentions[head])
		for k := first; k < i; k++ {
			if k != head {
				t.describe(p, &t.mentions[k])
			}
		}
	}
	return parts, other
}

// settle fills in the standing of each mention. A side or a direction that touches no finding belongs to none.
func (t *Transformer) settle() {
	for i := range t.mentions {
		m := &t.mentions[i]
		m.standing = t.standing(m)
		if m.standing == withLast && !(i > 0 && t.isPart(i-1, withLast) && t.mentions[i-1].last == m.first) {
			m.standing = unnamed
		}
	}
	for i := len(t.mentions) - 1; i >= 0; i-- {
		m := &t.mentions[i]
		if m.standing == withNext &&
			!(i+1 < len(t.mentions) && t.isPart(i+1, withNext) && t.mentions[i+1].first == m.last) {
			m.standing = unnamed
		}
	}
}

// isDenial reports whether m denies a concept or a word of the vocabulary: "denies okafor" denies no finding.
func (m *mention) isDenial() bool {
	return m.status == Negated && (m.entry != nil || slices.ContainsFunc(m.terms, func(x *term) bool {
		return slices.Max(x.columns[:]) >= 0
	}))
}

// isPart reports whether mention i is a finding that is no number, or belongs to one as is says.
func (t *Transformer) isPart(i int, is standing) bool {
	m := &t.mentions[i]
	return m.measure == nil && (m.standing == nameable || m.standing == is)
}

// share fills in what each mention adds.
func (t *Transformer) share(contributions []float64) {
	t.shares = slices.Grow(t.shares[:0], len(t.mentions))[:len(t.mentions)]
	clear(t.shares)
	copy(t.shares, t.pieceSums) // none before a PieceSum
	for _, h := range t.hits {
		share := contributions[h.at] / float64(t.counts[h.at])
		if h.from == h.to {
			t.shares[h.from] += share
			continue
		}
		least := unnamed // to take part
		touched := 0
		for i := h.from; i <= h.to; i++ {
			switch m := &t.mentions[i]; {
			case m.measure != nil:
			case m.standing == nameable && least != nameable:
				least, touched = nameable, 1
			case m.standing == nameable || least != nameable:
				touched++
			}
		}
		for i := h.from; i <= h.to; i++ {
			if m := &t.mentions[i]; m.measure == nil && (m.standing == nameable || least != nameable) {
				t.shares[i] += share / float64(touched)
			}
		}
	}
}

// startOf returns the byte of the note at which a part begins with a mention, or with the denial straight before it,
// but not before byte end.
func (t *Transformer) startOf(i, end int) int {
	m := &t.mentions[i]
	if m.status != Negated {
		return int(m.start)
	}
	for _, e := range t.events {
		if e.kind == triggered && e.end == m.first && (e.effect == deny || e.effect == denies || e.effect == not) &&
			(i == 0 || t.mentions[i-1].last <= e.lex) {
			start := int(t.lex[e.lex].start)
			if t.folded {
				start = t.folder.start[start]
			}
			return max(start, end)
		}
	}
	return int(m.start)
}

// describe adds the terms of a mention to a part, and whether it is printable.
func (t *Transformer) describe(p *Part, m *mention) {
	known := true
	for k := m.first; k < m.last && m.measure == nil; k++ {
		// "Foote" has the stem of "foot" and is a name
		w := t.lex[k].word
		known = known && (t.lex[k].kind != letters || w != nil && (w.shared || w.standing != nameable))
	}
	p.Printable = p.Printable && known
	for _, x := range m.terms {
		if known || m.entry != nil {
			p.Terms = append(p.Terms, x.text)
		}
	}
}
