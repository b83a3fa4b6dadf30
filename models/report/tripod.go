package report

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/wardcast/wardcast/internal/wording"
)

// Item answers one item of TRIPOD+AI.
type Item struct {
	Number string `json:"item"`
	Topic  string `json:"topic"`
	Answer string `json:"answer"`
}

// items returns the items of TRIPOD+AI that a program can answer, by number.
func (r *Report) items() []Item {
	m, d, s := r.Manifest, &r.Data, r.Site
	text := settings(m.Text)
	solver := "no factorization on record"
	if len(m.Solver) > 0 {
		solver = "factorization: " + settings(m.Solver)
	}
	recalibrated := "no recalibration after training; calibration in training: " + string(m.Calibration.Kind)
	if r.Verdict != nil && r.Verdict.Figures.Recalibrated != nil {
		recalibrated = fmt.Sprintf("a recalibration of the champion was tried: intercept %s, slope %s",
			wording.Fixed(r.Verdict.Figures.Recalibrated.Intercept, 3),
			wording.Fixed(r.Verdict.Figures.Recalibrated.Slope, 3))
	}
	return []Item{
		{"5a", "Data sources", orElse(strings.Join(d.Sources, "; "), missing)},
		{"5b", "Dates", fmt.Sprintf("training %s; evaluation %s", orElse(days(d.Training), "unknown"),
			orElse(days(d.Evaluation), "unknown"))},
		{"6a", "Setting", orElse(s.TargetPopulation, missing)},
		{"7", "Preparation of the data", text},
		{"8a", "Outcome", orElse(d.Outcome, missing)},
		{"9b", "Predictors", r.formula()},
		{"10", "Sample size", fmt.Sprintf(
			"training %s notes, %s admitted, events per variable %s; evaluation %s notes, %s admitted",
			grouped(d.Training.Notes), grouped(d.Training.Events), r.perVariable(), grouped(d.Evaluation.Notes),
			grouped(d.Evaluation.Events))},
		{"11", "Missing data", "a missing auxiliary value is a feature of its own if enough patients lack the value; " +
			"otherwise it counts as the training mean. A note without a known word gets abstained"},
		{"12a", "Use of the data", map[Kind]string{
			Later: "temporal split: evaluated on notes later than training",
			Latest: "temporal split: the latest training notes, predicted with coefficients from the earlier notes; " +
				"vocabulary, topics, penalty, calibration and threshold are from all",
			OutOfFold: "cross-validation in folds that never split a patient",
		}[r.Kind]},
		{"12b", "Type of model", fmt.Sprintf("%s Settings: %s", r.formula(), settings(m.Head))},
		{"12c", "Fitting", fmt.Sprintf("seed %d; %s", m.Seed, solver)},
		{"12d", "Heterogeneity", "section Subgroups: complaint, site, and what else the notes record"},
		{"12e", "Measures", "section Figures; intervals count the notes of a patient as one"},
		{"12f", "Model updating", recalibrated},
		{"12g", "Output", "logit = intercept + Σ contributions; formula and files in manifest.json"},
		{"13", "Class imbalance", "no class is weighted, unless the settings under 12b say so"},
		{"14", "Fairness", orElse(s.BiasMitigation, missing) + "; figures in section Subgroups"},
		{"15", "Output and thresholds", fmt.Sprintf("%s. Threshold %s, chosen for %s", output,
			wording.Fixed(m.Threshold, 3), orElse(m.ThresholdRule, "an unrecorded rule"))},
		{"16", "Training and evaluation data", "sections Notes and Drift"},
		{"18a", "Funding", orElse(s.Funding, missing)},
		{"18f", "Availability of code", "wardcast " + orElse(m.Wardcast, "(version unknown)") + ", open source"},
		{"20a", "Participants", r.exclusions()},
		{"20c", "Differences between training and evaluation", "section Drift"},
		{"21", "Events", fmt.Sprintf("training %s of %s, evaluation %s of %s", grouped(d.Training.Events),
			grouped(d.Training.Notes), grouped(d.Evaluation.Events), grouped(d.Evaluation.Notes))},
		{"22", "Model specification", "SHA-256 of the vocabulary " + orElse(m.VocabularySHA256, "in manifest.json")},
		{"23a", "Performance", "section Figures"},
		{"23b", "Performance by group", "section Subgroups"},
		{"24", "Results of updating", r.judged()},
		{"26", "Limits", "docs/limits.md, and the warnings of this report"},
		{"27a", "Poor or unavailable input", "English only; an empty note, and one without a known word, gets " +
			"abstained"},
	}
}

func (r *Report) exclusions() string {
	var left, also []string
	for _, x := range r.Data.Exclusions {
		left = append(left, fmt.Sprintf("%s: %s", x.Reason, grouped(x.Notes)))
	}
	for _, x := range r.Data.Counts {
		also = append(also, fmt.Sprintf("%s: %s", x.Name, counted(x.Number)))
	}
	out := "excluded notes: " + orElse(strings.Join(left, "; "), "none on record")
	if len(also) > 0 {
		out += ". Also counted: " + strings.Join(also, "; ")
	}
	return out
}

// settings returns the plain values of a JSON object by name, lists and objects by their lengths.
func settings(raw json.RawMessage) string {
	var all map[string]any
	if json.Unmarshal(raw, &all) != nil || len(all) == 0 {
		return "not on record"
	}
	var out []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		switch v := all[name].(type) {
		case nil:
		case map[string]any:
			out = append(out, fmt.Sprintf("%s: %d entries", name, len(v)))
		case []any:
			out = append(out, fmt.Sprintf("%s: %d entries", name, len(v)))
		default:
			out = append(out, fmt.Sprintf("%s %v", name, v))
		}
	}
	return strings.Join(out, ", ")
}
