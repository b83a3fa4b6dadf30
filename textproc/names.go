package textproc

// titled reads a title at i and the name after it, such as "Mrs Smith" or "Dr. J. Jones", and returns the next lexeme.
// Names are not terms. It returns i if no name follows. A word of the concepts is not read as a name in three places:
// after "dr" or "ms" without a full stop, after "ms." inside a sentence, and after an article ("the dr. fever"). Inside
// a sentence, "miss" is a verb.
func (t *Transformer) titled(i int) int {
	if t.is(i, "miss") && !t.beginsSentence(i) {
		return i
	}
	at, point := i+1, t.isMark(i+1, '.') && t.lex[i+1].glued
	if point {
		at++
	}
	const initials = 2
	for n := 0; n < initials && t.isInitial(at); n++ {
		at++
		if t.isMark(at, '.') {
			at++
		}
	}
	if at >= len(t.lex) || t.lex[at].kind != letters {
		return i
	}
	if w := t.lex[at].word; w != nil {
		if len(w.raw) == 1 || w.stop || w.unit != noUnit || w.class&(acting|month|practice) != 0 {
			return i
		}
		own := w.node != nil && w.correct == w && w.node.entry != nil
		if own && (w.node.entry.effect != none || !t.namesFindings(i, point)) {
			return i
		}
	}
	if t.is(i, "ms") && t.senseOf(i, i+1, t.lex[i].word.node.entry) != nil {
		return i
	}
	for at++; t.isMark(at, '-') && t.lex[at].glued && t.touchesLetters(at+1); {
		at += 2
	}
	return at
}

// isInitial reports whether lexeme i is a single letter before a word, with a full stop or without.
func (t *Transformer) isInitial(i int) bool {
	if i >= len(t.lex) || t.lex[i].word == nil || len(t.lex[i].word.raw) != 1 || t.lex[i].kind != letters {
		return false
	}
	next := i + 1
	if t.isMark(next, '.') {
		next++
	}
	return next < len(t.lex) && t.lex[next].kind == letters
}

// namesFindings reports whether a word of the concepts after the title at i is a name: Mrs Payne, Dr. Burns.
func (t *Transformer) namesFindings(i int, point bool) bool {
	if t.is(i, "dr") {
		return point && !t.is(i-1, "the", "a", "her", "his", "their", "my", "family")
	}
	return t.is(i, "mr", "mrs") || point && t.beginsSentence(i)
}

func (t *Transformer) beginsSentence(i int) bool {
	return i == 0 || t.isMark(i-1, '.') || t.isMark(i-1, ';') || t.isMark(i-1, '\n')
}
