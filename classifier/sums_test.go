package classifier

import (
	"math"
	"slices"
	"strings"

	"github.com/wardcast/wardcast/ingest/msg"
)

// sumTolerance is the contract's bound on the sums of an explanation.
const sumTolerance = 1e-9

// fataler is what testing.T and rapid.T share.
type fataler interface {
	Helper()
	Fatalf(format string, args ...any)
}

// checkSums holds the contributions of p against its logit and those of each topic's terms against the topic's.
func checkSums(t fataler, p *msg.Prediction) {
	t.Helper()
	total := p.Intercept
	for _, topic := range p.Topics {
		total += topic.Contribution
		inner := 0.0
		for _, term := range topic.Terms {
			inner += term.Contribution
		}
		if math.Abs(inner-topic.Contribution) > sumTolerance {
			t.Fatalf("topic %d contributes %v, its terms %v", topic.Topic, topic.Contribution, inner)
		}
	}
	for _, w := range p.Words {
		total += w.Contribution
	}
	for _, a := range p.Aux {
		total += a.Contribution
	}
	if math.Abs(total-p.Logit) > sumTolerance {
		t.Fatalf("contributions sum to %v, logit %v", total, p.Logit)
	}
	total = p.Intercept
	for _, e := range p.Evidence {
		total += e.Contribution
	}
	for _, a := range p.Aux {
		total += a.Contribution
	}
	if math.Abs(total-p.Logit) > sumTolerance {
		t.Fatalf("intercept, evidence and auxiliary values sum to %v, logit %v", total, p.Logit)
	}
}

// checkPlaces holds the positions of evidence against the text.
func checkPlaces(t fataler, text string, p *msg.Prediction) {
	t.Helper()
	runes := []rune(text)
	taken := make([]bool, len(runes))
	others := 0
	for i, e := range p.Evidence {
		if e.Other == msg.OtherWords {
			if others++; others > 1 || e.End > 0 || e.Text != "" || len(e.Terms) > 0 {
				t.Fatalf("other words are %+v", e)
			}
			continue
		}
		if e.End == 0 {
			if i < len(p.Evidence)-1 || e.Text != "" || len(e.Terms) > 0 {
				t.Fatalf("the rest is %+v at %d of %d", e, i, len(p.Evidence))
			}
			continue
		}
		if e.Start < 0 || e.Start >= e.End || e.End > len(runes) {
			t.Fatalf("evidence at %d to %d of %d characters", e.Start, e.End, len(runes))
		}
		for c := e.Start; c < e.End; c++ {
			if taken[c] {
				t.Fatalf("character %d counts twice", c)
			}
			taken[c] = true
		}
		if e.Text != "" && e.Text != string(runes[e.Start:e.End]) {
			t.Fatalf("evidence prints %q for %q", e.Text, string(runes[e.Start:e.End]))
		}
		for _, unknown := range []string{"zebra", "quokka"} {
			if strings.Contains(e.Text, unknown) || slices.Contains(e.Terms, unknown) {
				t.Fatalf("evidence prints a word that the model lacks: %+v", e)
			}
		}
	}
}
