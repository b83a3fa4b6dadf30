package wording_test

import (
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
