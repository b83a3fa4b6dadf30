package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/wardcast/wardcast/internal/cli"
	"github.com/wardcast/wardcast/internal/factorize"
	"github.com/wardcast/wardcast/solver"
)

type factorizeCmd struct {
	cli.Output
	factorize.Options
}

func (c *factorizeCmd) Run(ctx context.Context, d *cli.Deps) error {
	// In factorize.Options 0 means the default, but not in these flags.
	switch {
	case c.MaxIter < 1:
		return cli.Usage(fmt.Errorf("--max-iter is %d, must be 1 or more", c.MaxIter))
	case c.Restarts < 1:
		return cli.Usage(fmt.Errorf("--restarts is %d, must be 1 or more", c.Restarts))
	}
	if ridge, err := strconv.ParseFloat(c.RidgeGiven, 64); err == nil && ridge == 0 {
		d.Log.Warn("a ridge of 0: coefficients grow without bound if the documents separate the labels")
	}
	tried, bar := cli.NewProgress(d, "cross-validation"),
		&iterations{Progress: cli.NewProgress(d, "updates"), max: c.MaxIter}
	o := c.Options
	o.Tried, o.Version = tried.Set, version
	report, err := factorize.Run(ctx, o, bar)
	tried.Finish()
	bar.Finish()
	if err != nil {
		return err
	}
	if s := report.Status; s == solver.Cycling.String() || s == solver.SearchFailed.String() {
		d.Log.Warn("the run did not end at a minimum", "status", s, "updates", report.Iterations)
	}
	orthogonality := "-"
	if r := report.OrthogonalityResidual; r != nil {
		orthogonality = strconv.FormatFloat(*r, 'e', 1, 64)
	}
	head := []string{"METHOD", "STATUS", "UPDATES", "OBJECTIVE", "MEAN", "ORTHOGONALITY", "LOAD s", "INIT s", "SOLVE s"}
	row := []string{
		report.Method, report.Status, strconv.Itoa(report.Iterations),
		strconv.FormatFloat(report.Objective, 'g', 10, 64), strconv.FormatFloat(report.MeanObjective, 'g', 6, 64),
		orthogonality, cli.Digits(&report.Seconds.Load, 3), cli.Digits(&report.Seconds.Init, 3),
		cli.Digits(&report.Seconds.Solve, 3),
	}
	if s := report.Settings.Supervised; s != nil {
		head = append(head, "XI", "RIDGE")
		row = append(row, strconv.FormatFloat(s.Xi, 'g', 4, 64), strconv.FormatFloat(s.Ridge, 'g', 4, 64))
	}
	for _, measure := range []struct {
		name  string
		value *float64
	}{{"TRAIN ACCURACY", report.TrainAccuracy}, {"TEST ACCURACY", report.TestAccuracy}, {
		"TEST AUROC", report.TestAUROC,
	}} {
		if measure.value != nil {
			head, row = append(head, measure.name), append(row, cli.Digits(measure.value, 3))
		}
	}
	return c.Print(d, report, head, [][]string{row})
}

// iterations shows the updates of a solver and their objectives as they come.
type iterations struct {
	*cli.Progress
	max int
}

// Record implements solver.Recorder.
func (i *iterations) Record(it solver.Iterate) error {
	i.Set(it.Iteration, i.max)
	i.Describe("objective " + strconv.FormatFloat(it.Objective, 'g', 6, 64))
	return nil
}

type rankCmd struct {
	cli.Output
	factorize.RankOptions
}

func (c *rankCmd) Run(ctx context.Context, d *cli.Deps) error {
	for _, flag := range []struct {
		name         string
		value, least int
	}{{"max-iter", c.MaxIter, 1}, {"runs", c.Runs, 2}, {"folds", c.Folds, 2}, {"draws", c.Draws, 1}} {
		if flag.value < flag.least {
			return cli.Usage(fmt.Errorf("--%s is %d, must be %d or more", flag.name, flag.value, flag.least))
		}
	}
	bar := cli.NewProgress(d, "runs")
	o := c.RankOptions
	slices.Sort(o.Ranks)
	o.Ranks, o.Progress, o.Version = slices.Compact(o.Ranks), bar.Set, version
	report, err := factorize.Rank(ctx, o)
	bar.Finish()
	if err != nil {
		return err
	}
	for _, warning := range report.Warnings {
		d.Log.Warn("check this before you rely on the choice", "reason", warning)
	}
	warnUnconverged(d, report.Unconverged, c.MaxIter)
	return c.print(d, report)
}

// linesBeyond is how many lines after the chosen one the table of factor analysis has; JSON has all.
const linesBeyond = 6

// print prints the curve and marks the choice.
func (c *rankCmd) print(d *cli.Deps, r *factorize.RankReport) error {
	head := []string{"RANK", string(r.Criterion)}
	extra := func(factorize.RankPoint) *float64 { return nil }
	switch r.Criterion {
	case factorize.BCV:
		head, extra = append(head, "STANDARD ERROR"), func(p factorize.RankPoint) *float64 { return p.StandardError }
	case factorize.Parallel:
		head, extra = []string{"FACTOR", "EIGENVALUE", "RANDOM"},
			func(p factorize.RankPoint) *float64 { return p.Reference }
	case factorize.MAP:
		head, extra = append(head, "FOURTH POWER"), func(p factorize.RankPoint) *float64 { return p.FourthPower }
	}
	significant := func(v float64) string { return strconv.FormatFloat(v, 'g', 6, 64) }
	curve := r.Curve
	if r.Method == factorize.FactorAnalysis { // it has a line for every item
		curve = curve[:min(len(curve), r.Rank+linesBeyond)]
	}
	rows := make([][]string, len(curve))
	for i, p := range curve {
		rows[i] = []string{strconv.Itoa(p.Rank), significant(p.Value)}
		if v := extra(p); v != nil {
			rows[i] = append(rows[i], significant(*v))
		}
		choice := ""
		switch {
		case p.Rank == r.Rank:
			choice = "chosen"
		case r.OneStandardErrorRank != nil && p.Rank == *r.OneStandardErrorRank:
			choice = "one standard error"
		}
		rows[i] = append(rows[i], choice)
	}
	return c.Print(d, r, append(head, "CHOICE"), rows)
}
