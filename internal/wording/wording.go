package wording

import (
	"errors"
	"fmt"
	"math"
	"regexp"
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

// The errors of Number.
var (
	ErrNotNumber = errors.New("not a number")
	ErrNotFinite = errors.New("not a finite number")
)

// Number reads a finite decimal number, spaces around it ignored. It refuses the other forms of a number in Go:
// underscores and hexadecimal digits. The error never quotes s. It wraps ErrNotNumber, with what s looks like if that
// is known; or it is ErrNotFinite, and the value is not finite.
func Number(s string) (float64, error) {
	s = strings.TrimSpace(s)
	if v, ok := digits(s); ok {
		return v, nil
	}
	v, err := strconv.ParseFloat(s, 64)
	switch {
	case errors.Is(err, strconv.ErrSyntax) || strings.ContainsAny(s, "_xX"):
		return 0, notNumber(s)
	case v-v != 0:
		return v, ErrNotFinite
	}
	return v, nil
}

// digits reads a number of digits alone, as most cells are, in a third of the time. A float64 holds up to 15 exactly.
func digits(s string) (v float64, ok bool) {
	const most = 15
	for _, c := range []byte(s) {
		if c < '0' || c > '9' {
			return 0, false
		}
		v = 10*v + float64(c-'0')
	}
	return v, s != "" && len(s) <= most
}

// others are cells that are not numbers but look like something known.
var others = []struct {
	form *regexp.Regexp
	hint string
}{
	{
		regexp.MustCompile(`^[+-]?[1-9]\d{0,2},\d{3}$`),
		"it has a decimal comma or separates thousands; write 1.234 or 1234",
	},
	{regexp.MustCompile(`^[+-]?\d*,\d+$`), "it has a decimal comma; write 1.5, not 1,5"},
	{regexp.MustCompile(`^[+-]?\d{1,3}([.,' ]\d{3})+([.,]\d+)?$`), "it separates thousands; write 1234.5"},
	{
		regexp.MustCompile(`^(\d{4}[-/.]\d\d?[-/.]\d\d?|\d\d?[-/.]\d\d?[-/.]\d{2,4}|` +
			`\d\d?[-. ]+(?i:jan|feb|m[aäy]|apr|jun|jul|aug|sep|o[ck]t|nov|de[cz])\pL*)([T ].*)?$`),
		"it is a date",
	},
	{regexp.MustCompile(`^\d{1,2}:\d\d(:\d\d)?$`), "it is a time of day"},
	{regexp.MustCompile(`^[+-]?[\d.,]+ ?%$`), "it is a percentage; write the number alone"},
	{regexp.MustCompile(`^[<>≤≥] ?=?[\d.,]+$`), "it is a limit, not a value"},
	{regexp.MustCompile(`^\d+( ?[|;,] ?\d+)+$`), "it holds several values"},
	{regexp.MustCompile(`^(?i:true|false)$`), "write 1 for true and 0 for false"},
	{regexp.MustCompile(`^\d+( ?[-–=:.)] ?| \(?)\pL`), "it is a number with a label; write the number alone"},
	{regexp.MustCompile(`^[+-]?0[xX]|^[\d.]+_`), "only decimal digits count, without underscores"},
	{regexp.MustCompile(`^AO?\d+$`), "it is an answer code such as LimeSurvey's A1"},
}

func notNumber(s string) error {
	for _, o := range others {
		if o.form.MatchString(s) {
			return fmt.Errorf("%w: %s", ErrNotNumber, o.hint)
		}
	}
	return ErrNotNumber
}
