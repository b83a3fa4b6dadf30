package wording

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

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
