package hl7

import (
	"encoding/hex"
	"strconv"
	"strings"
)

// unescape replaces the escape sequences of a text. One that is unknown or not closed stays as it is.
func (m *Message) unescape(s string) string {
	escape := m.Header.Separators.Escape
	if escape == 0 || strings.IndexByte(s, escape) < 0 {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	for {
		i := strings.IndexByte(s, escape)
		if i < 0 {
			b.WriteString(s)
			return b.String()
		}
		b.WriteString(s[:i])
		s = s[i+1:]
		end := strings.IndexByte(s, escape)
		replaced, known := "", false
		if end >= 0 {
			replaced, known = m.sequence(s[:end])
		}
		if !known {
			b.WriteByte(escape)
			continue
		}
		b.WriteString(replaced)
		s = s[end+1:]
	}
}

// maxSkip bounds the lines or spaces that one formatting command stands for.
const maxSkip = 10

// sequence returns what an escape sequence stands for.
func (m *Message) sequence(s string) (text string, known bool) {
	if s == "" {
		return "", false
	}
	separators := &m.Header.Separators
	kind, rest := s[0], s[1:]
	if rest == "" {
		switch kind {
		case 'F':
			return string(separators.Field), true
		case 'S':
			return optional(separators.Component, "^"), true
		case 'R':
			return optional(separators.Repetition, "~"), true
		case 'T':
			return optional(separators.Subcomponent, "&"), true
		case 'E':
			return string(separators.Escape), true
		case 'P': // truncation
			return "#", true
		case 'H', 'N': // highlighting begins and ends
			return "", true
		}
		return "", false
	}
	switch kind {
	case '.':
		return format(rest)
	case 'X':
		data, err := hex.DecodeString(rest)
		if err != nil {
			return "", false
		}
		text, _ = m.charset.decode(data)
		return strings.ToValidUTF8(text, "\uFFFD"), true
	case 'C', 'M': // bytes of another character set
		_, err := hex.DecodeString(rest)
		return "", err == nil
	}
	return "", false
}

func optional(separator byte, otherwise string) string {
	if separator == 0 {
		return otherwise
	}
	return string(separator)
}

// format returns what a formatting command of type FT stands for.
func format(command string) (text string, known bool) {
	if len(command) < 2 {
		return "", false
	}
	name, argument := command[:2], strings.TrimSpace(command[2:])
	n := 1
	if argument != "" {
		var err error
		if n, err = strconv.Atoi(argument); err != nil {
			return "", false
		}
		n = min(max(n, 0), maxSkip)
	}
	switch name {
	case "br", "ce": // a new line; the next line is centred
		return "\n", true
	case "sp":
		return strings.Repeat("\n", n), true
	case "sk":
		return strings.Repeat(" ", n), true
	case "fi", "nf", "in", "ti": // word wrap and indents
		return "", true
	}
	return "", false
}

// Quote returns a text as it is written in a field that is separated by s, line breaks as \.br\.
func (s Separators) Quote(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		code := ""
		switch c := text[i]; {
		case c == s.Field:
			code = "F"
		case c == s.Component:
			code = "S"
		case c == s.Repetition:
			code = "R"
		case c == s.Subcomponent:
			code = "T"
		case c == s.Escape:
			code = "E"
		case c == '\n':
			code = ".br"
		case c == '\r' || c < ' ' && c != '\t':
			continue // ends a segment or a frame
		default:
			b.WriteByte(c)
			continue
		}
		b.WriteByte(s.Escape)
		b.WriteString(code)
		b.WriteByte(s.Escape)
	}
	return b.String()
}
