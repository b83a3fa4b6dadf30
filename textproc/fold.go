package textproc

import (
	"cmp"
	"unicode"
	"unicode/utf8"

	porter "github.com/kljensen/snowball/english"
	"golang.org/x/text/cases"
	"golang.org/x/text/transform"
	"golang.org/x/text/unicode/norm"
)

// folder rewrites text that is not all ASCII, or has markup, for the scanner, and remembers where every byte came from.
// Its buffers are reused.
type folder struct {
	text       []byte // folded
	start, end []int  // text[i] came from these bytes of the note

	clean, normal, folded []byte
	fold                  transform.Transformer
}

// run folds text. Invalid bytes and format characters (soft hyphen, zero-width space, byte order mark) are dropped and
// typographic characters replaced. Then each sequence of a starter and its combining characters is taken by itself:
// NFKC, full case folding, and NFKC again because folding can undo it. The cost is linear.
func (f *folder) run(text string) {
	if f.fold == nil {
		f.fold = cases.Fold()
	}
	f.text, f.start, f.end = f.text[:0], f.start[:0], f.end[:0]
	for i := 0; i < len(text); {
		end := i + 1
		if plain, after := markup(text, i); after > 0 {
			for _, r := range plain {
				f.segment(string(r))
			}
			end = after
		} else if c := text[i]; c >= utf8.RuneSelf || end < len(text) && text[end] >= utf8.RuneSelf {
			end = sequence(text, i)
			f.segment(text[i:end])
		} else {
			f.text = append(f.text, cmp.Or(lower[c], c))
		}
		for len(f.start) < len(f.text) {
			f.start, f.end = append(f.start, i), append(f.end, end)
		}
		i = end
	}
}

// sequence returns the end of the sequence of combining characters that begins at i. What is dropped inside does not
// end it.
func sequence(text string, i int) int {
	r, n := utf8.DecodeRuneInString(text[i:])
	end := i + n
	if isDropped(r, n) {
		return end
	}
	for at := end; at < len(text); at += n {
		if r, n = utf8.DecodeRuneInString(text[at:]); isDropped(r, n) {
			continue
		}
		if norm.NFKC.PropertiesString(text[at:]).BoundaryBefore() {
			break
		}
		end = at + n
	}
	return end
}

// isDropped reports whether a rune of n bytes is an invalid byte or a format character.
func isDropped(r rune, n int) bool { return r == utf8.RuneError && n <= 1 || unicode.Is(unicode.Cf, r) }

func (f *folder) segment(s string) {
	f.clean = f.clean[:0]
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case isDropped(r, n):
		case r == '⁄' && f.digits() > 1 && len(f.clean) == 0: // 5½ in its compatible form, 51⁄2
			last := len(f.text) - 1
			f.text = append(f.text[:last], ' ', f.text[last])
			f.start, f.end = append(f.start, f.start[last]), append(f.end, f.end[last])
			f.clean = append(f.clean, '/')
		case replaced[r] != "":
			f.clean = append(f.clean, replaced[r]...)
		default:
			f.clean = append(f.clean, s[i:i+n]...)
		}
		i += n
	}
	if len(f.clean) == 1 {
		f.text = append(f.text, cmp.Or(lower[f.clean[0]], f.clean[0]))
		return
	}
	f.normal = norm.NFKC.Append(f.normal[:0], f.clean...)
	folded, _, err := transform.Append(f.fold, f.folded[:0], f.normal)
	if err != nil { // folding valid UTF-8 has no error
		folded = f.normal
	}
	f.folded = folded
	f.text = append(f.text, norm.NFKC.Bytes(f.folded)...)
}

// digits returns how many digits end f.text.
func (f *folder) digits() int {
	n := 0
	for n < len(f.text) && isDigit(f.text[len(f.text)-1-n]) {
		n++
	}
	return n
}

// replaced holds characters that phones and word processors put in place of those on a keyboard, and arrows as words.
var replaced = map[rune]string{
	'’': "'", '‘': "'", '‛': "'", 'ʼ': "'", '′': "'", '–': "-", '—': " - ", '‐': "-", '‑': "-", '−': "-", '⁄': "/",
	'∕': "/", '×': "x",
	'½': " 1/2", '¼': " 1/4", '¾': " 3/4", '⅓': " 1/3", '⅔': " 2/3", '℃': " c", '℉': " f", '″': "\"",
	'↑': " increased ", '↓': " decreased ", '≥': ">=", '≤': "<=", '→': "->", '⇒': "->", '“': "\"", '”': "\"",
	'„': "\"", 'º': " ", '˚': " ", '°': " ", '⅟': "1/",
	'☐': "[ ]", '□': "[ ]", '☑': "[x]", '☒': "[x]", '∅': " no ",
}

// foldString returns s as the scanner reads it.
func foldString(s string) string {
	var f folder
	f.run(s)
	return string(f.text)
}

// Stemmer identifies what stem does.
const Stemmer = "snowball-porter2 kljensen v0.10.0 (pre-2023)" // Porter2 before Snowball's change of October 2023

func stem(word string) string { return porter.Stem(word, true) }
