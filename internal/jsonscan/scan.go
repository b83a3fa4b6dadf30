// Package jsonscan reads JSON (RFC 8259) forward, without building what is not asked for: the messages of Kafka and the lines
// of tables.
package jsonscan

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// MaxDepth bounds the nesting of values and with it the stack of Skip.
const MaxDepth = 256

// Scanner reads JSON from a string that is valid UTF-8. Methods return false at the first violation of the grammar; they never
// look back, so that a text costs time linear in its length. The zero value reads nothing.
type Scanner struct {
	s string
	i int
}

// New returns a scanner of s.
func New(s string) Scanner { return Scanner{s: s} }

// Offset returns how many bytes are consumed.
func (p *Scanner) Offset() int { return p.i }

// Peek skips white space and returns the next byte, 0 at the end. A NUL in
// the input returns 0 too, and is no start of any value either.
func (p *Scanner) Peek() byte {
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

// End reports whether only white space is left.
func (p *Scanner) End() bool {
	p.Peek()
	return p.i == len(p.s)
}

// Literal consumes one of the words null, true and false.
func (p *Scanner) Literal(word string) bool {
	if !strings.HasPrefix(p.s[p.i:], word) {
		return false
	}
	p.i += len(word)
	return true
}

// str consumes the string that starts at p.i with its quote. raw is what
// stands between the quotes, escaped whether it holds a backslash.
func (p *Scanner) str() (raw string, escaped, ok bool) {
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

// Quoted consumes the string at the next byte, a quote, and returns it with its escapes resolved. Without escapes it shares
// memory with the scanner's text.
func (p *Scanner) Quoted() (s string, ok bool) {
	s, escaped, ok := p.str()
	if escaped && ok {
		s = unescape(s)
	}
	return s, ok
}

// escape consumes a backslash and what it escapes.
func (p *Scanner) escape() bool {
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

// Number consumes a number. The result is false in ok where the grammar is
// violated, and in finite where float64 cannot hold the value.
func (p *Scanner) Number() (v float64, finite, ok bool) {
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
func (p *Scanner) digits(m uint64) (uint64, int) {
	start := p.i
	for p.i < len(p.s) && p.s[p.i]-'0' <= 9 {
		m = m*10 + uint64(p.s[p.i]-'0')
		p.i++
	}
	return m, p.i - start
}

// Object consumes an object and calls field for each of its names with the
// scanner before the value, which field must consume.
func (p *Scanner) Object(field func(name string) bool) bool {
	p.i++
	if p.Peek() == '}' {
		p.i++
		return true
	}
	for p.Peek() == '"' {
		name, ok := p.Quoted()
		if !ok || p.Peek() != ':' {
			return false
		}
		p.i++
		if !field(name) {
			return false
		}
		switch p.Peek() {
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

// Skip consumes a value of any type that stands depth levels deep; it must be below MaxDepth.
func (p *Scanner) Skip(depth int) bool {
	switch c := p.Peek(); c {
	case '"':
		_, _, ok := p.str()
		return ok
	case 'n':
		return p.Literal("null")
	case 't':
		return p.Literal("true")
	case 'f':
		return p.Literal("false")
	case '{':
		return depth < MaxDepth && p.Object(func(string) bool { return p.Skip(depth + 1) })
	case '[':
		return depth < MaxDepth && p.array(depth)
	default:
		_, _, ok := p.Number()
		return ok
	}
}

func (p *Scanner) array(depth int) bool {
	p.i++
	if p.Peek() == ']' {
		p.i++
		return true
	}
	for p.Skip(depth + 1) {
		switch p.Peek() {
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
