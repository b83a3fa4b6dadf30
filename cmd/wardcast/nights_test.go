package main

import (
	"bufio"
	"strings"
	"testing"

	"github.com/wardcast/wardcast/internal/lab/demo"
	"github.com/wardcast/wardcast/models/gate"
	"github.com/wardcast/wardcast/models/train"
)

// TestDescribeNight writes a night without a champion, one with all there is, and the rollback.
func TestDescribeNight(t *testing.T) {
	t.Parallel()
	area, took := 0.8125, 2.34
	worth := &demo.Worth{LogLoss: 0.41, AUROC: &area}
	for want, n := range map[string]demo.Night{
		`Night 0, after 2026-01-01
  challenger  log loss 0.4100, AUROC -, on 50 later notes with 20 admissions
  refuse      no better than the base rate
  served      G0
  notes       600 sent, 1 lost

`: {
			Date: "2026-01-01", Decision: gate.Refuse, Reason: "no better than the base rate", Later: 50, Events: 20,
			Challenger: &demo.Worth{LogLoss: 0.41}, Generation: "G0", Notes: 600, Lost: 1,
		},
		`Night 3, after 2026-01-04: a flood
  champion    log loss 0.4100, AUROC 0.812
  challenger  log loss 0.4100, AUROC 0.812, on 50 later notes with 20 admissions
  topics      4 of 5 keep their number, mean cosine 0.91
  recalibrate as it was
  swapped     both scorers answer by G1, 2.3 s after the change
  notes       600 sent, 0 lost

`: {
			Night: 3, Date: "2026-01-04", BuiltIn: "a flood", Decision: gate.Recalibrate, Reason: "as it was",
			Later: 50, Events: 20, Champion: worth, Challenger: worth,
			Alignment: &train.Alignment{Kept: 4, Of: 5, MeanCosine: 0.912}, Generation: "G1",
			SwapSeconds: &took, Notes: 600,
		},
		`Rollback
  reason      to show it
  swapped     both scorers answer by G0, 2.3 s after the change
  notes       9 sent, 0 lost

`: {Night: 4, Reason: "to show it", Generation: "G0", SwapSeconds: &took, Notes: 9},
	} {
		var got strings.Builder
		out := bufio.NewWriter(&got)
		describe(out, &n)
		if err := out.Flush(); err != nil || got.String() != want {
			t.Errorf("got\n%swant\n%s%v", got.String(), want, err)
		}
	}
}
