package textproc

func (t *Transformer) mark(i int) int {
	l := &t.lex[i]
	switch l.c {
	case ',':
		t.events = append(t.events, event{kind: comma, lex: int32(i)})
	case '\n':
		return t.newline(i)
	case '.', ';', '!':
		if t.shortens(i) {
			break
		}
		t.events = append(t.events, event{kind: ended, lex: int32(i)})
		t.clause++
	case ':':
		t.events = append(t.events, event{kind: colon, lex: int32(i)})
		t.clause++
	case '?':
		return t.question(i)
	case '+', '-':
		return t.sign(i)
	case '(':
		if end := t.bracketedSign(i); end > 0 {
			return end
		}
	case '#':
		return t.hash(i)
	case '[':
		return t.box(i)
	case ')':
		t.events = append(t.events, event{kind: bracket, lex: int32(i)})
	case '/', '&':
		t.events = append(t.events, event{kind: joined, lex: int32(i)})
	}
	return i + 1
}

// question reads ?uti, syncope? and (?) as doubt.
func (t *Transformer) question(i int) int {
	switch {
	case t.lex[i].glued && i > 0 && t.lex[i-1].kind != mark && !t.touchesNext(i), i+1 == len(t.lex) ||
		t.lex[i+1].kind == mark && t.lex[i+1].c != '?' && t.lex[i+1].c != '#':
		t.trigger(i, i+1, unsure)
	default:
		t.trigger(i, i+1, maybe)
	}
	return i + 1
}

// sign reads +loc and -loc, strep+ and flu-, and runs of signs. A dash between two words is not a sign. A dash between
// spaces is one only if it closes an item of a list, or begins one after a plus sign between spaces.
func (t *Transformer) sign(i int) int {
	end := i + 1
	for end < len(t.lex) && t.lex[end].c == t.lex[i].c && t.lex[end].glued {
		end++
	}
	if t.isMark(end, '>') && t.lex[end].glued { // an arrow
		return end + 1
	}
	positive := t.lex[i].c == '+'
	if t.touchesNext(i) && t.is(end, "ve") {
		t.trigger(i, end+1, t.signWord(end+1, positive))
		return end + 1
	}
	if positive && t.isMark(end, '/') && t.isMark(end+1, '-') { // +/- loc
		t.trigger(i, end+2, maybe)
		return end + 2
	}
	closes := end < len(t.lex) && (t.lex[end].c == ',' || t.lex[end].c == ';') ||
		(end == len(t.lex) || t.lex[end].c == '.' || t.lex[end].c == '\n') &&
			(t.plus || t.closing || t.takesSign())
	before := i > 0 && t.lex[i].glued && (t.lex[i-1].kind == letters || t.lex[i-1].kind == digits)
	after := t.touchesNext(end - 1)
	kind := eventKind(0)
	switch {
	case before && !after, closes && i > 0 && t.lex[i-1].kind == letters: // flu-, flu -
		kind = minusBefore
		if positive {
			kind = plusBefore
		}
		t.closing = true
	case !before && after && t.starts(i):
		kind = minusAfter
		if positive {
			kind = plusAfter
		}
		if !positive && t.lex[end].kind == digits {
			return end
		}
	case positive && !before:
		kind = plusAfter
		t.plus = true
	case t.plus && end < len(t.lex) && t.lex[end].word != nil && t.lex[end].word.node != nil: // + fever - cough
		kind = minusAfter
	default:
		if !positive && end == i+1 && !t.lex[i].glued && end < len(t.lex) && !t.lex[end].glued {
			t.events = append(t.events, event{kind: dash, lex: int32(i)})
		}
		return end
	}
	t.status = t.status || !positive
	t.events = append(t.events, event{kind: kind, lex: int32(i)})
	return end
}

// takesSign reports whether a minus at the end of a line denies the last mention: a test, a finding such as LOC, or a
// symptom that is not the only word of the note.
func (t *Transformer) takesSign() bool {
	n := len(t.mentions)
	if n == 0 || t.mentions[n-1].entry == nil {
		return false
	}
	e := t.mentions[n-1].entry
	return e.Test || e.Kind == "finding" || e.Kind == "symptom" && n > 1
}

// signWord returns the effect of +ve or -ve, which end before lexeme next.
func (t *Transformer) signWord(next int, positive bool) effect {
	switch {
	case positive:
		return present
	case t.is(next, "for"):
		return denies
	}
	return negative
}

