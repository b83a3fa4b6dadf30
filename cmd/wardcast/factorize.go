package main

import (
	"context"
	"fmt"
	"strconv"

	"github.com/wardcast/wardcast/internal/cli"
	"github.com/wardcast/wardcast/internal/factorize"
	"github.com/wardcast/wardcast/solver"
	"github.com/wardcast/wardcast/solver/methods"
)

type factorizeCmd struct {
	cli.Output
	factorize.Options
	Step     string   `help:"Update for sonmf: extrapolated, exact, or cayley, the paper's line search (default: ${step}). For sonmf-binary: quasi-newton, or newton-fixed, the paper's (default: ${binaryStep}). For smf-w and smf-h: a number, the step length of the paper's algorithm (default: faster updates that choose their own step)." placeholder:"STEP"`
	L1Topics *float64 `name:"l1-topics" help:"Weight of the sum of the topics in l1-nmf, 0 or more (default: from the scale of the matrix)." placeholder:"WEIGHT"`
	L1Scores *float64 `name:"l1-scores" help:"Weight of the sum of the scores in l1-nmf (default: from the scale of the matrix)." placeholder:"WEIGHT"`
}

func (c *factorizeCmd) Run(ctx context.Context, d *cli.Deps) error {
	// In factorize.Options 0 means the default, but not in these flags.
	switch {
	case c.MaxIter < 1:
		return cli.Usage(fmt.Errorf("--max-iter is %d, must be 1 or more", c.MaxIter))
	case c.Restarts < 1:
		return cli.Usage(fmt.Errorf("--restarts is %d, must be 1 or more", c.Restarts))
	}
	if ridge, err := strconv.ParseFloat(c.Ridge, 64); err == nil && ridge == 0 {
		d.Log.Warn("a ridge of 0: coefficients grow without bound if the documents separate the labels")
	}
	tried, bar := cli.NewProgress(d.Err, "cross-validation"), &iterations{Progress: cli.NewProgress(d.Err, "updates"), max: c.MaxIter}
	o := c.Options
	o.Choices, o.Tried, o.Version = methods.Settings{Step: c.Step, L1Topics: c.L1Topics, L1Scores: c.L1Scores}, tried.Set, version
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
		report.Method, report.Status, strconv.Itoa(report.Iterations), strconv.FormatFloat(report.Objective, 'g', 10, 64), strconv.FormatFloat(report.MeanObjective, 'g', 6, 64),
		orthogonality, cli.Digits(&report.Seconds.Load, 3), cli.Digits(&report.Seconds.Init, 3), cli.Digits(&report.Seconds.Solve, 3),
	}
	if s := report.Settings.SupervisedSettings; s != nil {
		head = append(head, "XI", "RIDGE")
		row = append(row, strconv.FormatFloat(s.Xi, 'g', 4, 64), strconv.FormatFloat(s.Ridge, 'g', 4, 64))
	}
	for _, measure := range []struct {
		name  string
		value *float64
	}{{"TRAIN ACCURACY", report.TrainAccuracy}, {"TEST ACCURACY", report.TestAccuracy}, {"TEST AUROC", report.TestAUROC}} {
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
