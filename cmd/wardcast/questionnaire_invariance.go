package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/alecthomas/kong"

	"github.com/wardcast/wardcast/internal/cli"
	"github.com/wardcast/wardcast/internal/questionnaire"
	"github.com/wardcast/wardcast/internal/questionnaire/certainty"
	"github.com/wardcast/wardcast/internal/questionnaire/invariance"
)

type questionnaireInvarianceCmd struct {
	answerFlags
	method
	learning
	cli.Output
	Bootstrap int `help:"Number of bootstrap samples of the participants within each group; at least ${leastBootstrap}." default:"${bootstrap}" placeholder:"N"`
}

func (c *questionnaireInvarianceCmd) Run(ctx context.Context, d *cli.Deps, command *kong.Context) error {
	if err := checkUsed(command, []string{c.Method}, c.several(c.Method)); err != nil {
		return err
	}
	o, err := invariance.Options{Bootstrap: c.Bootstrap}, atLeast(certainty.LeastReplicates, "bootstrap", c.Bootstrap)
	if err != nil {
		return err
	}
	if o.Options, err = c.read(d, &c.answerFlags); err != nil {
		return err
	}
	o.Method, o.Columns.Groups = c.Method, nil
	if o.Columns.Labels, err = questionnaire.ParseLabels(c.Group); err != nil {
		return err
	}
	bar := cli.NewProgress(d, "samples")
	o.Progress = bar.Set
	r, err := invariance.Run(ctx, o)
	bar.Finish()
	if err != nil {
		return err
	}
	warnEach(d.Log, "the comparison of the groups may be unreliable", r.Warnings)
	warnUnconverged(d, r.Unconverged)
	return c.Print(d, r, configuralGrid(r), difGrid(r))
}

func marked(name string, reversed bool) string {
	if reversed {
		return name + " (R)"
	}
	return name
}

// pValue formats a p value, "-" for NaN.
func pValue[F ~float64](p F) string {
	if p < .001 {
		return "<0.001"
	}
	return cli.Digits(p, 3)
}

// bounds formats an interval, "-" if an end is not finite.
func bounds[F ~float64](low, high F) string {
	if !questionnaire.Figure(high - low).Defined() {
		return "-"
	}
	return cli.Digits(low, 3) + " to " + cli.Digits(high, 3)
}

func configuralGrid(r *invariance.Result) *cli.Grid {
	first, second := r.Groups[0], r.Groups[1]
	grid := cli.NewGrid("FACTOR", "IN "+first.Value, "IN "+second.Value, "CONGRUENCE", "INTERVAL", "IF EQUAL", "P",
		"READING")
	grid.Title = fmt.Sprintf("%s: %d participants with %s, %d with %s. Factors: %d, by %s.\n\nConfigural: the least "+
		"congruence of the factors has p %s.\n", r.Group, first.Participants, first.Value, second.Participants,
		second.Value, r.Factors, r.Method, pValue(r.Configural.P))
	for _, f := range r.Configural.Factors {
		reading := f.Reading
		if f.Empty {
			reading = "empty in a group"
		}
		grid.Add(f.Factor, f.Numbers[0], f.Numbers[1], f.Congruence, bounds(f.Low, f.High), f.Reference, pValue(f.P),
			reading)
	}
	return grid
}

func difGrid(r *invariance.Result) *cli.Grid {
	var found []invariance.ItemDIF
	tested := 0
	for _, d := range r.DIF.Items {
		if d.Class != invariance.UntestableDIF {
			tested++
		}
		if d.Found() {
			found = append(found, d)
		}
	}
	slices.SortStableFunc(found, func(a, b invariance.ItemDIF) int { return cmp.Compare(b.Change(), a.Change()) })
	grid := cli.NewGrid("ITEM", "DIFFERENCE", "INTERVAL", "UNIFORM P", "NONUNIFORM P", "ADJUSTED P", "R2 UNIFORM",
		"R2 NONUNIFORM", "CLASS")
	grid.Title = fmt.Sprintf("DIF: %d of %d items.\n", len(found), tested)
	for _, d := range found {
		grid.Add(marked(d.Item, d.Reversed), d.Difference, bounds(d.Low, d.High), pValue(d.UniformP),
			pValue(d.NonuniformP), pValue(d.AdjustedP), d.UniformR2Change, d.NonuniformR2Change, d.Class)
	}
	return grid
}
