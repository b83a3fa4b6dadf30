package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/wardcast/wardcast/internal/cli"
	"github.com/wardcast/wardcast/internal/questionnaire"
	"github.com/wardcast/wardcast/internal/questionnaire/answers"
	"github.com/wardcast/wardcast/internal/questionnaire/items"
)

type questionnaireItemsCmd struct {
	answerFlags
	cli.Output
	Labels  []string `help:"Columns of outcomes, as in adhd,sex=F: 1 is positive, or the given value. Adds sensitivity and specificity for each scale: of calling people positive from a sum on." placeholder:"LIST"`
	Factors int      `help:"Number of group factors of omega." default:"${omegaFactors}"`
	Seed    uint64   `help:"Seed of the intervals of omega, and of the random split halves of scales with more than 16 items." default:"1"`
	Threads int      `help:"Number of threads, at most 1024 (0: one for each processor)." default:"0"`
}

func (c *questionnaireItemsCmd) Run(ctx context.Context, d *cli.Deps) error {
	err := atLeast(1, "factors", c.Factors)
	if err != nil {
		return err
	}
	o := items.Options{
		Input: c.Input, Factors: c.Factors, Seed: c.Seed, Threads: c.Threads,
		Remark: func(of answers.Remarks) { warn(d, c.Input, of) },
	}
	if o.Columns, err = c.columns(d); err != nil {
		return err
	}
	if o.Columns.Labels, err = questionnaire.ParseLabels(c.Labels); err != nil {
		return err
	}
	a, err := items.Run(ctx, o)
	if err != nil {
		return err
	}
	c.warn(d, a)
	grids := append([]*cli.Grid{itemGrid(a)}, scaleGrids(a)...)
	for i := range a.Screenings {
		grids = append(grids, cutGrid(&a.Screenings[i]))
	}
	return c.Print(d, a, grids...)
}

// cutGrid has a line for each cut.
func cutGrid(s *items.Screening) *cli.Grid {
	grid := cli.NewGrid("CUT", "SENSITIVITY", "95 %", "SPECIFICITY", "95 %", "YOUDEN")
	area := cli.Digits(s.AUROC, 3)
	if i := s.AUROCInterval; i != nil {
		area += " (" + bounds(i.Low, i.High) + ")"
	}
	grid.Title = fmt.Sprintf("Sum of %s: %d with %s, %d without. AUROC %s. Best cut: %v.\n", s.Scale, s.Positive,
		s.Label, s.Negative, area, s.Best)
	for _, c := range s.Cuts {
		yes, no := c.Sensitivity, c.Specificity
		grid.Add(cli.Digits(c.Cut, -1), yes.Share, bounds(yes.Low, yes.High), no.Share, bounds(no.Low, no.High),
			c.Youden)
	}
	return grid
}

// warn logs why coefficients of scales are missing or unreliable, one record for each reason.
func (c *questionnaireItemsCmd) warn(d *cli.Deps, a *items.Analysis) {
	var reasons []string
	scales := map[string][]string{}
	add := func(scale string, r *items.Reliability) {
		for _, reason := range r.Warnings {
			if scales[reason] == nil {
				reasons = append(reasons, reason)
			}
			scales[reason] = append(scales[reason], scale)
		}
	}
	add(allItems, &a.Reliability)
	for i := range a.Subscales {
		add(a.Subscales[i].Name, &a.Subscales[i].Reliability)
	}
	for _, reason := range reasons {
		d.Log.Warn("coefficients of scales are missing or unreliable", "file", c.Input, "scales", scales[reason],
			"reason", reason)
	}
}

// allItems names the scale of all items.
const allItems = "all items"

// scaleGrids returns tables with a line for all items and one for each subscale.
func scaleGrids(a *items.Analysis) []*cli.Grid {
	coefficients := cli.NewGrid("SCALE", "ITEMS", "N", "ALPHA", "95 %", "STANDARDIZED", "OMEGA TOTAL", "95 %",
		"OMEGA H", "95 %", "FACTORS")
	adequacy := cli.NewGrid("SCALE", "SPLIT HALF", "LOWEST", "HIGHEST", "SPLITS", "LAMBDA 6", "KMO", "BARTLETT", "DF",
		"P")
	add := func(name string, count, n int, r *items.Reliability) {
		interval := func(i *questionnaire.Interval) string {
			if i == nil {
				return "-"
			}
			return bounds(i.Low, i.High)
		}
		hierarchical := cli.Digits(r.OmegaHierarchical, 3)
		if r.OmegaWeakFactors > 0 {
			hierarchical += " ?"
		}
		coefficients.Add(name, count, n, r.Alpha, interval(r.AlphaInterval), r.AlphaStandardized, r.OmegaTotal,
			interval(r.OmegaTotalInterval), hierarchical, interval(r.OmegaHierarchicalInterval), r.OmegaFactors)
		halves, bartlett := []any{"-", "-", "-", "-"}, []any{"-", "-", "-"}
		if s := r.SplitHalf; s != nil {
			splits := "all " + strconv.Itoa(s.Splits)
			if !s.All {
				splits = strconv.Itoa(s.Splits) + " random"
			}
			halves = []any{s.Mean, s.Lowest, s.Highest, splits}
		}
		if b := r.Bartlett; b != nil {
			bartlett = []any{cli.Digits(b.ChiSquare, 1), b.DF, pValue(b.P)}
		}
		adequacy.Add(slices.Concat([]any{name}, halves, []any{r.Lambda6, r.KMO}, bartlett)...)
	}
	add(allItems, len(a.Items)-len(a.Constant), a.N, &a.Reliability)
	for i := range a.Subscales {
		s := &a.Subscales[i]
		add(s.Name, len(s.Items), s.N, &s.Reliability)
	}
	return []*cli.Grid{coefficients, adequacy}
}

// itemGrid has a line for each item. ITEM-REST and ALPHA WITHOUT refer to the item's first subscale, if any.
func itemGrid(a *items.Analysis) *cli.Grid {
	grid := cli.NewGrid("ITEM", "N", "MISSING", "MEAN", "SD", "DIFFICULTY", "FLOOR", "CEILING", "KMO", "ITEM-REST",
		"ALPHA WITHOUT")
	parts := map[[2]string]items.Part{}
	for _, s := range a.Subscales {
		for _, item := range s.Items {
			parts[[2]string{s.Name, item.Name}] = item.Part
		}
	}
	two := func(v *float64) string { return cli.Digits(v, 2) }
	var subscales []string // of the items
	for i := range a.Items {
		item := &a.Items[i]
		part, within := parts[[2]string{item.Subscale, item.Name}]
		if !within {
			part = item.Part
		}
		grid.Add(marked(item.Name, item.Reversed), item.N, item.Missing, two(item.Mean), two(item.SD),
			two(item.Difficulty), two(item.Floor), two(item.Ceiling), two(a.KMOItems[item.Name]), two(part.ItemRest),
			part.AlphaDropped)
		subscales = append(subscales, "-")
		if within {
			subscales[i] = item.Subscale
		}
	}
	if len(a.Subscales) > 0 {
		grid.Column("SUBSCALE", func(i int) any { return subscales[i] })
	}
	for _, g := range a.Groups {
		grid.Column("MISSING "+g.Column+"="+g.Group, func(i int) any { return g.Items[a.Items[i].Name] })
	}
	return grid
}
