package textproc

type sense struct {
	entry   *entry // nil for the word as it stands
	before  bool
	after   bool
	window  int
	slashes bool // a cue is a form such as h/o
	cues    map[string]bool
}

// senseOf returns the reading of a surface in its context, nil for the word as it stands.
func (t *Transformer) senseOf(i, next int, e *entry) *entry {
	for k := range e.senses {
		s := &e.senses[k]
		if s.cues == nil || s.before && t.cue(i-1, -1, s) || s.after && t.cue(next, 1, s) {
			return s.entry
		}
	}
	return nil
}

// cue reports whether a cue of s stands within its window from lexeme i on, in the direction of step. The window counts
// words between spaces.
func (t *Transformer) cue(i, step int, s *sense) bool {
	const most = 4 // lexemes for each word: forms with slashes are one word
	seen := 0
	for n := most * (s.window + 1); n > 0 && i >= 0 && i < len(t.lex); n, i = n-1, i+step {
		l := &t.lex[i]
		if step > 0 && !l.glued {
			seen++
		}
		if seen > s.window || l.c == '.' || l.c == ';' || l.c == '\n' {
			return false
		}
		if t.cued(i, step, seen, s) {
			return true
		}
		if step < 0 && !l.glued {
			if seen++; seen >= s.window {
				return false
			}
		}
	}
	return false
}

func (t *Transformer) cued(i, step, seen int, s *sense) bool {
	l := &t.lex[i]
	switch {
	case l.kind == digits:
		return s.cues["#"] || s.cues["#/10"] && t.slashed(i, 10) ||
			s.cues["#/7"] && (t.slashed(i, 7) || t.slashed(i, 52) || t.slashed(i, 24)) ||
			s.cues["20/#"] && l.value == 20 && t.slashed(i, -1)
	case l.c == '+' || l.c == '-':
		return seen == 0 && s.cues[string(rune(l.c))] && t.touches(i, step)
	case l.c == ',' || l.c == ':':
		return seen == 0 && s.cues[string(rune(l.c))]
	case l.kind == mark || l.word == nil:
		return false
	case s.cues[l.word.correct.raw]:
		return true
	case l.word.raw == "g":
		return s.cues["g#p#"] && t.isNumber(i+1) && t.lex[i+1].glued
	}
	return s.slashes && t.isMark(i+1, '/') && i+2 < len(t.lex) && t.lex[i+2].word != nil &&
		s.cues[l.word.raw+"/"+t.lex[i+2].word.raw]
}

// touches reports whether the sign at i touches the abbreviation next to it.
func (t *Transformer) touches(i, step int) bool {
	if step < 0 {
		return t.lex[i+1].glued
	}
	return t.lex[i].glued
}

// slashed reports whether the number at i is followed by a slash and n, or any number if n is negative.
func (t *Transformer) slashed(i int, n float64) bool {
	return i+2 < len(t.lex) && t.lex[i+1].c == '/' && t.lex[i+2].kind == digits && (n < 0 || t.lex[i+2].value == n)
}
