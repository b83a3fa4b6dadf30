package wording

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// ErrNotLine is wrapped by the errors of CheckLine.
var ErrNotLine = errors.New("not a line of plain text")

// hidden reports whether a character commands a terminal, ends a line, or turns the direction of text.
func hidden(r rune) bool {
	return unicode.IsControl(r) || unicode.In(r, unicode.Zl, unicode.Zp, unicode.Bidi_Control)
}

// CheckLine returns an error that wraps ErrNotLine, and names the character, unless s is UTF-8 that a terminal shows as
// it stands there: without control characters, ends of lines, and controls of the direction of text.
func CheckLine(s string) error {
	if !utf8.ValidString(s) {
		return fmt.Errorf("%w: it is not UTF-8", ErrNotLine)
	}
	if at := strings.IndexFunc(s, hidden); at >= 0 {
		r, _ := utf8.DecodeRuneInString(s[at:])
		return fmt.Errorf("%w: it has the control character %U", ErrNotLine, r)
	}
	return nil
}

// Visible returns s with what CheckLine refuses escaped as in JSON; bytes that are not UTF-8 become U+FFFD.
func Visible(s string) string { return visible(s, "") }

// VisibleLines is Visible for a text of several lines: ends of lines and tabs stay.
func VisibleLines(s string) string { return visible(s, "\n\t") }

func visible(s, kept string) string {
	escaped := func(r rune) bool { return hidden(r) && !strings.ContainsRune(kept, r) }
	if utf8.ValidString(s) && strings.IndexFunc(s, escaped) < 0 {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if escaped(r) {
			fmt.Fprintf(&b, `\u%04x`, r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// Cell returns the cell of a table that a spreadsheet reads as text, or as the number that it is: an apostrophe before
// text that looks like a formula keeps it from being computed.
func Cell(text string) string {
	if text == "" || strings.IndexByte("=+-@\t\r", text[0]) < 0 {
		return text
	}
	if _, err := Number(text); err == nil {
		return text
	}
	return "'" + text
}
