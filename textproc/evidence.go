package textproc

import "slices"

// Part is a place of a note that moved a sum over the row's columns and the pieces of its words.
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
// equal shares to its occurrences, a phrase's in equal shares to the concepts and words that it spans, and the
// contribution of the pieces of a word in the last PieceSum to the word. The parts are in the order of the note, do not
// overlap, since tokens do not, and add up to Σ contributions + PieceSum but for rounding. They are appended to
// dst[:0], whose memory is reused.
func (t *Transformer) Parts(dst []Part, contributions []float64) []Part {
	t.shares = slices.Grow(t.shares[:0], len(t.mentions))[:len(t.mentions)]
	clear(t.shares)
	for _, h := range t.hits {
		share := contributions[h.at] / float64(t.counts[h.at])
		if h.from == h.to {
			t.shares[h.from] += share
			continue
		}
		touched := 0
		for i := h.from; i <= h.to; i++ {
			if t.mentions[i].measure == nil {
				touched++
			}
		}
		for i := h.from; i <= h.to; i++ {
			if t.mentions[i].measure == nil {
				t.shares[i] += share / float64(touched)
			}
		}
	}
	dst = dst[:0]
	for i := range t.mentions {
		m, sum := &t.mentions[i], t.shares[i]
		if i < len(t.pieceSums) {
			sum += t.pieceSums[i]
		}
		if sum != 0 {
			dst = slices.Grow(dst, 1)[:len(dst)+1]
			p := &dst[len(dst)-1] // the memory of its terms is used again
			*p = Part{
				Start: int(m.start), End: int(m.end), Contribution: sum, Terms: p.Terms[:0], Status: m.status,
				Printable: true,
			}
			t.describe(p, m)
		}
	}
	return dst
}

// describe fills in the terms of a part and whether it is printable.
func (t *Transformer) describe(p *Part, m *mention) {
	for _, x := range m.terms {
		p.Terms = append(p.Terms, x.text)
	}
	for k := m.first; k < m.last && m.measure == nil; k++ {
		// "Foote" has the stem of "foot" and is a name
		if w := t.lex[k].word; t.lex[k].kind == letters && (w == nil || !w.shared) {
			p.Printable = false
		}
	}
	if !p.Printable && m.entry == nil {
		p.Terms = p.Terms[:0]
	}
}
