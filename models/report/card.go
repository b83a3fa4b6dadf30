package report

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/wardcast/wardcast/internal/wording"
)

// Card returns card.md, with the sections of CHAI's applied model card version 0.2.
func (r *Report) Card() string {
	c := &card{r: r}
	c.line("# %s", r.name())
	c.line("")
	for _, s := range r.InShort() {
		c.line("- %s", s)
	}
	c.line("\n%s", r.measuredOn())
	if len(r.Warnings) > 0 {
		c.line("\n**Warnings**\n")
		for _, w := range r.Warnings {
			c.line("- %s", w)
		}
	}
	c.release()
	c.uses()
	c.risks()
	c.facts()
	c.metrics()
	c.head("Resources")
	c.line("Report with plots: `report.html`; the same figures for programs: `report.json`. What wardcast can and " +
		"cannot do:\n`docs/limits.md`; questions of a clinical safety officer: `docs/safety.md`.")
	for _, s := range r.Site.Resources {
		c.line("- %s", plain(s))
	}
	c.head("Bibliography")
	c.line("Collins et al. 2024, TRIPOD+AI, BMJ 385. Van Calster et al. 2025, performance measures of predictive AI " +
		"models, Lancet Digit.\nHealth. CHAI applied model card v0.2, 2025.")
	return c.b.String()
}

type card struct {
	r *Report
	b strings.Builder
}

func (c *card) line(format string, args ...any) { fmt.Fprintf(&c.b, format+"\n", args...) }

// table begins a table with these columns.
func (c *card) table(columns ...string) {
	c.line("\n| %s |\n%s|", strings.Join(columns, " | "), strings.Repeat("| --- ", len(columns)))
}

func (c *card) row(cells ...string) { c.line("| %s |", strings.Join(cells, " | ")) }

func (c *card) head(name string) { c.line("\n## %s\n", name) }

// field writes one field, of the site or of wardcast.
func (c *card) field(name, text string) { c.line("- **%s**: %s", name, orElse(plain(text), missing)) }

// plain returns a text on one line that Markdown interprets neither as a table nor as HTML.
func plain(text string) string {
	return strings.NewReplacer("<", "&lt;", "|", `\|`).Replace(strings.Join(strings.Fields(text), " "))
}

func (c *card) release() {
	r, s := c.r, c.r.Site
	c.head("Release")
	c.field("Model", r.Manifest.Name)
	c.field("Version", "the name of this folder; it ends in the first six digits of the manifest's SHA-256")
	c.field("Trained", fmt.Sprintf("%s by wardcast %s", r.Manifest.CreatedAt.UTC().Format(time.RFC3339),
		orElse(r.Manifest.Wardcast, "(version unknown)")))
	c.field("Compared with", orElse(r.Manifest.Parent, "no earlier version"))
	c.field("Verdict of the gate", r.judged())
	c.field("Owner", s.Owner)
	c.field("Contact", s.Contact)
	c.field("Developer", s.Developer)
	c.field("Release stage", s.ReleaseStage)
	c.field("Availability", s.Availability)
	c.field("EHR compatibility", s.EHR)
	c.field("Regulatory approval", s.RegulatoryApproval)
	c.head("Summary")
	c.line("%s", plain(r.summary()))
}

func (c *card) uses() {
	s := c.r.Site
	c.head("Uses and directions")
	c.field("Intended use and workflow", s.IntendedUse)
	c.field("Primary users", s.IntendedUsers)
	c.field("How to use", "to plan ward beds while patients still wait. Not for decisions about an individual, and not "+
		"a medical device. A note without a known word gets `abstained`: its probability rests on the auxiliary values "+
		"alone")
	c.field("Threshold", fmt.Sprintf("%s, chosen for %s", wording.Fixed(c.r.Manifest.Threshold, 3),
		orElse(c.r.Manifest.ThresholdRule, "an unrecorded rule")))
	c.field("Why this threshold", s.ThresholdReason)
	c.field("Target population", s.TargetPopulation)
	c.field("Out of scope", s.OutOfScope)
}

