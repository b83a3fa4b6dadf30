package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/alecthomas/kong"

	"github.com/wardcast/wardcast/internal/cli"
	"github.com/wardcast/wardcast/internal/questionnaire"
	"github.com/wardcast/wardcast/internal/questionnaire/evaluate"
	"github.com/wardcast/wardcast/internal/questionnaire/model"
)

type questionnaireEvaluateCmd struct {
	answerFlags
	learning
	cli.Output
	Labels  []string `help:"Columns of outcomes to predict, as in adhd,sex=F: 1 is positive, or the given value; dx=SCHZ:CONTROL leaves out all other values." placeholder:"LIST"`
	Methods []string `help:"Methods to compare: icqf, fa and l1-nmf; and as baselines items, pca, sums of the subscales, and missing, which uses only which answers are missing." default:"icqf" enum:"${evaluateMethods}" placeholder:"LIST"`
	Repeats int      `help:"Number of splits of the participants." default:"${repeats}"`
}

func (c *questionnaireEvaluateCmd) Run(ctx context.Context, d *cli.Deps, command *kong.Context) error {
	icqf := slices.Contains(c.Methods, model.MethodICQF)
	chooses := slices.ContainsFunc(c.Methods, evaluate.HasFactors) && len(c.Factors) != 1 || icqf && len(c.Beta) != 1
	var others []string
	if chooses {
		others = []string{evaluate.Chooser(c.Methods)}
	}
	if err := checkUsed(command, c.Methods, chooses, others...); err != nil {
		return err
	}
	if !icqf && len(c.Beta) > 0 {
		return cli.Usagef("--beta applies only to icqf, which is not among the --methods")
	}
	o := evaluate.Options{Methods: c.Methods, Repeats: c.Repeats}
	err := atLeast(1, "repeats", c.Repeats)
	if err != nil {
		return err
	}
	if o.Options, err = c.read(d, &c.answerFlags); err != nil {
		return err
	}
	if o.Columns.Labels, err = questionnaire.ParseLabels(c.Labels); err != nil {
		return err
	}
	if chooses {
		d.Log.Info("the number of factors or beta is chosen on all participants and again in each repeat",
			"choices", 1+c.Repeats)
	}
	bar := cli.NewProgress(d, "fits")
	o.Progress = bar.Set
	e, err := evaluate.Run(ctx, o)
	bar.Finish()
	if err != nil {
		return err
	}
	items := e.Shares[0].ItemsLeftOut // an item that varies in the smallest share varies in all others
	warnSome(d.Log, len(items), "items that do not vary among the training participants, or that confounds "+
		"determine, are left out of that fit", "file", c.Input, "items", items)
	const excluded = "empty factors are excluded from the stability"
	for _, s := range e.Shares {
		warnSome(d.Log, s.EmptyFactors+s.EmptyInWhole, excluded, "method", s.Method, "train_share", s.Share,
			"empty", s.EmptyFactors, "empty_in_whole", s.EmptyInWhole)
	}
	for _, h := range e.Disjoint {
		warnSome(d.Log, h.EmptyFactors, excluded, "method", h.Method, "train_share", h.Share, "empty", h.EmptyFactors)
	}
	warnUnconverged(d, e.Unconverged)
	warnEach(d.Log, uncertainChoice, e.Warnings)
	return c.Print(d, e, evaluationGrids(e)...)
}

// evaluationGrids returns tables of the shares, of the methods' differences at the largest, and of disjoint halves.
func evaluationGrids(e *evaluate.Evaluation) []*cli.Grid {
	shares := cli.NewGrid("METHOD", "TRAINED ON", "PARTICIPANTS", "FACTORS", "STABILITY WITH THE WHOLE")
	differences := cli.NewGrid("METHOD", "TRAINED ON")
	halves := cli.NewGrid("METHOD", "TRAINED ON", "PARTICIPANTS", "FACTORS", "STABILITY OF DISJOINT HALVES",
		"CONGRUENCE")
	percent := func(share float64) string { return cli.Digits(100*share, 0) + " %" }
	for _, s := range e.Shares {
		factors := e.FactorsInside()
		if !evaluate.HasFactors(s.Method) {
			factors = "-"
		}
		shares.Add(s.Method, percent(s.Share), s.Participants, factors, measureCell(s.Stability, threePlaces))
	}
	compared := e.Compared()
	for _, s := range compared {
		differences.Add(s.Method, percent(s.Share))
	}
	for l, label := range e.Labels {
		shares.Column("AUROC "+label, func(i int) any { return measureCell(e.Shares[i].AUROC[l], threePlaces) })
		differences.Column("AUROC "+label+", LESS "+e.Shares[0].Method,
			func(i int) any { return measureCell(compared[i].Differences[l], "%+.3f") })
	}
	for _, h := range e.Disjoint {
		halves.Add(h.Method, "2 x "+percent(h.Share), fmt.Sprintf("2 x %d", h.Participants), e.Factors,
			measureCell(h.Stability, threePlaces), measureCell(h.Congruence, threePlaces))
	}
	return []*cli.Grid{shares, differences, halves}
}

// threePlaces is the format of measures.
const threePlaces = "%.3f"

// measureCell returns the mean in this format, with the standard deviation and the interval if defined.
func measureCell(m evaluate.Measure, format string) string {
	if m.Count == 0 {
		return "-"
	}
	cell := fmt.Sprintf(format, m.Mean)
	if m.Count == 1 {
		return cell + " (-)"
	}
	cell += fmt.Sprintf(" (%.3f)", m.Deviation)
	if m.Interval != nil {
		cell += fmt.Sprintf(" "+format+" to "+format, m.Interval.Low, m.Interval.High)
	}
	return cell
}
