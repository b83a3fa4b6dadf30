package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/wardcast/wardcast/internal/chart"
	"github.com/wardcast/wardcast/internal/lists"
	"github.com/wardcast/wardcast/internal/questionnaire"
	"github.com/wardcast/wardcast/internal/questionnaire/model"
	"github.com/wardcast/wardcast/internal/wording"
)

// The first page names a factor by its first briefItems items.
const briefItems = 5

// By a rule of thumb, scores with at least this reliability can compare groups.
const groups = 0.70

// brief describes a factor on the first page.
type brief struct {
	Name   string
	Theme  string // what its items share, "" if only their names are known
	Items  []model.Loading
	Scores string // a sentence on them
}

// Briefs describes the factors.
func (m sheet) Briefs() []brief {
	var all []brief
	for _, c := range m.Columns()[:m.Summary.Factors] {
		b := brief{Name: c.Name, Items: c.Top[:min(briefItems, len(c.Top))]}
		b.Theme, b.Scores = theme(b.Items), m.spread(len(all), c.Fit)
		switch e := m.Summary.ExplainedBy; {
		case c.Accounted != nil:
			b.Scores = fmt.Sprintf("It accounts for %s of the variance of the %s. ",
				wording.Percent(c.Accounted.Proportion), m.Loading()) + b.Scores
		case e != nil:
			b.Scores = fmt.Sprintf("It explains %s of the differences. ",
				wording.Percent(e.Factors[len(all)].Share)) + b.Scores
		}
		all = append(all, b)
	}
	return all
}

// theme returns the subscale of most of the items, or else the text of the first one.
func theme(items []model.Loading) string {
	count := map[string]int{}
	for _, item := range items {
		if count[item.Subscale]++; item.Subscale != "" && 2*count[item.Subscale] > len(items) {
			return item.Subscale
		}
	}
	if len(items) == 0 {
		return ""
	}
	return strings.TrimRight(chart.Shorten(items[0].Text, longestText), ".")
}

// spread describes the distribution of a factor's scores, and the error of a single one. A fit with a bootstrap has two
// errors: that of measurement, which the reliability is about, and one that includes the error of the loadings.
func (m sheet) spread(factor int, f *model.FactorFit) string {
	how := fmt.Sprintf("Present to %.2f on average. It is absent in %s of the participants, and more than half "+
		"present in %s.", f.Mean, wording.Percent(f.Absent), wording.Percent(f.High))
	if m.FA != nil {
		how = fmt.Sprintf("The standard deviation of the scores is %.2f.", f.Deviation)
	}
	if f.StandardError == 0 { // no score is a measurement
		return how
	}
	const normal = 1.96
	all, alone := f.StandardError, f.StandardError
	if b := m.Summary.Bootstrap; b != nil {
		alone = math.Sqrt(max(0, all*all-b.Scores[factor]*b.Scores[factor]))
	}
	how += fmt.Sprintf(" The error of measurement of a single score is about ±%.2f (95 %%); reliability %.2f",
		normal*alone, f.Reliability)
	if f.Reliability < groups {
		how += ", which is low"
	}
	how += "."
	if all > alone {
		how += fmt.Sprintf(" The loadings are not known exactly either: with their error it is ±%.2f.", normal*all)
	}
	if few := m.Summary.Participants - f.Participants; f.Participants > 0 && few > 0 {
		how += fmt.Sprintf(" This is about %s; %s gave too few answers about it.",
			wording.Count(f.Participants, "participant"), wording.Count(few, "other"))
	}
	return how
}

// Title names the model.
func (m sheet) Title() string {
	return fmt.Sprintf("%s of %s", wording.Count(m.Summary.Factors, "factor"), wording.Count(len(m.Items), "item"))
}

