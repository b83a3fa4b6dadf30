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
// equal shares to its occurrences, a pair's in equal shares to the findings that it spans, and the contribution of the
// pieces of a word in the last PieceSum to the word. A part is a group; other is the sum of all words that
// are in none. A denial straight before a denied finding is in its part. The parts are in the order of the note,
// do not overlap, since groups do not, and add up, with other, to Σ contributions + PieceSum but for rounding. They are
// appended to dst[:0], whose memory is reused.
func (t *Transformer) Parts(dst []Part, contributions []float64) (parts []Part, other float64) {
	t.gather()
	t.share(contributions)
	parts = dst[:0]
	at, end := 0, 0
	for _, p := range t.groups {
		for ; at < p.from; at++ {
			other += t.shares[at]
		}
		sum := 0.0
		for ; at < p.to; at++ {
			sum += t.shares[at]
		}
		if p.bare {
			other += sum
			continue
		}
		if sum == 0 && !t.mentions[p.head].isDenial() {
			continue
		}
		parts = slices.Grow(parts, 1)[:len(parts)+1]
		part := &parts[len(parts)-1] // the memory of its terms is used again
		*part = Part{
			Start: t.startOf(p.from, end), End: int(t.mentions[p.to-1].end), Contribution: sum,
			Terms: part.Terms[:0], Status: t.mentions[p.head].status, Printable: true,
		}
		end = part.End
		t.describe(part, p.head)
		for i := p.from; i < p.to; i++ {
			if i != p.head && t.mentions[i].standing < linking {
				t.describe(part, i)
			}
		}
	}
	for _, share := range t.shares[at:] {
		other += share
	}
	return parts, other
}

// isDenial reports whether m denies a concept or a word of the vocabulary: "denies okafor" denies no finding.
func (m *mention) isDenial() bool {
	return m.status == Negated && (m.entry != nil || slices.ContainsFunc(m.terms, func(x *term) bool {
		return slices.Max(x.columns[:]) >= 0
	}))
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
		findings := 0
		for i := h.from; i <= h.to; i++ {
			if t.isFinding(i) {
				findings++
			}
		}
		touched := findings
		if findings == 0 {
			touched = int(h.to - h.from + 1)
		}
		for i := h.from; i <= h.to; i++ {
			if findings == 0 || t.isFinding(i) {
				t.shares[i] += share / float64(touched)
			}
		}
	}
}

// isFinding reports whether mention i gets a share of a pair.
func (t *Transformer) isFinding(i int32) bool {
	return t.mentions[i].standing <= place && t.mentions[i].measure == nil
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

// describe adds the terms of mention i to a part, and whether it is printable.
func (t *Transformer) describe(p *Part, i int) {
	m := &t.mentions[i]
	known := t.isKnown(m)
	p.Printable = p.Printable && known
	for _, x := range m.terms {
		if known || m.entry != nil {
			p.Terms = append(p.Terms, x.text)
		}
	}
}

// isKnown reports whether m is written in words of the tables or of several patients, or is a measurement. "Foote" has
// the stem of "foot" and is a name.
func (t *Transformer) isKnown(m *mention) bool { return t.all(m, (*word).isKnown) }

// isCommon reports whether m is known, or written in words that are hardly names.
func (t *Transformer) isCommon(m *mention) bool {
	return t.all(m, func(w *word) bool { return w.isKnown() || commonWords()[w.raw] })
}

func (t *Transformer) all(m *mention, is func(w *word) bool) bool {
	return m.measure != nil || !slices.ContainsFunc(t.lex[m.first:m.last], func(l lexeme) bool {
		return l.kind == letters && (l.word == nil || !is(l.word))
	})
}

func (w *word) isKnown() bool { return w.shared || w.standing != nameable }
