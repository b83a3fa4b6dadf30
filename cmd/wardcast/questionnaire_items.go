package main

import (
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
	return printItems(d, a)
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

// printItems prints a line for each item, then two for all items and two for each subscale.
func printItems(d *cli.Deps, a *items.Analysis) error {
	header, rows := itemTable(a)
	if err := cli.PrintTable(d.Out, header, rows); err != nil {
		return err
	}
	var coefficients, adequacy [][]string
	add := func(name string, count, n int, r *items.Reliability) {
		coefficients = append(coefficients,
			append([]string{name, strconv.Itoa(count), strconv.Itoa(n)}, coefficientCells(r)...))
		adequacy = append(adequacy, append([]string{name}, adequacyCells(r)...))
	}
	add(allItems, len(a.Items)-len(a.Constant), a.N, &a.Reliability)
	for i := range a.Subscales {
		s := &a.Subscales[i]
		add(s.Name, len(s.Items), s.N, &s.Reliability)
	}
	for _, t := range []struct {
		header []string
		rows   [][]string
	}{
		{
			[]string{"SCALE", "ITEMS", "N", "ALPHA", "95 %", "STANDARDIZED", "OMEGA TOTAL", "OMEGA H", "FACTORS"},
			coefficients,
		},
		{
			[]string{"SCALE", "SPLIT HALF", "LOWEST", "HIGHEST", "SPLITS", "LAMBDA 6", "KMO", "BARTLETT", "DF", "P"},
			adequacy,
		},
	} {
		if _, err := fmt.Fprintln(d.Out); err != nil {
			return err
		}
		if err := cli.PrintTable(d.Out, t.header, t.rows); err != nil {
			return err
		}
	}
	return nil
}

// itemTable returns a line for each item. An item of subscales shows what it is to the first.
func itemTable(a *items.Analysis) (header []string, rows [][]string) {
	header = []string{
		"ITEM", "N", "MISSING", "MEAN", "SD", "DIFFICULTY", "FLOOR", "CEILING", "KMO", "ITEM-REST", "ALPHA WITHOUT",
	}
	if len(a.Subscales) > 0 {
		header = append(header, "SUBSCALE")
	}
	for _, g := range a.Groups {
		header = append(header, "MISSING "+g.Column+"="+g.Group)
	}
	parts := map[[2]string]items.Part{}
	for _, s := range a.Subscales {
		for _, item := range s.Items {
			parts[[2]string{s.Name, item.Name}] = item.Part
		}
	}
	for i := range a.Items {
		item := &a.Items[i]
		part, within := parts[[2]string{item.Subscale, item.Name}]
		if !within {
			part = item.Part
		}
		row := []string{
			marked(item.Name, item.Reversed), strconv.Itoa(item.N), cli.Digits(&item.Missing, 3),
			cli.Digits(item.Mean, 2), cli.Digits(item.SD, 2), cli.Digits(item.Difficulty, 2),
			cli.Digits(item.Floor, 2), cli.Digits(item.Ceiling, 2), cli.Digits(a.KMOItems[item.Name], 2),
			cli.Digits(part.ItemRest, 2), cli.Digits(part.AlphaDropped, 3),
		}
		if len(a.Subscales) > 0 {
			subscale := "-"
			if within {
				subscale = item.Subscale
			}
			row = append(row, subscale)
		}
		for _, g := range a.Groups {
			row = append(row, strconv.FormatFloat(g.Items[item.Name], 'f', 3, 64))
		}
		rows = append(rows, row)
	}
	return header, rows
}

func coefficientCells(r *items.Reliability) []string {
	interval := "-"
	if i := r.AlphaInterval; i != nil {
		interval = fmt.Sprintf("%.3f to %.3f", i.Low, i.High)
	}
	hierarchical := cli.Digits(r.OmegaHierarchical, 3)
	if r.OmegaWeakFactors > 0 {
		hierarchical += " ?"
	}
	return []string{
		cli.Digits(r.Alpha, 3), interval, cli.Digits(r.AlphaStandardized, 3), cli.Digits(r.OmegaTotal, 3),
		hierarchical, strconv.Itoa(r.OmegaFactors),
	}
}

func adequacyCells(r *items.Reliability) []string {
	cells := []string{"-", "-", "-", "-"}
	if s := r.SplitHalf; s != nil {
		splits := "all " + strconv.Itoa(s.Splits)
		if !s.All {
			splits = strconv.Itoa(s.Splits) + " random"
		}
		cells = []string{cli.Digits(&s.Mean, 3), cli.Digits(&s.Lowest, 3), cli.Digits(&s.Highest, 3), splits}
	}
	cells = append(cells, cli.Digits(r.Lambda6, 3), cli.Digits(r.KMO, 3))
	b := r.Bartlett
	if b == nil {
		return append(cells, "-", "-", "-")
	}
	return append(cells, strconv.FormatFloat(b.ChiSquare, 'f', 1, 64), strconv.Itoa(b.DF), pValue(b.P))
}
