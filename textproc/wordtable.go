package textproc

import (
	"encoding/binary"
	"hash/maphash"
)

// table maps folded words to their resolved form, by open addressing at a load of at most one half. A word of up to
// eight bytes is its own key, so that finding it touches one slot and nothing else: lookups are most of the cost of a
// row.
type table struct {
	seed   maphash.Seed
	factor uint64 // odd, random: spreads keys so that an attacker cannot choose words that collide
	shift  int
	slots  []slot // 1 << (64 - shift)
	used   int
}

type slot struct {
	key  uint64
	word *word // nil in an empty slot
}

func newTable() table {
	seed := maphash.MakeSeed()
	return table{seed: seed, factor: maphash.Bytes(seed, nil) | 1, shift: 64 - 6, slots: make([]slot, 1<<6)}
}

// key returns the bytes of a short word, or a hash. raw must have a capacity of eight bytes.
func (t *table) key(raw []byte) uint64 {
	if n := len(raw); n <= 8 {
		return binary.LittleEndian.Uint64(raw[:8]) & (1<<(8*n) - 1)
	}
	return maphash.Bytes(t.seed, raw)
}

func (t *table) lookup(raw []byte) *word {
	key := t.key(raw)
	for i := int(key * t.factor >> t.shift); ; i = (i + 1) & (len(t.slots) - 1) {
		s := &t.slots[i]
		if s.word == nil || s.key == key && len(s.word.raw) == len(raw) &&
			(len(raw) <= 8 || s.word.raw == string(raw)) {
			return s.word
		}
	}
}

func (t *table) has(raw string) bool {
	var folded [maxWord]byte
	return len(raw) <= maxWord && t.lookup(folded[:copy(folded[:], raw)]) != nil
}

// insert adds a word that is not in the table.
func (t *table) insert(w *word) {
	if 2*t.used >= len(t.slots) {
		old := t.slots
		t.shift--
		t.slots = make([]slot, 2*len(old))
		for _, s := range old {
			if s.word != nil {
				t.place(s)
			}
		}
	}
	var raw [maxWord]byte
	t.place(slot{t.key(raw[:copy(raw[:], w.raw)]), w})
	t.used++
}

func (t *table) place(s slot) {
	i := int(s.key * t.factor >> t.shift)
	for t.slots[i].word != nil {
		i = (i + 1) & (len(t.slots) - 1)
	}
	t.slots[i] = s
}

func (t *table) all() []*word {
	all := make([]*word, 0, t.used)
	for _, s := range t.slots {
		if s.word != nil {
			all = append(all, s.word)
		}
	}
	return all
}

func (t *table) clear() {
	clear(t.slots)
	t.used = 0
}
