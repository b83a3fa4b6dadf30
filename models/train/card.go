package train

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/wardcast/wardcast/classifier/eval"
	"github.com/wardcast/wardcast/models"
)

// card describes a model to those who decide on its use, in Markdown, by the sections of the CHAI applied
// model card. words is the number of single words beside the topics.
func card(b *models.Bundle, o *Outcome, words int) string {
	m, metrics := &b.Manifest, o.Metrics
	var w strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&w, format+"\n", args...) }
	what := "all presenting complaints"
	if m.Complaint != "" {
		what = fmt.Sprintf("the presenting complaint %q", m.Complaint)
	}
	line("# %s", m.Name)
	line("")
	line("## Summary")
	line("")
	if o.Classes == nil {
		line("Probability that a patient of the emergency department is admitted, from the triage note of %s.", what)
	} else {
		line("Probability of each outcome of a patient of the emergency department, from the triage note of %s.", what)
		line("The outcomes are %s; log-odds are against %q. Counted as admitted: %s.", quoted(m.Classes), m.Classes[0], quoted(m.AdmissionClasses))
	}
	line("")
	line("## Uses and directions")
	line("")
	line("For planning ward beds while patients still wait. Not for decisions about an individual, and not a medical device.")
	line("A note in which no word is known is answered with `abstained`: its probability rests on the auxiliary values alone.")
	line("")
	line("## Development data")
	line("")
	line("- notes: %d, of which %d admitted (%.1f %%)", m.Training.Documents, m.Training.Positives, 100*float64(m.Training.Positives)/float64(max(m.Training.Documents, 1)))
	if !m.Training.From.IsZero() {
		line("- arrivals from %s to %s", m.Training.From.Format(time.DateOnly), m.Training.To.Format(time.DateOnly))
	}
	line("- vocabulary: %d terms, %s rows", len(b.Vocabulary), m.Weighting)
	line("")
	line("## Model")
	line("")
	features := fmt.Sprintf("%d topics (%s)", m.Rank, m.Method)
	if words > 0 {
		beside := fmt.Sprintf("%d single words", words)
		if m.Rank > 0 {
			features += " and " + beside
		} else {
			features = beside
		}
	}
	supervised := Method(m.Method).Supervised()
	if supervised {
		line("Logistic regression on %s, topics and coefficients made together from text and outcomes (supervised factorization), their settings in `manifest.json`; calibration: %s.", features, m.Calibration.Kind)
	} else {
		line("Logistic regression (elastic net) on %s, its settings in `manifest.json`; calibration: %s.", features, m.Calibration.Kind)
	}
	for _, a := range m.Aux {
		line("- auxiliary: %s (%s)", a.Name, a.Kind)
	}
	line("")
	line("## Key metrics")
	line("")
	if supervised {
		line("Cross-validated over the training notes. The vocabulary had seen the text of the held-out notes, topics and coefficients neither text nor outcome; weights of the factorization and threshold were chosen on these very predictions.")
	} else {
		line("Cross-validated over the training notes. Vocabulary and topics had seen the text of the held-out notes, never their outcome; penalty and threshold were chosen on these very predictions.")
	}
	if o.Classes != nil {
		line("")
		classCard(line, o.Classes)
		line("")
		line("Of admission, the sum of its outcomes:")
	}
	line("")
	line("| measure | value |")
	line("| --- | --- |")
	row := func(name string, v *float64) {
		if v != nil {
			line("| %s | %.3f |", name, *v)
		}
	}
	row("AUROC", metrics.AUROC)
	if i := metrics.AUROCInterval; i != nil {
		line("| AUROC, 95 %% interval | %.3f to %.3f |", i.Low, i.High)
	}
	row("AUPRC", metrics.AUPRC)
	row("Brier score", &metrics.Brier)
	row("Brier score, scaled", metrics.BrierScaled)
	row("log loss", &metrics.LogLoss)
	row("calibration slope", metrics.CalibrationSlope)
	row("threshold", &m.Threshold)
	row("accuracy at it", &metrics.Accuracy)
	line("")
	line("## Warnings")
	line("")
	line("Trained on the notes of one place and time. Re-train where shorthand, patients or admission policy differ, and look at the topics before use.")
	return w.String()
}

// classCard writes what was measured of several outcomes.
func classCard(line func(string, ...any), m *eval.ClassMetrics) {
	line("| measure | value |")
	line("| --- | --- |")
	line("| accuracy of the most probable outcome | %.3f |", m.Accuracy)
	line("| balanced accuracy | %.3f |", m.BalancedAccuracy)
	line("| log loss | %.3f |", m.LogLoss)
	line("| Brier score of all outcomes, 0 to 2 | %.3f |", m.Brier)
	if m.AUROC != nil {
		line("| AUROC, mean of the outcomes | %.3f |", *m.AUROC)
	}
	line("")
	line("| outcome | notes | called rightly | AUROC against the others |")
	line("| --- | --- | --- | --- |")
	for c, of := range m.Classes {
		area := "-"
		if of.AUROC != nil {
			area = fmt.Sprintf("%.3f", *of.AUROC)
		}
		line("| %s | %d | %d | %s |", strings.ReplaceAll(of.Class, "|", `\|`), of.N, m.Confusion[c][c], area)
	}
}

func quoted(names []string) string {
	out := make([]string, len(names))
	for i, name := range names {
		out[i] = strconv.Quote(name)
	}
	return strings.Join(out, ", ")
}
