package wording_test

import (
	"errors"
	"testing"

	"github.com/wardcast/wardcast/internal/wording"
)

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
