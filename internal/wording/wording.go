package wording

import (
	"math"
	"strconv"
	"strings"
)

// Minus is U+2212, as wide as a plus.
const Minus = "−"

// Fixed formats a number with this many decimals. A number that rounds to zero has no sign.
func Fixed(v float64, decimals int) string {
	text := strconv.FormatFloat(v, 'f', decimals, 64)
	if strings.Trim(text, "-0.") == "" {
		return strings.TrimPrefix(text, "-")
	}
	return strings.Replace(text, "-", Minus, 1)
}

// Signed is Fixed with a plus before positive numbers.
func Signed(v float64, decimals int) string {
	text := Fixed(v, decimals)
	if v > 0 && strings.Trim(text, "0.") != "" {
		return "+" + text
	}
	return text
}

// Short is Fixed without trailing zeros.
func Short(v float64, decimals int) string {
	text := Fixed(v, decimals)
	if strings.Contains(text, ".") {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	return text
}

// Percent returns a share as "22.4 %".
func Percent(share float64) string { return Fixed(100*share, 1) + " %" }

// Grouped returns a count with a separator between thousands.
func Grouped(n int, separator string) string {
	text := strconv.Itoa(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + separator + text[i:]
	}
	return text
}

// Count returns a count with its noun, whose plural ends in s unless it is given.
func Count(n int, noun string, plural ...string) string {
	switch {
	case n != 1 && len(plural) > 0:
		noun = plural[0]
	case n != 1:
		noun = Plural(noun)
	}
	return strconv.Itoa(n) + " " + noun
}

// Plural returns a noun with s.
func Plural(noun string) string { return noun + "s" }

// Capital returns an ASCII text with a capital first letter.
func Capital(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

const (
	inMonths = 2  // the age in years below which a fraction of it is told in months
	short    = .1 // months that an age of two decimals may lack, and more
)

// Age returns an age for people: in completed years, and below two years in completed months, "7 mo", unless it is
// whole: a 1 may be any age from one year to two, "1 y".
func Age(years float64) string {
	whole := strconv.FormatFloat(math.Floor(years), 'f', 0, 64)
	switch {
	case years >= inMonths || years < 0:
		return whole
	case years == 0:
		return "<1 y"
	case years == 1:
		return whole + " y"
	case 12*years+short < 1:
		return "<1 mo"
	}
	return strconv.Itoa(int(12*years+short)) + " mo"
}