// bracketedSign reads (+) and (-), before or after the mention that they are about. It returns 0 if there is none at i.
func (t *Transformer) bracketedSign(i int) int {
	if i+2 >= len(t.lex) || t.lex[i+2].c != ')' {
		return 0
	}
	c := t.lex[i+1].c
	if c != '+' && c != '-' {
		return 0
	}
	next := i + 3
	kind := minusAfter
	if t.closesItem(next) || len(t.mentions) > 0 && t.signsFollow(i) {
		kind = minusBefore
	}
	if c == '+' {
		kind += plusAfter - minusAfter
	}
	t.status = true
	t.events = append(t.events, event{kind: kind, lex: int32(i)})
	return next
}

// hash reads # as a fracture, which nurses write before the bone or after it: # left wrist, NOF#. Before a number, or
// after what has one, it is a number.
func (t *Transformer) hash(i int) int {
	before := i > 0 && (t.lex[i-1].kind == letters || t.lex[i-1].c == '?')
	if t.v.fracture == nil || t.isNumber(i+1) || t.isClass(i-1, numbered) || !before && (i+1 >= len(t.lex) ||
		t.lex[i+1].kind != letters) {
		return i + 1
	}
	t.add(i, i+1, t.v.fracture.terms, t.v.fracture.parts, t.v.fracture, nil)
	return i + 1
}

// box reads a box at i that is ticked, [x], or not, [ ]. What follows an empty one up to the next is denied, or what
// stands before it, if boxes stand after their words. It returns the lexeme after it.
func (t *Transformer) box(i int) int {
	end, empty := t.boxAt(i)
	switch {
	case end == i+1:
	case t.boxesFollow(i) && empty:
		t.trigger(i, end, absent)
	case t.boxesFollow(i):
	case empty:
		t.trigger(i, end, denies)
	default:
		t.trigger(i, end, stops)
	}
	return end
}

// boxAt returns the lexeme after the box at i, and whether it is empty; i+1 if none is there.
func (t *Transformer) boxAt(i int) (end int, empty bool) {
	switch {
	case t.isMark(i+1, ']'):
		return i + 2, true
	case t.isMark(i+2, ']') && (t.is(i+1, "x") || t.isMark(i+1, other)):
		return i + 3, false
	}
	return i + 1, false
}

// boxesFollow reports whether the boxes of the line of i stand after their words: its first lexeme is a word and its
// last one a box.
func (t *Transformer) boxesFollow(i int) bool {
	const most = 64 // lexemes to look at on either side
	first, last := i, i
	for first > max(0, i-most) && t.lex[first-1].c != '\n' {
		first--
	}
	for last+1 < min(len(t.lex), i+most) && t.lex[last+1].c != '\n' {
		last++
	}
	return t.lex[first].kind == letters && t.isMark(last, ']')
}

// closesItem reports whether the item of a list ends before lexeme i.
func (t *Transformer) closesItem(i int) bool {
	return i >= len(t.lex) || t.lex[i].kind == mark && t.lex[i].c != '(' && t.lex[i].c != '/' ||
		t.isMark(i, '(') && !t.isSign(i)
}

// signsFollow reports whether the signs in brackets, from lexeme i to the end of the sentence, stand after their
// mentions, as the last one shows: cp (-) sob (+).
func (t *Transformer) signsFollow(i int) bool {
	const most = 32 // lexemes to look at
	last := i
	for k := i; k < min(len(t.lex), i+most) && t.lex[k].c != '.' && t.lex[k].c != ';' && t.lex[k].c != '\n'; k++ {
		if t.isMark(k, '(') && t.isSign(k) {
			last = k
		}
	}
	return last > i && t.closesItem(last+3)
}

func (t *Transformer) isSign(i int) bool {
	return i+2 < len(t.lex) && (t.lex[i+1].c == '+' || t.lex[i+1].c == '-') && t.lex[i+2].c == ')'
}

// starts reports whether lexeme i stands at the start of a word: after a space, a bracket, a comma or a slash.
func (t *Transformer) starts(i int) bool {
	if !t.lex[i].glued {
		return true
	}
	switch t.lex[i-1].c {
	case '(', ',', '/', ';', ':', '[', '\n', '.':
		return true
	}
	return i == 0
}

// touchesNext reports whether a word follows lexeme i without a space.
func (t *Transformer) touchesNext(i int) bool {
	return i+1 < len(t.lex) && t.lex[i+1].glued && t.lex[i+1].kind != mark
}

// listLetters are the concepts of letters that have a sign each: +n/-v/-d.
var listLetters = map[byte]string{'n': "nausea", 'v': "vomiting", 'd': "diarrhea", 'f': "fever", 'c': "chills"}

