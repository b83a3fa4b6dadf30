package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/wardcast/wardcast/internal/cli"
	"github.com/wardcast/wardcast/internal/questionnaire"
	"github.com/wardcast/wardcast/internal/questionnaire/answers"
	"github.com/wardcast/wardcast/internal/questionnaire/cfa"
	"github.com/wardcast/wardcast/internal/wording"
)

type questionnaireCFACmd struct {
	Input       string   `arg:"" help:"Answers, a row for each participant, with a header: ${formats}." type:"existingfile" name:"file"`
	Model       string   `help:"File of the model in lavaan's syntax: lines such as factor =~ item + item and item ~~ item; before an item a number* fixes, NA* frees and a label* makes equal." required:"" type:"existingfile" placeholder:"FILE"`
	Estimator   string   `help:"Estimator: ml, of the rows with all answers; fiml, of all rows; or wlsmv, of ordered answers by polychoric correlations (default: wlsmv with --ordered, otherwise ml)." enum:",ml,fiml,wlsmv" default:""`
	Ordered     []string `help:"Items whose answers are ordered categories: all, or the name of each item of the model." placeholder:"ITEMS"`
	Group       string   `help:"Column of the groups, or column=A:B for these groups of it, in this order (otherwise that of the file). The model is fitted to all of them, each with parameters of its own; rows without a group are left out. The first group is the one that others are compared with." placeholder:"COLUMN"`
	Invariance  string   `help:"Fit the steps of measurement invariance over the groups up to this one: configural, thresholds (of ordered items, after Wu and Estabrook 2016), loadings, intercepts." enum:",configural,thresholds,loadings,intercepts" default:""`
	MissingCode codes    `help:"Code of a missing entry, in addition to an empty cell, NA, NaN and a dot." placeholder:"CODE"`
	cli.Output
	Threads int `help:"Number of threads, at most 1024 (0: one for each processor)." default:"0"`
}

// Run fits the model.
func (c *questionnaireCFACmd) Run(ctx context.Context, d *cli.Deps) error {
	r, err := cfa.Run(ctx, cfa.Options{
		Input: c.Input, Model: c.Model, Estimator: c.Estimator, Ordered: c.Ordered, Group: c.Group,
		Invariance: c.Invariance, Missing: c.MissingCode, Threads: c.Threads, Warn: d.Log.Warn,
		Remark: func(of answers.Remarks) { warn(d, c.Input, of) },
	})
	if err != nil {
		return err
	}
	warnEach(d.Log, "the model's fit needs a look", r.Warnings)
	return c.Print(d, r, cfaGrids(r)...)
}

func figure(f questionnaire.Figure) string { return cli.Digits(float64(f), 3) }

// shownModifications is the number of modification indices that the table shows; JSON has all.
const shownModifications = 10

func cfaGrids(r *cfa.Result) []*cli.Grid {
	fit := cli.NewGrid("MODEL", "CHI-SQUARE", "DF", "P", "CFI", "TLI", "RMSEA", "90 %", "SRMR", "DIFFERENCE", "DF", "P",
		"OF CFI")
	fit.Title = fmt.Sprintf("Estimator: %s. %s.\n", r.Estimator, wording.Count(r.N, "row"))
	steps := r.Steps
	if steps == nil {
		steps = []cfa.Step{{Model: "-", Fit: r.Fit}}
	}
	for _, s := range steps {
		m, chiSquare := s.Fit, s.Fit.ChiSquare
		if m.ChiSquareScaled.Defined() {
			chiSquare = m.ChiSquareScaled
		}
		row := []any{
			s.Model, cli.Digits(float64(chiSquare), 2), m.DF, pValue(m.P), figure(m.CFI), figure(m.TLI),
			figure(m.RMSEA), bounds(m.RMSEALow, m.RMSEAHigh), figure(m.SRMR),
		}
		if d := s.Difference; d != nil {
			row = append(row, cli.Digits(float64(d.ChiSquare), 2), d.DF, pValue(d.P), figure(d.CFI))
		} else {
			row = append(row, "-", "-", "-", "-")
		}
		if r.Steps == nil {
			row = row[1:9]
		}
		fit.Add(row...)
	}
	if r.Steps == nil {
		fit.Header = fit.Header[1:9]
	}
	within := func(group string) string {
		if group == "" {
			return ""
		}
		return " (" + group + ")"
	}
	parameters := cli.NewGrid("PARAMETER", "ESTIMATE", "SE", "STANDARDIZED")
	for _, p := range r.Parameters {
		parameters.Add(strings.TrimSpace(p.LHS+" "+p.Op+" "+p.RHS)+within(p.Group), p.Estimate, figure(p.SE),
			figure(p.Standardized))
	}
	modifications := cli.NewGrid("MODIFICATION", "INDEX", "EXPECTED CHANGE")
	for _, o := range r.Modifications[:min(shownModifications, len(r.Modifications))] {
		modifications.Add(o.LHS+" "+o.Op+" "+o.RHS+within(o.Group), cli.Digits(o.MI, 1), o.ExpectedChange)
	}
	return []*cli.Grid{fit, parameters, modifications}
}
