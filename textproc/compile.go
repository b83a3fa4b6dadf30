package textproc

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	porter "github.com/kljensen/snowball/english"
)

// compile builds the tree of surfaces.
func (v *Vectorizer) compile(c *Concepts) error {
	v.typed = make([]*term, measureTerms)
	for _, m := range measures {
		for i, r := range m.ranges {
			if r == "" {
				continue
			}
			t := v.term(m.name + ":" + r)
			v.typed[m.first+i] = t
			if m.child {
				t.child = v.term("child:" + m.name + ":" + r)
			}
		}
	}
	entries, err := v.entries(c)
	if err != nil {
		return err
	}
	v.names = make(map[string]bool)
	for text := range v.terms {
		v.names[text] = true
	}
	several := make(map[string]*entry)
	for _, s := range c.Senses {
		e := several[s.Surface]
		if e == nil {
			e = &entry{text: s.Surface}
			several[s.Surface] = e
		}
		x := sense{before: s.Where == "before" || s.Where == "near", after: s.Where == "after" || s.Where == "near", window: s.Window}
		switch s.Sense {
		case "=":
		case "-":
			x.entry = &entry{dropped: true}
		default:
			if x.entry, err = v.combined(entries, s.Sense); err != nil {
				return fmt.Errorf("sense of %q: %w", s.Surface, err)
			}
		}
		if s.Cues != nil {
			x.cues = make(map[string]bool)
			for _, cue := range s.Cues {
				x.cues[cue] = true
				x.slashes = x.slashes || len(cue) > 1 && strings.Contains(cue, "/") && !strings.Contains(cue, "#")
			}
		}
		e.senses = append(e.senses, x)
	}
	for i := range c.Concepts {
		for _, s := range c.Concepts[i].Surfaces {
			e := entries[c.Concepts[i].Name]
			if raw, starred := strings.CutSuffix(s, "*"); starred {
				if s, e = raw, several[raw]; e == nil {
					return fmt.Errorf("surface %q of %q is marked * and has no sense", raw, c.Concepts[i].Name)
				}
			}
			if err := v.insert(s, func(old *entry) (*entry, error) {
				if old != nil && old != e {
					return nil, fmt.Errorf("surface %q belongs to %q and %q", s, old.text, c.Concepts[i].Name)
				}
				return e, nil
			}); err != nil {
				return err
			}
		}
	}
	for i := range c.Concepts {
		for _, s := range c.Concepts[i].Surfaces {
			v.join(s)
		}
	}
	for _, s := range c.Triggers {
		if effects[s.Effect] == acts {
			v.keep(s.Surface).class |= acting
			continue
		}
		if err := v.insert(s.Surface, func(old *entry) (*entry, error) {
			e := &entry{text: s.Surface}
			if old != nil {
				*e = *old
			} else if s.Concept != "" {
				if entries[s.Concept] == nil {
					return nil, fmt.Errorf("trigger %q: no concept %q", s.Surface, s.Concept)
				}
				*e = *entries[s.Concept]
			}
			e.effect = effects[s.Effect]
			return e, nil
		}); err != nil {
			return err
		}
	}
	for _, m := range measures {
		for _, key := range m.keys {
			if err := v.insert(key, func(old *entry) (*entry, error) {
				e := &entry{text: key}
				if old != nil {
					*e = *old
				}
				e.measure = m
				return e, nil
			}); err != nil {
				return err
			}
		}
	}
	// What has been kept so far are the words that others may be misspellings of.
	known := make([]*word, 0, v.words.used)
	for _, s := range v.words.slots {
		if s.word != nil {
			known = append(known, s.word)
		}
	}
	slices.SortFunc(known, func(a, b *word) int { return strings.Compare(a.raw, b.raw) })
	for raw := range classes {
		v.keep(raw)
	}
	v.speller.deletes = make(map[string][]*word)
	for _, w := range known {
		v.speller.add(w)
	}
	return nil
}