// signedLetter returns what the letter at i means in a list of signs, nil if nothing. A c means chills only next to f:
// elsewhere it may be constipation.
func (t *Transformer) signedLetter(i int) *entry {
	const near = 6 // lexemes to look at on either side
	raw := t.lex[i].word.raw
	e := t.v.letters[raw[0]]
	if e == nil || !t.hasSign(i) {
		return nil
	}
	if t.lex[i].word.node != nil && !t.isMark(i+1, '+') { // -n +v
		if longer, _ := t.longest(i); longer != nil { // -n/v
			return nil
		}
	}
	others, nearFever := 0, raw != "c"
	for _, step := range []int{-1, 1} {
		for k, n := i+step, 0; n < near && k >= 0 && k < len(t.lex); k, n = k+step, n+1 {
			l := &t.lex[k]
			if l.c == '.' || l.c == ';' || l.c == '\n' {
				break
			}
			if l.kind == letters && (t.hasSign(k) || t.is(k, "n", "v")) { // n/v, -d
				others++
				nearFever = nearFever || t.is(k, "f")
			}
		}
	}
	if others == 0 || !nearFever {
		return nil
	}
	return e
}

// hasSign reports whether a plus or minus, in brackets or without, touches the word at i and no other: before it, or
// else after it.
func (t *Transformer) hasSign(i int) bool {
	isSign := func(k int) bool { return t.isMark(k, '+') || t.isMark(k, '-') }
	if i > 2 && t.lex[i].glued && t.isSign(i-3) || t.isMark(i+1, '(') && t.lex[i+1].glued && t.isSign(i+1) {
		return true
	}
	return i > 0 && isSign(i-1) && t.lex[i].glued && t.starts(i-1) || isSign(i+1) && t.lex[i+1].glued &&
		!t.touchesNext(i+1)
}

// listState is the form of the lines of a list after a colon.
type listState uint8

const (
	noList listState = iota
	bulleted
	plainLines
)

// newline ends a sentence, unless a list goes on: after "denies:", over lines that begin with a bullet or have few
// words. The bullet itself is not read as a plus or minus sign.
func (t *Transformer) newline(i int) int {
	next := i + 1
	blank := t.isMark(next, '\n')
	first := i > 0 && t.lex[i-1].c == ':'
	for t.isMark(next, '\n') {
		next++
	}
	end := t.bullet(next)
	was := t.list
	switch {
	case next >= len(t.lex) || !first && was == noList:
		t.list = noList
	case end > next && (first || was == bulleted):
		t.list = bulleted
	case end == next && !(blank && !first) && (first || was == plainLines) && t.shortLine(next):
		t.list = plainLines
	default:
		t.list = noList
	}
	kind := ended
	switch {
	case t.list != noList && first:
		kind = listOpened
	case t.list == bulleted:
		kind = listItem
	case t.list == plainLines:
		kind = listLine
	default:
		end = next
	}
	t.events = append(t.events, event{kind: kind, lex: int32(i)})
	t.clause++
	return end
}

// bullet returns the lexeme after a bullet or a number at the start i of a line, i if there is none.
func (t *Transformer) bullet(i int) int {
	switch {
	case i >= len(t.lex):
	case t.isMark(i, '-') || t.isMark(i, '*') || t.isMark(i, other):
		return i + 1
	case t.isNumber(i) && (t.isMark(i+1, '.') || t.isMark(i+1, ')')) && t.lex[i+1].glued:
		return i + 2
	}
	return i
}

// shortLine reports whether the line at i is an item of a list without bullets: few words, and no heading.
func (t *Transformer) shortLine(i int) bool {
	const most = 6 // lexemes
	for k := i; k < len(t.lex) && t.lex[k].c != '\n'; k++ {
		if k-i >= most || t.lex[k].c == ':' {
			return false
		}
	}
	return true
}

// letterAnswer reads the n of "fever: n" and the y of "cough? y". It returns i if the letter is not an answer.
func (t *Transformer) letterAnswer(i int) int {
	if i == 0 || !t.isMark(i-1, ':') && !t.isMark(i-1, '?') && !t.isMark(i-1, '=') {
		return i
	}
	if next := i + 1; next < len(t.lex) && t.lex[next].glued && !t.isMark(next, ',') && !t.isMark(next, ';') &&
		!t.isMark(next, '.') {
		return i
	}
	answer := deny
	if t.is(i, "y") {
		answer = present
	}
	t.trigger(i, i+1, answer)
	return i + 1
}
