package main

import (
	"cmp"
	"context"
	"fmt"
	"strconv"

	"github.com/wardcast/wardcast/internal/cli"
	"github.com/wardcast/wardcast/internal/questionnaire/answers"
	"github.com/wardcast/wardcast/internal/questionnaire/items"
)

type questionnaireItemsCmd struct {
	answerFlags
	cli.Output
	Factors int    `help:"Number of group factors of omega." default:"${omegaFactors}"`
	Seed    uint64 `help:"Seed of the split halves that are drawn of more than 16 items." default:"1"`
	Threads int    `help:"Number of threads, at most 1024; 0 is one for each processor." default:"0"`
}

func (c *questionnaireItemsCmd) Run(ctx context.Context, d *cli.Deps) error {
	if c.Factors < 1 {
		return cli.Usage(fmt.Errorf("--factors is %d, must be 1 or more", c.Factors))
	}
	o := items.Options{
		Input: c.Input, Factors: c.Factors, Seed: c.Seed, Threads: c.Threads,
		Remark: func(of answers.Remarks) { warn(d, c.Input, of) },
	}
	var err error
	if o.Columns, err = c.columns(d); err != nil {
		return err
	}
	a, err := items.Run(ctx, o)
	if err != nil {
		return err
	}
	c.warn(d, a)
	if c.JSON() {
		return cli.PrintJSON(d.Out, a)
	}
	header, rows := itemTable(a)
	if err := cli.PrintTable(d.Out, header, rows); err != nil {
		return err
	}
	if _, err := fmt.Fprintln(d.Out); err != nil {
		return err
	}
	header, rows = scaleTable(a)
	return cli.PrintTable(d.Out, header, rows)
}

// warn logs what the coefficients of scales lack, a line for each reason.
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
		d.Log.Warn("figures of scales are limited", "file", c.Input, "scales", scales[reason], "reason", reason)
	}
}

// allItems names the scale of all items.
const allItems = "all items"

// itemTable returns a line for each item. What it is to its subscale stands there if there are subscales.
func itemTable(a *items.Analysis) (header []string, rows [][]string) {
	header = []string{"ITEM", "N", "MISSING", "MEAN", "SD", "DIFFICULTY", "FLOOR", "CEILING", "ITEM-REST", "ALPHA WITHOUT", "KMO"}
	if len(a.Subscales) > 0 {
		header = append(header, "SUBSCALE", "ITS ITEM-REST", "ITS ALPHA WITHOUT")
	}
	for _, g := range a.Groups {
		header = append(header, "MISSING "+g.Column+"="+g.Group)
	}
	parts := map[string]items.Part{}
	for _, s := range a.Subscales {
		for _, item := range s.Items {
			parts[item.Name] = item.Part
		}
	}
	for i := range a.Items {
		item := &a.Items[i]
		name := item.Name
		if item.Reversed {
			name += " (R)"
		}
		row := []string{
			name, strconv.Itoa(item.N), cli.Digits(&item.Missing, 3), cli.Digits(item.Mean, 2), cli.Digits(item.SD, 2), cli.Digits(item.Difficulty, 2),
			cli.Digits(item.Floor, 2), cli.Digits(item.Ceiling, 2), cli.Digits(item.ItemRest, 2), cli.Digits(item.AlphaDropped, 3), cli.Digits(a.KMOItems[item.Name], 2),
		}
		if len(a.Subscales) > 0 {
			part := parts[item.Name]
			row = append(row, cmp.Or(item.Subscale, "-"), cli.Digits(part.ItemRest, 2), cli.Digits(part.AlphaDropped, 3))
		}
		for _, g := range a.Groups {
			missing := g.Items[item.Name]
			row = append(row, cli.Digits(&missing, 3))
		}
		rows = append(rows, row)
	}
	return header, rows
}

// scaleTable returns a line for all items, and one for each subscale.
func scaleTable(a *items.Analysis) (header []string, rows [][]string) {
	header = []string{
		"SCALE", "ITEMS", "N", "ALPHA", "95 %", "STANDARDIZED", "OMEGA TOTAL", "OMEGA H", "FACTORS", "SPLIT HALF", "LOWEST", "HIGHEST", "SPLITS", "LAMBDA 6", "KMO", "BARTLETT", "DF", "P",
	}
	row := func(name string, count, n int, r *items.Reliability) {
		between := "-"
		if i := r.AlphaInterval; i != nil {
			between = fmt.Sprintf("%.3f to %.3f", i.Low, i.High)
		}
		cells := []string{
			name, strconv.Itoa(count), strconv.Itoa(n), cli.Digits(r.Alpha, 3), between, cli.Digits(r.AlphaStandardized, 3),
			cli.Digits(r.OmegaTotal, 3), cli.Digits(r.OmegaHierarchical, 3), strconv.Itoa(r.OmegaFactors),
		}
		if s := r.SplitHalf; s == nil {
			cells = append(cells, "-", "-", "-", "-")
		} else {
			splits := "all " + strconv.Itoa(s.Splits)
			if !s.All {
				splits = strconv.Itoa(s.Splits) + " random"
			}
			cells = append(cells, cli.Digits(&s.Mean, 3), cli.Digits(&s.Lowest, 3), cli.Digits(&s.Highest, 3), splits)
		}
		cells = append(cells, cli.Digits(r.Lambda6, 3), cli.Digits(r.KMO, 3))
		if b := r.Bartlett; b == nil {
			cells = append(cells, "-", "-", "-")
		} else {
			p := strconv.FormatFloat(b.P, 'g', 3, 64)
			if b.P < leastP {
				p = "< " + strconv.FormatFloat(leastP, 'g', -1, 64)
			}
			cells = append(cells, strconv.FormatFloat(b.ChiSquare, 'f', 1, 64), strconv.Itoa(b.DF), p)
		}
		rows = append(rows, cells)
	}
	row(allItems, len(a.Items)-len(a.Constant), a.N, &a.Reliability)
	for i := range a.Subscales {
		s := &a.Subscales[i]
		row(s.Name, len(s.Items), s.N, &s.Reliability)
	}
	return header, rows
}

// leastP is the least p that the table shows.
const leastP = 0.001
