package msg

import (
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Decimals is the number of decimal places that Round keeps.
const Decimals = 12

// scale is 10^Decimals. A product with it below maxScaled has at most 15 digits, and float64 distinguishes all numbers
// of up to 15 digits.
const (
	scale     = 1e12
	maxScaled = 1e15
)

// Round returns v rounded to Decimals places. Such numbers below 1,000 are shorter and three times as fast to write. A
// sum of 1,000 of them is within 1e-9 of the exact sum.
func Round(v float64) float64 {
	if m := v * scale; math.Abs(m) < maxScaled {
		return math.Round(m) / scale
	}
	return v
}

// appendFloat appends v in the shortest form that reads back as v, like encoding/json; if it is not finite, null.
func appendFloat(dst []byte, v float64) []byte {
	abs := math.Abs(v)
	// If the nearest multiple m of 1/scale reads back as v, it is the shortest such decimal, apart from trailing zeros:
	// no two decimals of up to 15 digits share a float64, and m/scale, of exact operands, is rounded like a decimal
	// that is read.
	if x := abs * scale; abs >= minPlain && x < maxScaled {
		if m := uint64(x + 0.5); float64(m)/scale == abs {
			return appendScaled(dst, m, v < 0)
		}
	}
	if !(abs <= math.MaxFloat64) {
		return append(dst, "null"...)
	}
	if abs != 0 && (abs < minPlain || abs >= maxPlain) {
		dst = strconv.AppendFloat(dst, v, 'e', -1, 64)
		if n := len(dst); dst[n-4] == 'e' && dst[n-3] == '-' && dst[n-2] == '0' {
			dst[n-2] = dst[n-1] // e-09 becomes e-9
			dst = dst[:n-1]
		}
		return dst
	}
	return strconv.AppendFloat(dst, v, 'f', -1, 64)
}

// Outside these bounds encoding/json writes an exponent, as ECMAScript's Number::toString does.
const (
	minPlain = 1e-6
	maxPlain = 1e21
)

func appendScaled(dst []byte, m uint64, negative bool) []byte {
	if negative {
		dst = append(dst, '-')
	}
	whole := m / scale
	if whole < 10 {
		dst = append(dst, '0'+byte(whole))
	} else {
		dst = strconv.AppendUint(dst, whole, 10)
	}
	m -= whole * scale
	if m == 0 {
		return dst
	}
	var digits [1 + Decimals]byte
	digits[0] = '.'
	for i := Decimals - 1; i > 0; i -= 2 {
		pair := m % 100 * 2
		m /= 100
		digits[i], digits[i+1] = pairs[pair], pairs[pair+1]
	}
	end := len(digits)
	for digits[end-1] == '0' {
		end--
	}
	return append(dst, digits[:end]...)
}

// pairs are the two digits of each number below 100.
const pairs = "00010203040506070809101112131415161718192021222324252627282930313233343536373839404142434445464748495051525354555657585960616263646566676869707172737475767778798081828384858687888990919293949596979899"

// appendString appends s as a JSON string, like encoding/json without HTML escapes. Invalid UTF-8 becomes U+FFFD.
func appendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); {
		if plain[s[i]] {
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		if r >= utf8.RuneSelf && !(r == utf8.RuneError && size == 1) && r != '\u2028' && r != '\u2029' {
			i += size
			continue
		}
		dst = append(dst, s[start:i]...)
		dst = appendEscape(dst, r)
		i += size
		start = i
	}
	dst = append(dst, s[start:]...)
	return append(dst, '"')
}

// plain are the bytes that need no escape in a JSON string.
var plain = func() (table [256]bool) {
	for c := byte(' '); c < utf8.RuneSelf; c++ {
		table[c] = c != '"' && c != '\\'
	}
	return table
}()

func appendEscape(dst []byte, r rune) []byte {
	if i := strings.IndexRune("\"\\\b\f\n\r\t", r); i >= 0 {
		return append(dst, '\\', `"\bfnrt`[i])
	}
	const hex = "0123456789abcdef"
	return append(dst, '\\', 'u', hex[r>>12&15], hex[r>>8&15], hex[r>>4&15], hex[r&15])
}

// The functions below append a member of an object. Its name includes the separator before it.

func appendText(dst []byte, name, s string) []byte { return appendString(append(dst, name...), s) }

func appendNumber(dst []byte, name string, v float64) []byte {
	return appendFloat(append(dst, name...), v)
}

func appendInt(dst []byte, name string, v int) []byte {
	return strconv.AppendInt(append(dst, name...), int64(v), 10)
}

func appendField(dst []byte, name, s string) []byte {
	if s == "" {
		return dst
	}
	return appendText(dst, name, s)
}

// appendList appends a list, each element by one. The name ends in its bracket.
func appendList[T any](dst []byte, name string, list []T, one func(*T, []byte) []byte) []byte {
	dst = append(dst, name...)
	for i := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = one(&list[i], dst)
	}
	return append(dst, ']')
}

func appendTexts(dst []byte, name string, list []string) []byte {
	return appendList(dst, name, list, func(s *string, dst []byte) []byte { return appendString(dst, *s) })
}
