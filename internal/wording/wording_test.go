package wording_test

import (
	"errors"
	"math"
	"testing"

	"github.com/wardcast/wardcast/internal/wording"
)

func TestNumbers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ got, want string }{
		{wording.Fixed(-1.25, 1), "−1.2"},
		{wording.Fixed(-0.0004, 3), "0.000"},
		{wording.Fixed(math.Copysign(0, -1), 0), "0"},
		{wording.Fixed(-10, 0), "−10"},
		{wording.Fixed(100, 0), "100"},
		{wording.Fixed(math.NaN(), 2), "NaN"},
		{wording.Signed(0, 2), "0.00"},
		{wording.Signed(math.Copysign(0, -1), 2), "0.00"},
		{wording.Signed(-0.004, 2), "0.00"},
		{wording.Signed(0.004, 2), "0.00"},
		{wording.Signed(1.005, 2), "+1.00"},
		{wording.Signed(-12.346, 2), "−12.35"},
		{wording.Short(1.50, 3), "1.5"},
		{wording.Short(-2, 2), "−2"},
		{wording.Short(100, 0), "100"},
		{wording.Short(-0.04, 1), "0"},
		{wording.Grouped(0, ","), "0"},
		{wording.Grouped(999, ","), "999"},
		{wording.Grouped(1234567, " "), "1 234 567"},
		{wording.Count(1, "note"), "1 note"},
		{wording.Count(0, "note"), "0 notes"},
		{wording.Count(2, "loss", "losses"), "2 losses"},
		{wording.Count(1, "loss", "losses"), "1 loss"},
		{wording.Capital("a b"), "A b"},
		{wording.Capital(""), ""},
	} {
		if c.got != c.want {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
}

func TestAge(t *testing.T) {
	t.Parallel()
	for years, want := range map[float64]string{
		78: "78", 78.9: "78", 2: "2", 1.99: "23 mo", .58: "7 mo", 1.08: "13 mo", .02: "<1 mo", 0: "<1 y", 1: "1 y", 250: "250",
	} {
		if got := wording.Age(years); got != want {
			t.Errorf("%v: %q, want %q", years, got, want)
		}
	}
}

func TestNumber(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]float64{
		"1.50": 1.5, "-3": -3, "+.5": .5, "1e3": 1000, "007": 7, "5.": 5,
		"0": 0, "123456789012345": 123456789012345, "12345678901234567890": 12345678901234567890,
	} {
		if v, err := wording.Number(" " + text + "\t"); v != want || err != nil {
			t.Errorf("%q: %v, %v, want %v", text, v, err, want)
		}
	}
	const (
		comma    = "not a number: it has a decimal comma; write 1.5, not 1,5"
		either   = "not a number: it has a decimal comma or separates thousands; write 1.234 or 1234"
		thousand = "not a number: it separates thousands; write 1234.5"
		date     = "not a number: it is a date"
		clock    = "not a number: it is a time of day"
		percent  = "not a number: it is a percentage; write the number alone"
		limit    = "not a number: it is a limit, not a value"
		digits   = "not a number: only decimal digits count, without underscores"
		several  = "not a number: it holds several values"
		logical  = "not a number: write 1 for true and 0 for false"
		label    = "not a number: it is a number with a label; write the number alone"
		code     = "not a number: it is an answer code such as LimeSurvey's A1"
	)
	for text, want := range map[string]string{
		"": "not a number", "often": "not a number", "1 2": "not a number", "0b1": "not a number", "--1": "not a number",
		"nan": "not a finite number", "-Inf": "not a finite number", "1e999": "not a finite number",
		"1,5": comma, "-0,125": comma, ",5": comma, "1234,567": comma, "1,234": either,
		"1,234.5": thousand, "1.234,5": thousand, "1 234 567": thousand,
		"2026-11-28": date, "28.11.2026 10:00": date, "11/28/26": date, "10:30": clock, "85 %": percent, "<5": limit,
		"1_0": digits, "0x1p4": digits, "-0X1": digits, "A3": code, "AO02": code,
		"4-May": date, "02. Jan": date, "1|3|2": several, "1,2,4": several, "2;4": several, "TRUE": logical, "False": logical,
		"4 = often": label, "1. Never": label, "5 (always)": label, "2 – rarely": label,
	} {
		_, err := wording.Number(text)
		if err == nil || err.Error() != want ||
			errors.Is(err, wording.ErrNotNumber) == errors.Is(err, wording.ErrNotFinite) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}
