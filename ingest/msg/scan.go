package msg

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// maxDepth bounds the nesting of a message, and with it the stack of skip. Our own fields need 2.
const maxDepth = 256

// scanner reads JSON (RFC 8259) from a string that is valid UTF-8. Its methods return false at the first violation of
// the grammar. They never look back, so a message takes time linear in its length.
type scanner struct {
	s string
	i int
}

// peek skips white space and returns the next byte, or 0 at the end. A NUL in the input returns 0 too; no value begins
// with it either.
func (p *scanner) peek() byte {
	for p.i < len(p.s) {
		switch c := p.s[p.i]; c {
		case ' ', '\n', '\r', '\t':
			p.i++
		default:
			return c
		}
	}
	return 0
}

// end reports whether only white space is left.
func (p *scanner) end() bool {
	p.peek()
	return p.i == len(p.s)
}

// literal consumes one of the words null, true and false.
func (p *scanner) literal(word string) bool {
	if !strings.HasPrefix(p.s[p.i:], word) {
		return false
	}
	p.i += len(word)
	return true
}

// str consumes the string that starts at p.i with its quote. raw is the text between the quotes; escaped reports
// whether it holds a backslash.
func (p *scanner) str() (raw string, escaped, ok bool) {
	p.i++
	start := p.i
	for p.i < len(p.s) {
		switch c := p.s[p.i]; {
		case c == '"':
			raw = p.s[start:p.i]
			p.i++
			return raw, escaped, true
		case c == '\\':
			escaped = true
			if !p.escape() {
				return "", false, false
			}
		case c < ' ':
			return "", false, false
		default:
			p.i++
		}
	}
	return "", false, false
}

// quoted is str with the escapes resolved.
func (p *scanner) quoted() (s string, ok bool) {
	s, escaped, ok := p.str()
	if escaped && ok {
		s = unescape(s)
	}
	return s, ok
}

// escape consumes a backslash and what it escapes.
func (p *scanner) escape() bool {
	rest := p.s[p.i:]
	if len(rest) < 2 {
		return false
	}
	switch rest[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		p.i += 2
		return true
	case 'u':
		if _, ok := hex4(rest); !ok {
			return false
		}
		p.i += 6
		return true
	}
	return false
}

// hex4 returns the code unit of the escape \uXXXX at the start of s.
func hex4(s string) (rune, bool) {
	if len(s) < 6 || s[0] != '\\' || s[1] != 'u' {
		return 0, false
	}
	var r rune
	for _, c := range []byte(s[2:6]) {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}

// unescape resolves the escapes of a string that str has accepted. A
// surrogate without its partner becomes U+FFFD.
func unescape(raw string) string {
	b := make([]byte, 0, len(raw))
	for i := 0; i < len(raw); {
		c := raw[i]
		if c != '\\' {
			b = append(b, c)
			i++
			continue
		}
		switch c = raw[i+1]; c {
		case 'b':
			c = '\b'
		case 'f':
			c = '\f'
		case 'n':
			c = '\n'
		case 'r':
			c = '\r'
		case 't':
			c = '\t'
		case 'u':
			r, _ := hex4(raw[i:])
			i += 6
			if utf16.IsSurrogate(r) {
				low, _ := hex4(raw[i:])
				if r = utf16.DecodeRune(r, low); r != utf8.RuneError {
					i += 6
				}
			}
			b = utf8.AppendRune(b, r)
			continue
		}
		b = append(b, c)
		i += 2
	}
	return string(b)
}

// number consumes a number. ok is false if the grammar is violated, finite is false if float64 cannot hold the value.
func (p *scanner) number() (v float64, finite, ok bool) {
	start := p.i
	negative := p.i < len(p.s) && p.s[p.i] == '-'
	if negative {
		p.i++
	}
	mantissa, digits := p.digits(0)
	if digits == 0 || digits > 1 && p.s[p.i-digits] == '0' {
		return 0, false, false
	}
	decimals := 0
	if p.i < len(p.s) && p.s[p.i] == '.' {
		p.i++
		if mantissa, decimals = p.digits(mantissa); decimals == 0 {
			return 0, false, false
		}
	}
	exponent := p.i < len(p.s) && (p.s[p.i] == 'e' || p.s[p.i] == 'E')
	if exponent {
		p.i++
		if p.i < len(p.s) && (p.s[p.i] == '+' || p.s[p.i] == '-') {
			p.i++
		}
		if _, n := p.digits(0); n == 0 {
			return 0, false, false
		}
	}
	// Up to 15 digits both parts are exact in float64 and the quotient is rounded once, as ParseFloat rounds (Clinger
	// 1990).
	if !exponent && digits+decimals <= len(powersOfTen)-1 {
		v = float64(mantissa) / powersOfTen[decimals]
		if negative {
			v = -v
		}
		return v, true, true
	}
	v, err := strconv.ParseFloat(p.s[start:p.i], 64)
	return v, err == nil, true
}

var powersOfTen = [...]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15}

// digits consumes digits and appends them to m, which wraps around after 19.
func (p *scanner) digits(m uint64) (uint64, int) {
	start := p.i
	for p.i < len(p.s) && p.s[p.i]-'0' <= 9 {
		m = m*10 + uint64(p.s[p.i]-'0')
		p.i++
	}
	return m, p.i - start
}

// object consumes an object. For each of its names it calls field, which must consume the value.
func (p *scanner) object(field func(name string) bool) bool {
	p.i++
	if p.peek() == '}' {
		p.i++
		return true
	}
	for p.peek() == '"' {
		name, ok := p.quoted()
		if !ok || p.peek() != ':' {
			return false
		}
		p.i++
		if !field(name) {
			return false
		}
		switch p.peek() {
		case ',':
			p.i++
		case '}':
			p.i++
			return true
		default:
			return false
		}
	}
	return false
}

// skip consumes a value of any type that stands depth levels deep.
func (p *scanner) skip(depth int) bool {
	switch c := p.peek(); c {
	case '"':
		_, _, ok := p.str()
		return ok
	case 'n':
		return p.literal("null")
	case 't':
		return p.literal("true")
	case 'f':
		return p.literal("false")
	case '{':
		return depth < maxDepth && p.object(func(string) bool { return p.skip(depth + 1) })
	case '[':
		return depth < maxDepth && p.array(depth)
	default:
		_, _, ok := p.number()
		return ok
	}
}

func (p *scanner) array(depth int) bool {
	p.i++
	if p.peek() == ']' {
		p.i++
		return true
	}
	for p.skip(depth + 1) {
		switch p.peek() {
		case ',':
			p.i++
		case ']':
			p.i++
			return true
		default:
			return false
		}
	}
	return false
}
