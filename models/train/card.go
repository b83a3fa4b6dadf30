package train

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/wardcast/wardcast/classifier/eval"
	"github.com/wardcast/wardcast/models"
)

// card describes a model in Markdown to those who decide on its use, with the sections of the CHAI applied model card. words and
// pieces are the numbers of terms and of pieces of words that count next to the topics.
func card(b *models.Bundle, o *Outcome, words, pieces int) string {
	m, metrics := &b.Manifest, o.Metrics
	var w strings.Builder
	write := func(format string, args ...any) { fmt.Fprintf(&w, format, args...) }
	complaint := "all presenting complaints"
	if m.Complaint != "" {
		complaint = fmt.Sprintf("the presenting complaint %q", m.Complaint)
	}
	write("# %s\n\n## Summary\n\n", m.Name)
	if o.Classes == nil {
		write("Probability that a patient of the emergency department is admitted, from the triage note of %s.\n", complaint)
	} else {
		write(`Probability of each outcome of a patient of the emergency department, from the triage note of %s.
The outcomes are %s; log-odds are against %q. Counted as admitted: %s.
`, complaint, quoted(m.Classes), m.Classes[0], quoted(m.AdmissionClasses))
	}
	write("\n## Uses and directions\n\n"+
		"For planning ward beds while patients still wait. Not for decisions about an individual, and not a medical device.\n"+
		"A note in which no word is known is answered with `abstained`: its probability rests on the auxiliary values alone.\n"+
		"\n## Development data\n\n- notes: %d, of which %d admitted (%.1f %%)\n",
		m.Training.Documents, m.Training.Positives, 100*float64(m.Training.Positives)/float64(max(m.Training.Documents, 1)))
	if !m.Training.From.IsZero() {
		write("- arrivals from %s to %s\n", m.Training.From.Format(time.DateOnly), m.Training.To.Format(time.DateOnly))
	}
	write("- vocabulary: %d terms, %s rows\n\n## Model\n\n", len(b.Vocabulary), m.Weighting)
	var features []string
	if m.Rank > 0 || words == 0 {
		features = append(features, fmt.Sprintf("%d topics (%s)", m.Rank, m.Method))
	}
	if words > 0 {
		features = append(features, fmt.Sprintf("%d single words", words))
	}
	if pieces > 0 {
		features = append(features, fmt.Sprintf("%d pieces of words", pieces))
	}
	write("Logistic regression")
	validated := "Vocabulary and topics had seen the text of the held-out notes, never their outcome; penalty and threshold"
	if on := strings.Join(features, ", "); Method(m.Method).Supervised() {
		write(" on %s, topics and coefficients made together from text and outcomes (supervised factorization), their", on)
		validated = "The vocabulary had seen the text of the held-out notes, topics and coefficients neither text nor outcome; weights of the factorization and threshold"
	} else {
		write(" (elastic net) on %s, its", on)
	}
	write(" settings in `manifest.json`; calibration: %s.\n", m.Calibration.Kind)
	for _, a := range m.Aux {
		write("- auxiliary: %s (%s)\n", a.Name, a.Kind)
	}
	write("\n## Key metrics\n\nCross-validated over the training notes. %s were chosen on these very predictions.\n", validated)
	if o.Classes != nil {
		classCard(write, o.Classes)
	}
	write("\n| measure | value |\n| --- | --- |\n")
	row := func(name string, v *float64) {
		if v != nil {
			write("| %s | %.3f |\n", name, *v)
		}
	}
	row("AUROC", metrics.AUROC)
	if i := metrics.AUROCInterval; i != nil {
		write("| AUROC, 95 %% interval | %.3f to %.3f |\n", i.Low, i.High)
	}
	row("AUPRC", metrics.AUPRC)
	row("Brier score", &metrics.Brier)
	row("Brier score, scaled", metrics.BrierScaled)
	row("log loss", &metrics.LogLoss)
	row("calibration slope", metrics.CalibrationSlope)
	row("threshold", &m.Threshold)
	row("accuracy at it", &metrics.Accuracy)
	write("\n## Warnings\n\n" +
		"Trained on the notes of one place and time. Re-train where shorthand, patients or admission policy differ, and look at the topics before use.\n")
	return w.String()
}

// classCard writes the measures of several outcomes.
func classCard(write func(string, ...any), m *eval.ClassMetrics) {
	write(`
| measure | value |
| --- | --- |
| accuracy of the most probable outcome | %.3f |
| balanced accuracy | %.3f |
| log loss | %.3f |
| Brier score of all outcomes, 0 to 2 | %.3f |
`, m.Accuracy, m.BalancedAccuracy, m.LogLoss, m.Brier)
	if m.AUROC != nil {
		write("| AUROC, mean of the outcomes | %.3f |\n", *m.AUROC)
	}
	write("\n| outcome | notes | called rightly | AUROC against the others |\n| --- | --- | --- | --- |\n")
	for c, of := range m.Classes {
		area := "-"
		if of.AUROC != nil {
			area = fmt.Sprintf("%.3f", *of.AUROC)
		}
		write("| %s | %d | %d | %s |\n", strings.ReplaceAll(of.Class, "|", `\|`), of.N, m.Confusion[c][c], area)
	}
	write("\nOf admission, the sum of its outcomes:\n")
}

func quoted(names []string) string {
	out := make([]string, len(names))
	for i, name := range names {
		out[i] = strconv.Quote(name)
	}
	return strings.Join(out, ", ")
}
