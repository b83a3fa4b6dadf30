package textproc

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/kljensen/snowball/english"
)

const (
	// maxWord is the greatest length of a word in bytes, after folding. A longer run of letters is noise. The longest word
	// of common medical dictionaries has 45 letters.
	maxWord = 64
	// negationScope is how many words that are no stop words a denial reaches. NegEx (Chapman et al. 2001) uses
	// five words of any kind in dictated reports; lists after "denies" in triage notes are longer.
	negationScope = 6
	// negatedPrefix marks the terms of a denied scope. No plain term has an underscore.
	negatedPrefix = "not_"
)

// word is all that follows from a folded word of a note, before its neighbours are seen.
type word struct {
	terms  []term // that it stands for; none for a stop word
	opens  bool   // begins a denied scope
	closes bool   // ends one
	raw    string
	first  [1]term // memory of terms if there is one
}

// term is a stem and its columns.
type term struct {
	columns [2]int32 // as it is and negated; -1 if the vocabulary lacks it
	text    string
}

// unit is an occurrence of a term in a note.
type unit struct {
	*term
	word       *word
	denier     *word // the word that denies it, or nil
	start, end int   // span in the scanned text
	clause     int   // number of the clause
}

// resolve takes a folded word through synonyms, stop words and stemmer.
func (v *Vectorizer) resolve(raw string) *word {
	w := &word{raw: raw}
	w.terms = w.first[:0]
	if _, stop := v.stops[raw]; stop {
		w.opens, w.closes = opensDenial(raw), closesDenial(raw)
		return w
	}
	plain := strings.TrimSuffix(raw, "'s")
	words, synonym := []string{plain}, false
	for _, key := range []string{raw, plain} {
		if s, found := v.settings.Synonyms[key]; found {
			words, synonym = strings.Fields(s), true
			break
		}
	}
	for _, x := range words {
		w.opens = w.opens || opensDenial(x)
		w.closes = w.closes || closesDenial(x)
		_, stop := v.stops[x]
		if stop || !synonym && utf8.RuneCountInString(x) == 1 {
			continue
		}
		if stem := english.Stem(x, true); strings.ContainsFunc(stem, unicode.IsLetter) {
			w.terms = append(w.terms, term{[2]int32{v.column(stem), v.column(negatedPrefix + stem)}, stem})
		}
	}
	return w
}

// opensDenial reports whether the terms after the word are denied. As in NegEx they come before what they deny;
// its denials that come after ("was ruled out") and its pseudo-denials ("no change") are not read.
func opensDenial(word string) bool {
	switch word {
	case "no", "not", "nor", "never", "without", "cannot", "deny", "denies", "denied", "denying", "neg", "negative", "absent",
		"can't", "couldn't", "don't", "doesn't", "didn't", "isn't", "aren't", "wasn't", "weren't", "hasn't", "haven't", "hadn't", "won't", "wouldn't",
		"cant", "couldnt", "dont", "doesnt", "didnt", "isnt", "arent", "wasnt", "werent", "hasnt", "havent", "hadnt", "wont", "wouldnt":
		return true
	}
	return false
}

// closesDenial reports whether the word ends a denial. So do . ; : ! ? and a new line; commas, and and or do not, for a
// denial often covers a list.
func closesDenial(word string) bool {
	switch word {
	case "but", "however", "except", "although", "though", "yet", "because", "reports", "reported", "states", "stated", "says",
		"complains", "complaining", "complained", "endorses", "admits", "presents", "positive", "pos", "now", "has":
		return true
	}
	return false
}

// analyze fills t.units with the terms of text in the order of the note.
func (t *Transformer) analyze(text string) {
	t.folded = false
	if !t.scan(text) {
		t.folded = true
		t.folder.run(text)
		t.scan(string(t.folder.text))
	}
}

// scan reads text once. Unless it is folded text, it returns false at the first byte that is not ASCII, for such text
// has to be folded first.
func (t *Transformer) scan(text string) bool {
	t.units, t.clause, t.denier = t.units[:0], 0, nil
	for i := 0; i < len(text); {
		c := text[i]
		if lower[c] == 0 {
			if c >= utf8.RuneSelf {
				if !t.folded {
					return false
				}
				r, n := utf8.DecodeRuneInString(text[i:])
				if !unicode.IsLetter(r) {
					i += n
					continue
				}
			} else {
				if endsClause(text, i) {
					t.clause++
					t.denier = nil
				}
				i++
				continue
			}
		}

		start, n := i, 0
	letters:
		for i < len(text) {
			c := text[i]
			switch l := lower[c]; {
			case l != 0:
				if n < maxWord {
					t.raw[n] = l
				}
				n++
				i++
			case c == '\'':
				if !startsWithLetter(text[i+1:]) {
					break letters
				}
				if n < maxWord {
					t.raw[n] = c
				}
				n++
				i++
			case c >= utf8.RuneSelf:
				if !t.folded {
					return false
				}
				r, size := utf8.DecodeRuneInString(text[i:])
				if !unicode.IsLetter(r) && !unicode.IsMark(r) {
					break letters
				}
				if n+size <= maxWord {
					copy(t.raw[n:], text[i:i+size])
				}
				n += size
				i += size
			case c == '/':
				if end := t.slashed(text, start, i); end > 0 {
					n, i = end-start, end
				}
				break letters
			default:
				break letters
			}
		}
		if n <= maxWord {
			t.add(t.lookup(t.raw[:n]), start, i)
		}
	}
	return true
}

// slashed returns the end of the longest synonym such as c/o that begins at start and covers the slash at position
// slash, and leaves it in t.raw; or 0 if there is none.
func (t *Transformer) slashed(text string, start, slash int) int {
	end := 0
	for n := 0; n < t.v.longestSlashed && start+n < len(text); n++ {
		i := start + n
		c := text[i]
		if l := lower[c]; l != 0 {
			c = l
		} else if c != '/' {
			break
		}
		t.raw[n] = c
		if i < slash || c != '/' && startsWithLetter(text[i+1:]) {
			continue
		}
		if _, found := t.v.settings.Synonyms[string(t.raw[:n+1])]; found {
			end = i + 1
		}
	}
	return end
}

// add appends the terms of w, which stands at [start,end) of the scanned text.
func (t *Transformer) add(w *word, start, end int) {
	var denier *word
	if t.v.settings.Negation {
		switch {
		case w.opens:
			t.denier, t.scope = w, negationScope
		case w.closes:
			t.denier = nil
		case t.denier != nil && len(w.terms) > 0:
			if t.scope == 0 {
				t.denier = nil
			}
			t.scope--
			denier = t.denier
		}
	}
	for i := range w.terms {
		t.units = append(t.units, unit{&w.terms[i], w, denier, start, end, t.clause})
	}
}

// endsClause reports whether text[i] separates clauses. A point between digits does not.
func endsClause(text string, i int) bool {
	switch text[i] {
	case ';', ':', '!', '?', '\n':
		return true
	case '.':
		return i == 0 || i+1 == len(text) || !isDigit(text[i-1]) || !isDigit(text[i+1])
	}
	return false
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// startsWithLetter takes ASCII alone for granted before folding: other text is folded before this matters.
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