// entries returns the entry of each concept by its name.
func (v *Vectorizer) entries(c *Concepts) (map[string]*entry, error) {
	entries := make(map[string]*entry, len(c.Concepts))
	for i := range c.Concepts {
		x := &c.Concepts[i]
		e := &entry{kind: x.Kind, test: x.Test, ends: x.Ends, dropped: x.Dropped, text: x.Name}
		name, denied := strings.CutPrefix(x.Name, prefixes[Negated])
		e.denied = denied
		if !x.Dropped {
			for t := range strings.SplitSeq(name, "+") {
				e.terms = append(e.terms, v.term(t))
			}
		}
		entries[x.Name] = e
	}
	for i := range c.Concepts {
		e := entries[c.Concepts[i].Name]
		for _, part := range c.Concepts[i].Parts {
			if entries[part] == nil {
				part = porter.Stem(part, true)
			}
			e.terms = append(e.terms, v.term(part))
			e.parts++
		}
	}
	return entries, nil
}

// combined returns the entry of a concept, or of several joined by +.
func (v *Vectorizer) combined(entries map[string]*entry, names string) (*entry, error) {
	if e := entries[names]; e != nil {
		return e, nil
	}
	var all *entry
	for name := range strings.SplitSeq(names, "+") {
		e := entries[name]
		if e == nil && name == "right_eye" {
			e = &entry{kind: "anatomy", text: name, terms: []*term{v.term("side:right"), v.term("eye")}}
		}
		switch {
		case e == nil:
			return nil, fmt.Errorf("no concept %q", name)
		case all == nil:
			copied := *e
			copied.terms = slices.Clone(e.terms)
			all = &copied
		default:
			all.terms = append(all.terms, e.terms...)
		}
	}
	return all, nil
}

// piece is a word, number or mark of a surface.
type piece struct {
	raw   string
	glued bool // it has to touch the one before it
}

// split splits a surface as the scanner splits a note. Hyphens and small words inside are left out, as they are in notes.
func split(surface string) []piece {
	var all []piece
	last := 0 // kind of the last rune: 0 space, 1 letter, 2 digit, 3 mark
	for _, r := range surface {
		kind := 3
		switch {
		case unicode.IsLetter(r) || unicode.IsMark(r):
			kind = 1
		case r >= '0' && r <= '9':
			kind = 2
		case unicode.IsSpace(r):
			kind = 0
		case r == '\'':
			continue
		}
		switch {
		case kind == 0:
		case kind == last && kind != 3:
			all[len(all)-1].raw += string(r)
		default:
			all = append(all, piece{string(r), last+kind == 3 && last > 0})
		}
		last = kind
	}
	if n := len(all); n > 1 && all[n-1].raw == "." {
		all = all[:n-1]
	}
	kept := all[:0]
	for i, p := range all {
		if inner := i > 0 && i < len(all)-1; inner && (p.raw == "-" || classes[p.raw]&filler != 0) {
			continue
		}
		kept = append(kept, p)
	}
	return kept
}

// insert puts a surface into the tree; entry gets what is there, or nil, and returns what shall be there.
func (v *Vectorizer) insert(surface string, change func(*entry) (*entry, error)) error {
	all := split(surface)
	var n *node
	for i, p := range all {
		w := v.piece(p.raw)
		if w == nil {
			return fmt.Errorf("surface %q: a word is longer than %d bytes", surface, maxWord)
		}
		if i == 0 {
			if w.node == nil {
				w.node = &node{}
			}
			n = w.node
			continue
		}
		at := slices.IndexFunc(n.next, func(e edge) bool { return e.word == w && e.glued == p.glued })
		if at < 0 {
			at = len(n.next)
			n.next = append(n.next, edge{w, p.glued, &node{}})
		}
		n = n.next[at].node
	}
	e, err := change(n.entry)
	n.entry = e
	return err
}

// piece returns the word of a piece of a surface.
func (v *Vectorizer) piece(raw string) *word {
	if len(raw) == 1 && lower[raw[0]] == 0 && !isDigit(raw[0]) {
		if v.marks[raw[0]] == nil {
			w := &word{raw: raw}
			w.like = w
			v.marks[raw[0]] = w
		}
		return v.marks[raw[0]]
	}
	return v.keep(raw)
}

// join lets two words of a surface be written as one.
func (v *Vectorizer) join(surface string) {
	first, second, found := strings.Cut(surface, " ")
	if !found || !isWord(first) || !isWord(second) || len(first) < 2 || len(second) < 2 || v.words.has(first+second) {
		return
	}
	if v.joined == nil {
		v.joined = make(map[string]*node)
	}
	w := v.keep(first)
	for i := range w.node.next {
		if e := &w.node.next[i]; e.word.raw == second && e.node.entry != nil {
			v.joined[first+second] = &node{entry: e.node.entry}
		}
	}
}
