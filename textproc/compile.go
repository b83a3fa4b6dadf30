package textproc

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/wardcast/wardcast/internal/lists"
)

// compile builds the tree of surfaces. The order matters: triggers and measures change entries of concepts, and
// spelling corrects to words of surfaces only.
func (v *Vectorizer) compile(c *Concepts) error {
	v.numberMeasures()
	entries := v.entries(c)
	v.leftSide = []*term{v.term("side:left")}
	named := func(name string) *entry { // nil if a site's table drops it
		if e := entries[name]; e != nil && e.terms != nil {
			return e
		}
		return nil
	}
	v.fracture = named("fracture")
	for letter, name := range listLetters {
		v.letters[letter] = named(name)
	}
	v.names = make(map[string]bool)
	for text := range v.terms {
		v.names[text] = true
	}
	if err := v.insertConcepts(c, entries); err != nil {
		return err
	}
	if err := v.insertTriggers(c, entries); err != nil {
		return err
	}
	v.not = v.keep("not").node
	for _, m := range measures {
		for key := range strings.FieldsFuncSeq(m.keys, func(r rune) bool { return r == '|' }) {
			if err := v.change(key, func(e *entry) { e.measure = m }); err != nil {
				return err
			}
		}
	}
	known := slices.SortedFunc(maps.Values(v.words), func(a, b *word) int { return strings.Compare(a.raw, b.raw) })
	for raw := range classes {
		v.keep(raw)
	}
	v.speller.deletes = make(map[string][]*word, 5*len(known))
	for _, w := range known {
		if w.node != nil || w.class&(aside|seeking) == 0 { // "shows" does not mean "shots"
			v.speller.add(w)
		}
	}
	for name := range v.names {
		for part := range strings.FieldsFuncSeq(name, func(r rune) bool { return r < 'a' || r > 'z' }) {
			if w := v.keep(part); w.standing < light {
				v.terms[name].words = append(v.terms[name].words, w)
			}
		}
	}
	return nil
}

func (v *Vectorizer) numberMeasures() {
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
}

func (v *Vectorizer) insertConcepts(c *Concepts, entries map[string]*entry) error {
	several, err := v.several(c.Senses, entries)
	if err != nil {
		return err
	}
	for i := range c.Concepts {
		name := c.Concepts[i].Name
		for _, s := range c.Concepts[i].Surfaces {
			e := entries[name]
			if raw, starred := strings.CutSuffix(s, "*"); starred {
				if s, e = raw, several[raw]; e == nil {
					return fmt.Errorf("surface %q of %q is marked * and has no sense", raw, name)
				}
			}
			n, err := v.insert(s)
			switch {
			case err != nil:
				return err
			case n.entry != nil && n.entry != e:
				return fmt.Errorf("surface %q belongs to %q and %q", s, n.entry.Name, name)
			}
			n.entry = e
		}
	}
	for i := range c.Concepts {
		for _, s := range c.Concepts[i].Surfaces {
			v.join(s)
			if rest, found := strings.CutPrefix(s, "no "); found && !strings.HasSuffix(s, "*") {
				n, err := v.insert("nil " + rest) // nil allergies
				if err != nil {
					return err
				}
				if n.entry == nil {
					n.entry = entries[c.Concepts[i].Name]
				}
			}
		}
	}
	return nil
}

// several returns the entry of each surface with several senses.
func (v *Vectorizer) several(senses []Sense, entries map[string]*entry) (map[string]*entry, error) {
	several := make(map[string]*entry)
	for _, s := range senses {
		e := several[s.Surface]
		if e == nil {
			e = &entry{Concept: Concept{Name: s.Surface}}
			several[s.Surface] = e
		}
		x := sense{
			before: s.Where == "before" || s.Where == "near", after: s.Where == "after" || s.Where == "near",
			window: s.Window,
		}
		switch s.Sense {
		case "=":
		case "-":
			x.entry = &entry{Concept: Concept{Dropped: true}}
		default:
			var err error
			if x.entry, err = v.combined(entries, s.Sense); err != nil {
				return nil, fmt.Errorf("sense of %q: %w", s.Surface, err)
			}
		}
		if s.Cues != nil {
			x.cues = lists.Set(s.Cues)
			x.slashes = slices.ContainsFunc(s.Cues, func(cue string) bool {
				return len(cue) > 1 && strings.Contains(cue, "/") && !strings.Contains(cue, "#")
			})
		}
		e.senses = append(e.senses, x)
	}
	return several, nil
}

// insertTriggers puts triggers into the tree. One that is a surface of a concept too keeps its concept.
func (v *Vectorizer) insertTriggers(c *Concepts, entries map[string]*entry) error {
	for _, s := range c.Triggers {
		effect := effectNamed(s.Effect)
		if effect == none {
			return fmt.Errorf("trigger %q: unknown effect %q", s.Surface, s.Effect)
		}
		if class := effectRules[effect].class; class != 0 {
			if !isWord(s.Surface) {
				return fmt.Errorf("trigger %q is not a word", s.Surface)
			}
			v.keep(s.Surface).class |= class
			continue
		}
		own := entries[s.Concept]
		if s.Concept != "" && own == nil {
			return fmt.Errorf("trigger %q: no concept %q", s.Surface, s.Concept)
		}
		n, err := v.insert(s.Surface)
		if err != nil {
			return err
		}
		if n.entry == nil {
			n.entry = own
		}
		if err := v.change(s.Surface, func(e *entry) { e.effect = effect }); err != nil {
			return err
		}
	}
	return nil
}

// change changes a copy of the entry of a surface, which other surfaces may share, or a new one.
func (v *Vectorizer) change(surface string, set func(*entry)) error {
	n, err := v.insert(surface)
	if err != nil {
		return err
	}
	e := &entry{Concept: Concept{Name: surface}}
	if n.entry != nil {
		*e = *n.entry
	}
	set(e)
	n.entry = e
	return nil
}

func (v *Vectorizer) entries(c *Concepts) map[string]*entry {
	entries := make(map[string]*entry, len(c.Concepts))
	for i := range c.Concepts {
		e := &entry{Concept: c.Concepts[i]}
		name, denied := strings.CutPrefix(e.Name, prefixes[Negated])
		e.denied = denied
		if !e.Dropped {
			for t := range strings.SplitSeq(name, "+") {
				e.terms = append(e.terms, v.term(t))
			}
		}
		entries[e.Name] = e
	}
	for _, e := range entries {
		for _, part := range e.Parts {
			if entries[part] == nil {
				part = stem(part)
			}
			e.terms = append(e.terms, v.term(part))
			e.parts++
		}
	}
	return entries
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
			e = &entry{
				Concept: Concept{Name: name, Kind: "anatomy"}, terms: []*term{v.term("side:right"), v.term("eye")},
			}
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