func (c *card) risks() {
	s := c.r.Site
	c.head("Warnings and hazards")
	c.line("Trained on notes from one place and time. Train again if shorthand, patients or admission policy differ, " +
		"and read the topics\nbefore use. It learns what was done, not what was right: if a group was admitted too " +
		"rarely, it repeats that.\n")
	c.field("Known biases and ethical considerations", s.KnownBiases)
	c.field("Clinical risk level", s.ClinicalRiskLevel)
	if len(s.Hazards) == 0 {
		c.field("Hazards", "")
		return
	}
	c.table("hazard", "cause", "harm", "risk", "control")
	for _, h := range s.Hazards {
		c.row(plain(h.Hazard), plain(h.Cause), plain(h.Harm), plain(h.Risk), plain(h.Control))
	}
}

func (c *card) facts() {
	r, s, d := c.r, c.r.Site, &c.r.Data
	c.head("System facts")
	c.field("Output", output)
	c.field("Explanations read by", r.readers())
	c.field("Model type", r.formula())
	c.field("Foundation models", "none")
	c.field("Outcome", d.Outcome)
	if len(d.Sources) > 0 {
		c.field("Data sources", strings.Join(d.Sources, "; "))
	}
	c.table("period", "arrivals", "notes", "admitted", "patients")
	c.window("training", d.Training)
	c.window(evaluatedOn(r.Kind), d.Evaluation)
	c.line("\n- events per variable: %s", r.perVariable())
	for _, x := range d.Exclusions {
		c.line("- excluded, %s: %s notes", plain(x.Reason), grouped(x.Notes))
	}
	if len(d.Exclusions) == 0 {
		c.line("- excluded: no notes, as far as is on record")
	}
	for _, x := range d.Counts {
		c.line("- %s: %s", plain(x.Name), counted(x.Number))
	}
	if r.Manifest.Complaint != "" && len(d.Exclusions)+len(d.Counts) > 0 {
		c.line("- exclusions and counts are those of all complaints together")
	}
	c.line("- hashes: `manifest.json` next to this card holds the SHA-256 of every file, including this one")
	c.line("")
	c.field("Bias mitigation", s.BiasMitigation)
	c.field("Monitoring plan", s.MonitoringPlan)
	c.field("Maintenance", s.Maintenance)
	c.field("Security", s.Security)
	c.field("Funding", s.Funding)
	c.field("Third parties", s.ThirdParties)
	c.field("Stakeholders consulted", s.Stakeholders)
	c.field("Reviewed by and on", strings.TrimSpace(s.ReviewedBy+" "+s.ReviewedOn))
	if len(r.Shifts) > 0 {
		c.line("\nDrift since the previous version:")
		c.table("figure", "before", "now", "PSI", "PSI by chance")
		for _, x := range r.Shifts {
			c.row(plain(x.Name), figure(x.Before), figure(x.Now), figure(x.PSI), figure(x.Chance))
		}
		c.line("\n%s", psiNote)
	}
}

// psiNote explains a PSI. By chance alone at most 5 % exceed twice its mean, if there are nine bins or more.
const psiNote = "PSI, the population stability index, compares two distributions: below 0.1 little has changed, " +
	"above 0.25 much. With few notes chance alone makes it large: a PSI below about twice the PSI by chance shows no " +
	"change."

// figure returns a number with three decimals, "–" for nil.
func figure(v *float64) string {
	if v == nil {
		return "–"
	}
	return wording.Fixed(*v, 3)
}

func (c *card) window(name string, w Window) {
	patients := "unknown"
	if w.Patients > 0 {
		patients = grouped(w.Patients)
	}
	share := "–"
	if w.Notes > 0 {
		share = fmt.Sprintf("%s (%s)", grouped(w.Events), wording.Percent(float64(w.Events)/float64(w.Notes)))
	}
	c.row(name, orElse(days(w), "unknown"), grouped(w.Notes), share, patients)
}

func evaluatedOn(k Kind) string {
	return "evaluation, " + map[Kind]string{
		Later: "later", Latest: "the latest training notes", OutOfFold: "cross-validated",
	}[k]
}

