package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/wardcast/wardcast/internal/cli"
	"github.com/wardcast/wardcast/internal/factorize"
	"github.com/wardcast/wardcast/internal/wording"
	"github.com/wardcast/wardcast/solver"
)

type factorizeCmd struct {
	cli.Output
	factorize.Options
}

func (c *factorizeCmd) Run(ctx context.Context, d *cli.Deps) error {
	// In factorize.Options 0 means the default, in these flags it is an error.
	if err := cmp.Or(atLeast(1, "max-iter", c.MaxIter), atLeast(1, "restarts", c.Restarts)); err != nil {
		return err
	}
	if ridge, err := wording.Number(c.RidgeGiven); err == nil && ridge == 0 {
		d.Log.Warn("a ridge of 0: coefficients grow without bound if the documents separate the labels")
	}
	tried, bar := cli.NewProgress(d, "cross-validation"),
		&iterations{Progress: cli.NewProgress(d, "updates"), max: c.MaxIter}
	o := c.Options
	o.Tried, o.Version, o.Warn = tried.Set, version, d.Log.Warn
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
		orthogonality = fmt.Sprintf("%.1e", *r)
	}
	grid := cli.NewGrid("METHOD", "STATUS", "UPDATES", "OBJECTIVE", "MEAN", "ORTHOGONALITY", "LOAD s", "INIT s",
		"SOLVE s")
	grid.Add(report.Method, report.Status, report.Iterations, fmt.Sprintf("%.10g", report.Objective),
		significant(report.MeanObjective), orthogonality,
		report.Seconds.Load, report.Seconds.Init, report.Seconds.Solve)
	add := func(name string, value any) { grid.Column(name, func(int) any { return value }) }
	if s := report.Settings.Supervised; s != nil {
		add("XI", fmt.Sprintf("%.4g", s.Xi))
		add("RIDGE", fmt.Sprintf("%.4g", s.Ridge))
	}
	measures := []*float64{report.TrainAccuracy, report.TestAccuracy, report.TestAUROC}
	for i, name := range []string{"TRAIN ACCURACY", "TEST ACCURACY", "TEST AUROC"} {
		if measures[i] != nil {
			add(name, measures[i])
		}
	}
	return c.Print(d, report, grid)
}

func significant(v float64) string { return fmt.Sprintf("%.6g", v) }

func atLeast(least int, flag string, value int) error {
	if value < least {
		return cli.Usagef("--%s is %d, must be %d or more", flag, value, least)
	}
	return nil
}

// iterations shows the progress of a solver: updates and objective.
type iterations struct {
	*cli.Progress
	max int
}

// Record implements solver.Recorder.
func (i *iterations) Record(it solver.Iterate) error {
	i.Set(it.Iteration, i.max)
	i.Describe("objective " + significant(it.Objective))
	return nil
}

type rankCmd struct {
	cli.Output
	factorize.RankOptions
}

func (c *rankCmd) Run(ctx context.Context, d *cli.Deps) error {
	if err := cmp.Or(atLeast(1, "max-iter", c.MaxIter), atLeast(2, "runs", c.Runs), atLeast(2, "folds", c.Folds),
		atLeast(1, "draws", c.Draws)); err != nil {
		return err
	}
	bar := cli.NewProgress(d, "runs")
	o := c.RankOptions
	slices.Sort(o.Ranks)
	o.Ranks, o.Progress, o.Version, o.Warn = slices.Compact(o.Ranks), bar.Set, version, d.Log.Warn
	report, err := factorize.Rank(ctx, o)
	bar.Finish()
	if err != nil {
		return err
	}
	for _, warning := range report.Warnings {
		d.Log.Warn("check this before you rely on the choice", "reason", warning)
	}
	warnUnconverged(d, report.Unconverged)
	return c.print(d, report)
}

// print prints the curve and marks the choice.
func (c *rankCmd) print(d *cli.Deps, r *factorize.RankReport) error {
	grid := cli.NewGrid("RANK", string(r.Criterion))
	switch r.Criterion {
	case factorize.BCV:
		grid.Header = append(grid.Header, "STANDARD ERROR")
	case factorize.Parallel:
		grid.Header = []string{"FACTOR", "EIGENVALUE", "RANDOM"}
	case factorize.MAP:
		grid.Header = append(grid.Header, "FOURTH POWER")
	}
	grid.Header = append(grid.Header, "CHOICE")
	curve := r.Curve
	if r.Method == factorize.FactorAnalysis { // one line per item: six after the choice are enough
		curve = curve[:min(len(curve), r.Rank+6)]
	}
	for _, p := range curve {
		row := []any{p.Rank, significant(p.Value)}
		// Each criterion has at most one of these.
		if v := cmp.Or(p.StandardError, p.Reference, p.FourthPower); v != nil {
			row = append(row, significant(*v))
		}
		choice := ""
		switch {
		case p.Rank == r.Rank:
			choice = "chosen"
		case r.OneStandardErrorRank != nil && p.Rank == *r.OneStandardErrorRank:
			choice = "one standard error"
		}
		grid.Add(append(row, choice)...)
	}
	return c.Print(d, r, grid)
}
