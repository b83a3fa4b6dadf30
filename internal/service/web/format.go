package web

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/wardcast/wardcast/ingest/msg"
)

// minus is U+2212, as wide as a plus.
const minus = "−"

// exact returns a number as messages print it.
func exact(v float64) string { return string(msg.Number(v).AppendJSON(nil)) }

// signed returns a contribution or coefficient with its sign and two decimals.
func signed(v float64) string {
	text := strconv.FormatFloat(math.Abs(v), 'f', 2, 64)
	switch {
	case text == "0.00":
		return text
	case v < 0:
		return minus + text
	}
	return "+" + text
}

// percent returns a probability as whole percent. No estimate is certain: the ends are "<1" and ">99".
func percent(p float64) string {
	switch {
	case p < 0.01:
		return "<1"
	case p > 0.99:
		return ">99"
	}
	return strconv.Itoa(int(math.Round(100 * p)))
}

// share returns a share of notes in percent with one decimal.
func share(p *float64) string {
	if p == nil {
		return "unknown"
	}
	return strconv.FormatFloat(100**p, 'f', 1, 64) + " %"
}

// number returns a value as people write it, with at most so many decimals and without trailing zeros.
func number(v float64, decimals int) string {
	text := strconv.FormatFloat(v, 'f', decimals, 64)
	if strings.Contains(text, ".") {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	if text == "-0" {
		return "0"
	}
	return strings.Replace(text, "-", minus, 1)
}

// fixed returns a measure of quality with three decimals.
func fixed(v float64) string {
	return strings.Replace(strconv.FormatFloat(v, 'f', 3, 64), "-", minus, 1)
}

// grouped returns a count with a thin space between thousands.
func grouped(n int) string {
	text := strconv.Itoa(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "\u202f" + text[i:]
	}
	return text
}

// geometry returns a coordinate of a chart.
func geometry(v float64) string { return strconv.FormatFloat(v, 'f', 1, 64) }

// stamp returns a time in UTC to the minute.
func stamp(t time.Time) string { return t.UTC().Format("2 Jan 2006 15:04") }

// plural returns a count with its noun.
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
