package jsonscan

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// MaxDepth bounds the nesting of values and with it the stack of Skip.
const MaxDepth = 256

// Scanner reads JSON from a string that is valid UTF-8. Methods return false at the first violation of the grammar;
// they never look back, so that a text costs time linear in its length. The zero value reads nothing.
type Scanner struct {
	s string
	i int
}

// New returns a scanner of s.
func New(s string) Scanner { return Scanner{s: s} }

// Offset returns how many bytes are consumed.
func (p *Scanner) Offset() int { return p.i }

// Peek skips white space and returns the next byte, 0 at the end. A NUL in the input returns 0 too; no value starts
// with one.
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

// str consumes the string that starts at p.i with its quote. raw is the text between the quotes; escaped reports
// whether it holds a backslash.
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
			_, size := escape(p.s[p.i:])
			if size == 0 {
				return "", false, false
			}
			escaped = true
			p.i += size
		case c < ' ':
			return "", false, false
		default:
			p.i++
		}
	}
	return "", false, false
}

// Quoted consumes the string at the next byte, a quote, and returns it with its escapes resolved. Without escapes it
// shares memory with the scanner's text.
func (p *Scanner) Quoted() (s string, ok bool) {
	s, escaped, ok := p.str()
	if escaped && ok {
		s = unescape(s)
	}
	return s, ok
}

// escape decodes the escape sequence at the start of s and returns its length in bytes, 0 if it is invalid. A lone
// surrogate becomes U+FFFD.
func escape(s string) (r rune, size int) {
	if len(s) < 2 {
		return 0, 0
	}
	if i := strings.IndexByte(`"\/bfnrt`, s[1]); i >= 0 {
		return rune("\"\\/\b\f\n\r\t"[i]), 2
	}
	r, ok := codeUnit(s)
	if !ok {
		return 0, 0
	}
	if utf16.IsSurrogate(r) {
		low, _ := codeUnit(s[6:])
		if r = utf16.DecodeRune(r, low); r != utf8.RuneError {
			return r, 12
		}
	}
	return r, 6
}

// codeUnit returns the code unit of the escape \uXXXX at the start of s.
func codeUnit(s string) (rune, bool) {
	if len(s) < 6 || s[:2] != `\u` {
		return 0, false
	}
	v, err := strconv.ParseUint(s[2:6], 16, 16)
	return rune(v), err == nil
}

// unescape resolves the escapes of a string that str has accepted.
func unescape(raw string) string {
	b := make([]byte, 0, len(raw))
	for {
		i := strings.IndexByte(raw, '\\')
		if i < 0 {
			return string(append(b, raw...))
		}
		r, size := escape(raw[i:])
		b = utf8.AppendRune(append(b, raw[:i]...), r)
		raw = raw[i+size:]
	}
}

// Number consumes a number. ok is false if it violates the grammar, and finite is false if float64 cannot hold it.
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

// Written consumes a number and returns it as it is written.
func (p *Scanner) Written() (text string, ok bool) {
	start := p.i
	_, _, ok = p.Number()
	return p.s[start:p.i], ok
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
func (p *Scanner) Object(field func(name string) bool) bool { return p.list('}', field) }

// Array consumes an array and calls element with the scanner before each of its values, which element must consume.
func (p *Scanner) Array(element func() bool) bool {
	return p.list(']', func(string) bool { return element() })
}

// list consumes an object or array that ends in closing; member consumes the values. The name of an array's is "".
func (p *Scanner) list(closing byte, member func(name string) bool) bool {
	p.i++
	if p.Peek() == closing {
		p.i++
		return true
	}
	name := ""
	for {
		if closing == '}' {
			ok := p.Peek() == '"'
			if ok {
				name, ok = p.Quoted()
			}
			if !ok || p.Peek() != ':' {
				return false
			}
			p.i++
		}
		if !member(name) {
			return false
		}
		switch p.Peek() {
		case ',':
			p.i++
		case closing:
			p.i++
			return true
		default:
			return false
		}
	}
}

// Skip consumes a value of any type at this depth of nesting, which must be below MaxDepth.
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
	case '{', '[':
		// In ASCII ] comes two after [, and } two after {.
		return depth < MaxDepth && p.list(c+2, func(string) bool { return p.Skip(depth + 1) })
	default:
		_, _, ok := p.Number()
		return ok
	}
}
