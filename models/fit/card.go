package fit

import (
	"fmt"
	"strings"
	"time"

	"github.com/wardcast/wardcast/classifier/eval"
	"github.com/wardcast/wardcast/models"
)

// card describes a model to those who decide on its use, in Markdown, by the sections of the CHAI applied
// model card. words is the number of single words beside the topics.
func card(b *models.Bundle, metrics *eval.Metrics, words int) string {
	m := &b.Manifest
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
	line("Probability that a patient of the emergency department is admitted, from the triage note of %s.", what)
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
	line("Logistic regression (elastic net) on %s, its settings in `manifest.json`; calibration: %s.", features, m.Calibration.Kind)
	for _, a := range m.Aux {
		line("- auxiliary: %s (%s)", a.Name, a.Kind)
	}
	line("")
	line("## Key metrics")
	line("")
	line("Cross-validated over the training notes. Vocabulary and topics had seen the text of the held-out notes, never their outcome; penalty and threshold were chosen on these very predictions.")
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
