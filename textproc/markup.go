package textproc

import (
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Markup that interfaces leave in notes is read as what it stands for: entities and tags of HTML, escapes of HL7.
const longestMarkup = 96 // bytes between its marks

// closings are the marks that begin and end markup. Every byte of a note may be looked up.
var closings = [256]byte{'&': ';', '<': '>', '\\': '\\'}

// entities are named characters of HTML; numbered ones are read by their number.
var entities = map[string]string{
	"amp": "&", "lt": "<", "gt": ">", "quot": "\"", "apos": "'", "nbsp": " ", "ndash": "-", "mdash": " - ",
	"rsquo": "'",
	"lsquo": "'", "rdquo": "\"", "ldquo": "\"", "hellip": "...", "deg": "°", "bull": "\n- ", "middot": "\n- ",
	"frac12": "½", "plusmn": "+/-", "times": "x", "le": "<=", "ge": ">=", "uarr": "↑", "darr": "↓", "rarr": "->",
}

// tags are those of HTML that break a line, "\n", begin an item of a list, or change how letters look, "".
var tags = map[string]string{
	"br": "\n", "p": "\n", "div": "\n", "tr": "\n", "ul": "\n", "ol": "\n", "table": "\n", "h": "\n", "hr": "\n",
	"td": " ",
	"th": " ", "li": "\n- ", "b": "", "i": "", "u": "", "strong": "", "em": "", "span": "", "font": "", "sup": "",
	"sub": "",
	"a":   "", "body": "\n", "html": "\n", "pre": "\n", "tbody": "\n",
}

// tag is the inside of one in lower case: its name, with the level of a heading, and attributes with their values.
// Anything else between < and > is prose: sob <a week, chest pain >3 days.
var tag = regexp.MustCompile(`^/?(?:([a-z]+)|(h)[1-6])(?:\s+[a-z-]+\s*=\s*(?:"[^"]*"|'[^']*'|[^\s"'=]+))*\s*/?$`)

// escapes are those of HL7 version 2.
var escapes = map[string]string{
	".br": "\n", ".sp": "\n", ".ce": "\n", ".fi": "\n", ".nf": "\n", ".in": "\n", ".ti": "\n", "t": "&", "f": "|",
	"s": "^",
	"r": "~", "e": "\\", "x0d": "\n", "x0a": "\n", "x0d0a": "\n",
}

// markup returns what the markup that begins at text[i] stands for, and its end; 0 if none begins there. Letter case
// does not matter, nor do bytes that are dropped.
func markup(text string, i int) (plain string, end int) {
	last := closings[text[i]]
	if last == 0 {
		return "", 0
	}
	var buffer [longestMarkup]byte
	name := buffer[:0]
	for k := i + 1; k < len(text) && len(name) < longestMarkup; {
		switch c := text[k]; {
		case c >= utf8.RuneSelf:
			r, n := utf8.DecodeRuneInString(text[k:])
			if !isDropped(r, n) {
				return "", 0
			}
			k += n
			continue
		case c == last:
			if plain, found := decode(text[i], string(name)); found {
				return plain, k + 1
			}
			return "", 0
		case c == '&' || c == '<' || c == '\\' || c == '\n' || c == ' ' && last != '>':
			return "", 0
		case lower[c] != 0:
			name = append(name, lower[c])
		default:
			name = append(name, c)
		}
		k++
	}
	return "", 0
}

// decode returns what markup of a name stands for.
func decode(first byte, name string) (plain string, found bool) {
	switch first {
	case '&':
		if number, numbered := strings.CutPrefix(name, "#"); numbered {
			return character(number)
		}
		plain, found = entities[name]
	case '<':
		if m := tag.FindStringSubmatch(name); m != nil {
			plain, found = tags[m[1]+m[2]]
		}
	default:
		if len(name) > 3 && name[0] == '.' { // .in+4
			name = name[:3]
		}
		plain, found = escapes[name]
	}
	return plain, found
}

// character returns the character of a number, decimal or hexadecimal after x. Control characters are spaces, but for
// the ends of lines.
func character(number string) (string, bool) {
	base := 10
	if hexadecimal, found := strings.CutPrefix(number, "x"); found {
		number, base = hexadecimal, 16
	}
	n, err := strconv.ParseUint(number, base, 21)
	switch {
	case err != nil || !utf8.ValidRune(rune(n)):
		return "", false
	case n == '\n' || n == '\r':
		return "\n", true
	case n < ' ' || n == 127:
		return " ", true
	}
	return string(rune(n)), true
}
