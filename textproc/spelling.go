package textproc

import (
	"strings"
	"sync"

	"github.com/wardcast/wardcast/internal/lists"
)

// english holds common words that look like a misspelled word of the built-in concepts but are correct: waist is not
// wrist. They are words of the SCOWL lists; concepts/english.txt says which.
var english = sync.OnceValue(func() map[string]bool { return lists.Set(listed("english.txt")) })

// minSpelled is the length of the shortest word that is corrected, in bytes.
const minSpelled = 5

// speller corrects a misspelled word. It compares the forms of both words without one letter (SymSpell's idea): a
// wrong, missing, surplus or swapped letter leaves one of them equal.
type speller struct {
	deletes map[string][]*word // nil until all correct words are known
}

func (s *speller) add(w *word) {
	if len(w.raw) < minSpelled || !ascii(w.raw) {
		return
	}
	variants(w.raw, func(v string) { s.deletes[v] = append(s.deletes[v], w) })
}

// variants calls yield with s and with s without each letter but the first.
func variants(s string, yield func(string)) {
	yield(s)
	for i := 1; i < len(s); i++ {
		if i == 1 || s[i] != s[i-1] {
			yield(s[:i] + s[i+1:])
		}
	}
}

// correct returns the one concept word at a Damerau distance of 1 with the same first letter, or nil if there are none
// or several. Words of one meaning count as one.
func (s *speller) correct(raw string) *word {
	const shortest = 3 // letters of a stem: puing, which is passing urine, is not puking
	if s.deletes == nil || len(raw) < minSpelled || !ascii(raw) || len(strings.TrimSuffix(raw, "ing")) < shortest ||
		english()[raw] {
		return nil
	}
	var found *word
	several := false
	variants(raw, func(v string) {
		for _, w := range s.deletes[v] {
			if w == found || !oneEdit(raw, w.raw) {
				continue
			}
			if found != nil && found.stem[0] != w.stem[0] {
				several = true
			}
			if found == nil || w.raw < found.raw {
				found = w
			}
		}
	})
	if several {
		return nil
	}
	return found
}

// oneEdit reports whether one letter inserted, left out, replaced or swapped with its neighbour turns a into b.
func oneEdit(a, b string) bool {
	for a != "" && b != "" && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for a != "" && b != "" && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	swapped := len(a) == 2 && len(b) == 2 && a[0] == b[1] && a[1] == b[0]
	return swapped || a != b && len(a) <= 1 && len(b) <= 1
}

func ascii(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r < 'a' || r > 'z' })
}
