package textproc

import (
	"unicode"
	"unicode/utf8"
)

type lexKind uint8

const (
	letters lexKind = iota // a run of letters and marks; apostrophes inside are dropped
	digits                 // a number, with its decimals
	mark                   // one other character
)

// lexeme is the smallest unit of a note. A space is not a lexeme; glued records it.
type lexeme struct {
	start, end int32 // bytes of the scanned text
	kind       lexKind
	c          byte  // the character of a mark, else 0
	glued      bool  // no space stands before it
	point      bool  // a number with decimals
	word       *word // its entry in the tables; nil for a number or mark that no surface has, and for noise
	value      float64
}

// scan splits text into t.lex. Unless it is folded text, it returns false at the first byte that is not ASCII, or
// begins markup: such text has to be folded first.
func (t *Transformer) scan(text string) bool {
	t.lex, t.at = t.lex[:0], false
	glued, slash := false, false
	for i := 0; i < len(text); {
		c := text[i]
		start := i
		l := lexeme{start: int32(start), glued: glued}
		glued = true
		switch {
		case lower[c] != 0:
			if i = t.letters(text, i); i < 0 {
				return false
			}
			l.word = t.lookup(t.raw)
		case isDigit(c):
			i = t.readNumber(text, i, &l)
		case c == ' ' || c == '\t' || c == '\r':
			i++
			glued = false
			continue
		case c < utf8.RuneSelf:
			if !t.folded && (c == '&' || c == '<' || c == '\\') {
				if _, end := markup(text, i); end > 0 {
					return false
				}
			}
			i++
			l.kind, l.c, l.word = mark, c, t.v.marks[c]
			slash = slash || c == '/'
			t.at = t.at || c == '@' && l.glued
			if c == '\n' {
				glued = false
			}
		default:
			if !t.folded {
				return false
			}
			r, n := utf8.DecodeRuneInString(text[i:])
			if unicode.IsLetter(r) {
				i = t.letters(text, i)
				l.word = t.lookup(t.raw)
				break
			}
			i += n
			if unicode.IsSpace(r) {
				glued = false
				continue
			}
			l.kind, l.c = mark, other
		}
		l.end = int32(i)
		t.lex = append(t.lex, l)
	}
	if slash {
		t.fractions()
	}
	return true
}

// fractions makes one number of 2 1/2, and of 1/2 before a unit of time or of drugs.
func (t *Transformer) fractions() {
	kept := t.lex[:0]
	for i := 0; i < len(t.lex); i++ {
		l := t.lex[i]
		if next := i + 3; t.isNumber(i) && t.isMark(i+1, '/') && t.isNumber(i+2) &&
			isFraction(l.value, t.lex[i+2].value) && !t.isMark(next, '/') {
			l.value, l.end, l.point, l.word = l.value/t.lex[i+2].value, t.lex[i+2].end, true, nil
			whole := len(kept) - 1
			switch u := t.unitAt(next); {
			case whole >= 0 && kept[whole].kind == digits && !kept[whole].point && !l.glued:
				l.start, l.value, l.glued = kept[whole].start, kept[whole].value+l.value, kept[whole].glued
				kept[whole] = l
				i += 2
				continue
			case u.isTime() || u == amount || u == pills || u == litres:
				i += 2
			default:
				l = t.lex[i]
			}
		}
		kept = append(kept, l)
	}
	t.lex = kept
}

// isFraction reports whether a/b is a half, a third or a quarter, or three or two of them.
func isFraction(a, b float64) bool { return a >= 1 && a < b && b >= 2 && b <= 4 }

// other stands for a mark that is not ASCII.
const other = 1

// letters reads the word that begins at i into t.raw, without apostrophes, and returns its end; -1 at a byte that is
// not ASCII in text that is not folded. A word over maxWord bytes leaves t.raw empty.
func (t *Transformer) letters(text string, i int) int {
	n := 0
	raw := &t.buffer
	for i < len(text) {
		c := text[i]
		switch l := lower[c]; {
		case l != 0:
			if n < maxWord {
				raw[n] = l
			}
			n++
			i++
			continue
		case c == '\'' || c == '`':
			if !startsWithLetter(text[i+1:]) {
				break
			}
			i++
			continue
		case c >= utf8.RuneSelf:
			if !t.folded {
				return -1
			}
			r, size := utf8.DecodeRuneInString(text[i:])
			if !unicode.IsLetter(r) && !unicode.IsMark(r) {
				break
			}
			if n+size <= maxWord {
				copy(raw[n:], text[i:i+size])
			}
			n += size
			i += size
			continue
		}
		break
	}
	if n > maxWord {
		n = 0
	}
	t.raw = raw[:n]
	return i
}

// readNumber reads the number that begins at i: digits, thousands after commas, and decimals.
func (t *Transformer) readNumber(text string, i int, l *lexeme) int {
	l.kind = digits
	start := i
	value := 0.0
	for ; i < len(text); i++ {
		if c := text[i]; isDigit(c) {
			value = value*10 + float64(c-'0')
		} else if c != ',' || !thousands(text, start, i) {
			break
		}
	}
	l.word = t.v.words[text[start:i]]
	if i+1 < len(text) && isDigit(text[i+1]) && (text[i] == '.' ||
		text[i] == ',' && value >= 34 && value < 43 && !(i+2 < len(text) && isDigit(text[i+2]))) { // 39,5
		l.point, l.word = true, nil
		i++
		for scale := .1; i < len(text) && isDigit(text[i]); i++ {
			value += float64(text[i]-'0') * scale
			scale /= 10
		}
	}
	l.value = value
	return i
}

// thousands reports whether the comma at i stands before exactly three digits and after at most three.
func thousands(text string, start, i int) bool {
	end := i + 1
	for end < len(text) && isDigit(text[end]) {
		end++
	}
	return end == i+4 && i-start <= 3 && text[start] != '0'
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// startsWithLetter assumes ASCII: other text is folded before the result matters.
func startsWithLetter(s string) bool {
	if s == "" || s[0] < utf8.RuneSelf {
		return s != "" && lower[s[0]] != 0
	}
	r, _ := utf8.DecodeRuneInString(s)
	return unicode.IsLetter(r)
}

// lower maps ASCII letters to lower case and all else to 0.
var lower = func() (table [256]byte) {
	for c := byte('a'); c <= 'z'; c++ {
		table[c], table[c-'a'+'A'] = c, c
	}
	return table
}()
