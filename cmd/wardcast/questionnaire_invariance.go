package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"

	"github.com/alecthomas/kong"

	"github.com/wardcast/wardcast/internal/cli"
	"github.com/wardcast/wardcast/internal/questionnaire"
	"github.com/wardcast/wardcast/internal/questionnaire/invariance"
)

// shownLoadings is the number of loadings that the table shows; JSON has all.
const shownLoadings = 10

type questionnaireInvarianceCmd struct {
	answerFlags
	method
	learning
	cli.Output
	Bootstrap int `help:"Number of bootstrap samples of the participants within each group; at least ${leastBootstrap}." default:"${bootstrap}" placeholder:"N"`
}

func (c *questionnaireInvarianceCmd) Run(ctx context.Context, d *cli.Deps, command *kong.Context) error {
	if err := checkUsed(command, []string{c.Method}, validation(c.several(c.Method))...); err != nil {
		return err
	}
	if c.Bootstrap < invariance.LeastBootstrap {
		return cli.Usage(fmt.Errorf("--bootstrap is %d, must be %d or more", c.Bootstrap, invariance.LeastBootstrap))
	}
	o := invariance.Options{Bootstrap: c.Bootstrap}
	var err error
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
	for _, w := range r.Warnings {
		d.Log.Warn("the comparison of the groups", "warning", w)
	}
	warnUnconverged(d, r.Unconverged, c.MaxIter)
	if c.JSON() {
		return cli.PrintJSON(d.Out, r)
	}
	for _, part := range []func(io.Writer, *invariance.Result) error{printConfigural, printMetric, printDIF} {
		if err := part(d.Out, r); err != nil {
			return err
		}
	}
	return nil
}

// marked returns the name of an item, marked if it is scored from the other end.
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
	return threeDecimals(p)
}

// threeDecimals formats a number, "-" for NaN.
func threeDecimals[F ~float64](v F) string { return decimals(v, 3) }

func decimals[F ~float64](v F, places int) string {
	if math.IsNaN(float64(v)) {
		return "-"
	}
	return strconv.FormatFloat(float64(v), 'f', places, 64)
}

func bounds(i questionnaire.Interval) string {
	return threeDecimals(i.Low) + " to " + threeDecimals(i.High)
}

func printConfigural(w io.Writer, r *invariance.Result) error {
	first, second := r.Groups[0], r.Groups[1]
	_, err := fmt.Fprintf(w, "%s: %d participants with %s, %d with %s. Factors: %d, by %s.\n\nConfigural: the least "+
		"congruence of the factors has p %s.\n",
		r.Group, first.Participants, first.Value, second.Participants, second.Value, r.Factors, r.Method,
		pValue(r.Configural.P))
	if err != nil {
		return err
	}
	var rows [][]string
	for _, f := range r.Configural.Factors {
		said := f.Reading
		if f.Empty {
			said = "empty in a group"
		}
		rows = append(rows, []string{
			f.Factor, strconv.Itoa(f.Numbers[0]), strconv.Itoa(f.Numbers[1]), threeDecimals(f.Congruence),
			bounds(f.Interval), threeDecimals(f.Reference), pValue(f.P), said,
		})
	}
	return cli.PrintTable(w, []string{
		"FACTOR", "IN " + first.Value, "IN " + second.Value, "CONGRUENCE", "INTERVAL", "IF EQUAL", "P", "READING",
	}, rows)
}

func printMetric(w io.Writer, r *invariance.Result) error {
	m := &r.Metric
	if _, err := fmt.Fprintf(w, "\nMetric: loadings differ by %s (root mean square, p %s), at most by %s (p %s).\n",
		threeDecimals(m.RMS), pValue(m.RMSP), threeDecimals(m.Largest), pValue(m.LargestP)); err != nil {
		return err
	}
	largest := slices.Clone(m.Loadings)
	slices.SortStableFunc(largest,
		func(a, b invariance.Loading) int { return cmp.Compare(math.Abs(b.Difference), math.Abs(a.Difference)) })
	var rows [][]string
	for _, l := range largest[:min(shownLoadings, len(largest))] {
		rows = append(rows, []string{
			marked(l.Item, l.Reversed), l.Factor, threeDecimals(l.First),
			threeDecimals(l.Second), threeDecimals(l.Difference), bounds(l.Interval), pValue(l.P), pValue(l.AdjustedP),
		})
	}
	return cli.PrintTable(w,
		[]string{"ITEM", "FACTOR", r.Groups[0].Value, r.Groups[1].Value, "DIFFERENCE", "INTERVAL", "P", "ADJUSTED P"},
		rows)
}

func printDIF(w io.Writer, r *invariance.Result) error {
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
	if _, err := fmt.Fprintf(w, "\nDIF: %d of %d items.\n", len(found), tested); err != nil || len(found) == 0 {
		return err
	}
	slices.SortStableFunc(found, func(a, b invariance.ItemDIF) int {
		return cmp.Compare(b.Change(), a.Change())
	})
	var rows [][]string
	for _, d := range found {
		rows = append(rows, []string{
			marked(d.Item, d.Reversed), threeDecimals(d.Difference), bounds(d.Interval), pValue(d.UniformP),
			pValue(d.NonuniformP), pValue(d.AdjustedP), threeDecimals(d.UniformR2Change),
			threeDecimals(d.NonuniformR2Change), d.Class,
		})
	}
	return cli.PrintTable(w, []string{
		"ITEM", "DIFFERENCE", "INTERVAL", "UNIFORM P", "NONUNIFORM P", "ADJUSTED P",
		"R2 UNIFORM", "R2 NONUNIFORM", "CLASS",
	}, rows)
}