func (c *card) metrics() {
	r, m := c.r, c.r.Metrics
	c.head("Key metrics")
	c.line("%s", strings.TrimSpace(fmt.Sprintf("Values with 95 %% intervals that count all notes of a patient as one. "+
		"%s %s", r.measuredOn(), r.caveat())))
	if r.Classes != nil {
		c.classes()
	}
	c.line("\nUsefulness and efficacy")
	c.table("measure", "value", "perfect", "base rate")
	c.row("AUROC", ranged(m.AUROC, 3), "1", "0.5")
	c.row("AUPRC", ranged(m.AUPRC, 3), "1", wording.Fixed(m.Prevalence.Value, 3))
	c.row("log loss", ranged(&m.LogLoss, 4), "0", wording.Fixed(m.LogLoss.Value-m.Knowledge.Value, 4))
	c.row("Brier score", ranged(&m.Brier, 4), "0", wording.Fixed(m.Prevalence.Value*(1-m.Prevalence.Value), 4))
	c.row("Brier score, scaled", ranged(m.BrierScaled, 3), "1", "0")
	c.line("\nSafety and reliability: calibration and thresholds")
	c.table("measure", "value", "perfect")
	c.row("calibration in the large (intercept at slope 1)", ranged(m.CalibrationIntercept, 3), "0")
	c.row("calibration slope", ranged(m.CalibrationSlope, 3), "1")
	c.row("observed to expected admissions", ranged(m.ObservedExpected, 3), "1")
	if m.CalibrationError != nil {
		c.row("mean distance from the smooth calibration curve", wording.Fixed(*m.CalibrationError, 4), "0")
	}
	c.table("threshold", "marked", "sensitivity", "specificity", "PPV", "NPV")
	for i, at := range r.Thresholds {
		name := wording.Fixed(at.Threshold, 3)
		if i == 0 {
			name = "**" + name + "**, " + r.own()
		}
		c.row(name, wording.Percent(at.Called.Value), shareRange(at.Sensitivity), shareRange(at.Specificity),
			shareRange(at.PPV), shareRange(at.NPV))
	}
	if len(r.Data.Nurse) > 0 {
		c.line("\nThe nurse's own estimate, on the training notes that hold one; the models out of fold")
		c.table("who", "notes", "AUROC", "accuracy at the nurse's threshold, 50 %")
	}
	for _, n := range r.Data.Nurse {
		c.row(n.Who, grouped(n.Notes), wording.Fixed(n.AUROC, 3), wording.Percent(n.Accuracy))
	}
	c.line("\nFairness and equity")
	if len(r.Subgroups) == 0 {
		c.line("\nNo subgroups on record.")
		return
	}
	c.table("group", "notes", "admitted", "AUROC", "observed to expected", "sensitivity at the threshold")
	for _, g := range r.shown() {
		m := g.Metrics
		c.row(plain(g.Grouping+" "+g.Level), grouped(m.N), grouped(m.Positives), ranged(m.AUROC, 3),
			ranged(m.ObservedExpected, 2), shareRange(g.Threshold.Sensitivity))
	}
	if small := r.small(); small != "" {
		c.line("\n%s", plain(small))
	}
}

func (c *card) classes() {
	m := c.r.Classes
	c.line("\nOf all outcomes, cross-validated on the training notes")
	c.table("measure", "value")
	c.row("accuracy of the most probable outcome", figure(&m.Accuracy))
	c.row("balanced accuracy", figure(&m.BalancedAccuracy))
	c.row("log loss", figure(&m.LogLoss))
	c.row("Brier score, 0 to 2", figure(&m.Brier))
	if m.AUROC != nil {
		c.row("AUROC, mean of the outcomes", figure(m.AUROC))
	}
	c.table("outcome", "notes", "predicted correctly", "AUROC against the others")
	for i, of := range m.Classes {
		c.row(plain(of.Class), strconv.Itoa(of.N), strconv.Itoa(m.Confusion[i][i]), figure(of.AUROC))
	}
	c.line("\nThe other figures are those of admission, the sum of its outcomes.")
}