// Words summarizes the fit.
func (m sheet) Words() string {
	s := &m.Summary
	factors, verb := wording.Count(s.Factors, "factor"), "explain"
	switch {
	case m.ConfoundLoadings() != nil:
		names := lists.Map(m.Confounds, func(c questionnaire.Confound) string { return c.Name })
		factors += ", together with " + strings.Join(names, ", ") + ","
	case s.Factors == 1:
		verb += "s"
	}
	scores, unseen := "", ""
	if m.FA != nil {
		scores = "By the participants' scores, "
	}
	if e := s.ExplainedBy; e != nil && e.CrossValidated != nil {
		unseen = fmt.Sprintf(", and %s in participants and answers that the fit has not seen",
			wording.Percent(e.CrossValidated.Explained))
	}
	words := fmt.Sprintf(
		"%s answered %s. %s%s %s %s of the differences between participants in their answers to an item%s.",
		wording.Count(s.Participants, "participant"), wording.Count(len(m.Items), "item"), scores, factors, verb,
		wording.Percent(s.Explained), unseen)
	if m.FA != nil {
		var common float64
		for _, a := range s.Accounted {
			common += a.Proportion
		}
		less := " What the items have in common by the loadings alone is less, %s of the variance of the %s: scores " +
			"also fit what each answer has of its own."
		if m.latent() {
			less = " By the loadings alone, the factors explain another share, %s of the variance of the %s."
		}
		words += fmt.Sprintf(less, wording.Percent(common), m.Loading())
	}
	return words
}

// latent reports whether the method assumes continuous responses, of which it sees only the category.
func (m sheet) latent() bool {
	return m.Summary.Method == model.MethodGRM || m.Summary.Settings.Correlation == model.Polychoric
}

// Loading names the variables whose loadings factor analysis and the graded response model have.
func (m sheet) Loading() string {
	if m.latent() {
		return "continuous responses behind the answers"
	}
	return "standardized answers"
}

// Sure lists the precision of the numbers.
func (m sheet) Sure() []string {
	s := &m.Summary
	var all []string
	lowest, highest := math.Inf(1), math.Inf(-1)
	for _, f := range s.FactorFits {
		if f.StandardError > 0 {
			lowest, highest = min(lowest, f.Reliability), max(highest, f.Reliability)
		}
	}
	if lowest <= highest {
		span := slices.Compact([]string{fmt.Sprintf("%.2f", lowest), fmt.Sprintf("%.2f", highest)})
		sure := fmt.Sprintf("Scores: the reliability of the factors is %s. It is the share of the scores' "+
			"variance that is not error of measurement, with loadings that count as known. From %.2f on, scores can "+
			"compare groups; from 0.90 on, they can judge a single person, if the error of the loadings adds little. "+
			"It is estimated from one measurement, and is not the correlation of scores at two times.",
			strings.Join(span, " to "), groups)
		if m.FA == nil {
			sure += " For this method it is approximate, since bounds and penalties bend the scores: that " +
				"correlation can be lower or higher by 0.1 even in people who have not changed."
		}
		all = append(all, sure)
	}
	switch b := s.Bootstrap; {
	case b != nil:
		least := 0
		for t, f := range b.Factors {
			if f.Congruence < b.Factors[least].Congruence {
				least = t
			}
		}
		all = append(all, fmt.Sprintf("Loadings: the brackets are %.0f %% intervals from %d bootstrap samples "+
			"of these participants. The least stable factor is factor%d, with a mean congruence of %.3f with its "+
			"match; from 0.95 on two factors count as equal, from 0.85 on as similar.", 100*b.Level, b.Replicates,
			least+1, b.Factors[least].Congruence))
	case s.StandardErrors != nil:
		all = append(all, "Loadings: the brackets are 95 % intervals of maximum likelihood, for answers that are "+
			"normally distributed and factors that fit.")
	default:
		all = append(all, "Loadings: their intervals were not asked for (--bootstrap).")
	}
	switch {
	case s.Disagree():
		all = append(all, "Number of factors: "+s.Sentence())
	case len(s.BCV) > 0 && s.BCV[0].Factors != s.BCV[len(s.BCV)-1].Factors:
		all = append(all, "Number of factors: chosen by the error on held-out answers.")
	case s.Parallel != nil:
		all = append(all,
			"Number of factors: chosen by parallel analysis, which compares the answers with random ones.")
	default:
		all = append(all, "Number of factors: given, not chosen from these answers.")
	}
	return all
}
