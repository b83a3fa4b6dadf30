package models

import (
	"strings"
	"testing"
)

// TestSparks: the lines of all figures have one scale, from 0 on.
func TestSparks(t *testing.T) {
	t.Parallel()
	value := func(v float64) *float64 { return &v }
	all := sparks([]version{
		{facts: &facts{AUROC: value(0.5), Brier: value(0.5)}}, {facts: &facts{AUROC: value(1), Slope: value(2)}},
	})
	for i, want := range []string{"M5 24.5L155 18", "M5 24.5h0", "M155 5h0"} { // of 0 at 31 to 2 at 5
		if !strings.Contains(string(all[i].Chart), `class="med" d="`+want+`"`) {
			t.Errorf("%s: %s, want %s", all[i].Name, all[i].Chart, want)
		}
	}
}
