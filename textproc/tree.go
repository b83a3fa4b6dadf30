package textproc

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// node is a place in the tree of surfaces, after some words of them.
type node struct {
	next  []edge
	entry *entry // of the surface that ends here, or nil
}

// edge leads from one word of a surface to the next.
type edge struct {
	word  *word
	glued bool // the words must touch: a number and letters written together
	node  *node
}

// entry is the meaning of a surface.
type entry struct {
	Concept         // of a surface without one the name alone, the surface
	terms   []*term // with parts, which come last
	parts   int     // how many of terms are parts
	denied  bool    // "afebrile"
	senses  []sense // if the surface has several
	effect  effect
	measure *measure // to which a number after it belongs
}

// surfaceWord is a word, number or mark of a surface.
type surfaceWord struct {
	raw   string
	glued bool // it must touch the word before it
}

// split splits a surface as the scanner splits a note. Hyphens and small words inside are left out, as they are in
// notes.
func split(surface string) []surfaceWord {
	var all []surfaceWord
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
			all = append(all, surfaceWord{string(r), last+kind == 3 && last > 0})
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

// insert puts a surface into the tree and returns its place.
func (v *Vectorizer) insert(surface string) (*node, error) {
	var n *node
	for i, p := range split(surface) {
		w := v.surfaceWord(p.raw)
		if w == nil {
			return nil, fmt.Errorf("surface %q: a word is longer than %d bytes", surface, maxWord)
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
	if n == nil {
		return nil, fmt.Errorf("surface %q has no letter, digit or mark", surface)
	}
	return n, nil
}

// surfaceWord returns the word that stands for one of a surface.
func (v *Vectorizer) surfaceWord(raw string) *word {
	if len(raw) == 1 && lower[raw[0]] == 0 && !isDigit(raw[0]) {
		if v.marks[raw[0]] == nil {
			w := &word{raw: raw}
			w.correct = w
			v.marks[raw[0]] = w
		}
		return v.marks[raw[0]]
	}
	return v.keep(raw)
}

// join lets two words of a surface be written as one.
func (v *Vectorizer) join(surface string) {
	first, second, found := strings.Cut(surface, " ")
	if !found || !isWord(first) || !isWord(second) || len(first) < 2 || len(second) < 2 || v.words[first+second] != nil {
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

// negated returns the surface that begins with "not" where e, which means not, ends at lexeme next: "does not rule out"
// and "isn't consistent with" are read as "not rule out" and "not consistent with". It returns e and next if there is
// none.
func (t *Transformer) negated(e *entry, next int) (*entry, int) {
	if t.v.not == nil {
		return e, next
	}
	if longer, end := t.follow(t.v.not, next); end > next && longer != nil {
		return longer, end
	}
	return e, next
}

// longest follows the tree of surfaces from the word at i. It returns the entry of the longest surface and the lexeme
// after it.
func (t *Transformer) longest(i int) (best *entry, next int) {
	n := t.lex[i].word.node
	if len(n.next) == 0 {
		return n.entry, i + 1
	}
	return t.follow(n, i+1)
}

// follow is longest from the place n of the tree and the lexeme at on. A small word may belong to the surface or stand
// between two words of it: "history of", "history of present illness".
func (t *Transformer) follow(n *node, at int) (best *entry, next int) {
	best, next = n.entry, at
	if len(n.next) == 0 || at >= len(t.lex) {
		return best, next
	}
	const between = 2 // lexemes
	for skipped := 0; skipped <= between && at < len(t.lex); skipped++ {
		if child := n.child(&t.lex[at]); child != nil {
			if e, end := t.follow(child, at+1); e != nil && end > next {
				best, next = e, end
			}
		}
		if at+1 >= len(t.lex) || !t.fills(at) {
			break
		}
		at++
	}
	return best, next
}

// fills reports whether the lexeme at i may stand between two words of a surface: a small word, a hyphen, but not the
// sign in n/-v, or the stop of a shortened word.
func (t *Transformer) fills(i int) bool {
	l := &t.lex[i]
	return l.c == '-' && l.glued && t.lex[i+1].glued && t.lex[i-1].kind != mark || t.isClass(i, filler) || t.shortens(i)
}

// shortens reports whether lexeme i is the full stop of a shortened word: abd. pain.
func (t *Transformer) shortens(i int) bool {
	return t.lex[i].c == '.' && t.lex[i].glued && t.isClass(i-1, shortened)
}

// child returns the node after the word of l, or nil.
func (n *node) child(l *lexeme) *node {
	if l.word == nil {
		return nil
	}
	for i := range n.next {
		if e := &n.next[i]; e.word == l.word.correct && (l.glued || !e.glued) {
			return e.node
		}
	}
	return nil
}
