package main

import (
	"context"
	"fmt"

	"github.com/wardcast/wardcast/internal/cli"
	"github.com/wardcast/wardcast/internal/questionnaire/cfa"
	"github.com/wardcast/wardcast/internal/wording"
)

type questionnaireCFACmd struct {
	Input       string `arg:"" help:"Answers, a row for each participant, with a header: ${formats}." type:"existingfile" name:"file"`
	Model       string `help:"File of the model in lavaan's syntax: lines such as factor =~ item + item and item ~~ item; before an item a number* fixes, NA* frees and a label* makes equal." required:"" type:"existingfile" placeholder:"FILE"`
	Estimator   string `help:"Estimator: ml, of the rows with all answers; or fiml, of all rows (default: ml)." enum:",ml,fiml" default:""`
	MissingCode codes  `help:"Code of a missing entry, in addition to an empty cell, NA, NaN and a dot." placeholder:"CODE"`
	cli.Output
}

// Run fits the model.
func (c *questionnaireCFACmd) Run(ctx context.Context, d *cli.Deps) error {
	r, err := cfa.Run(ctx, cfa.Options{
		Input: c.Input, Model: c.Model, Estimator: c.Estimator, Missing: c.MissingCode,
	})
	if err != nil {
		return err
	}
	warnEach(d.Log, "the model's fit needs a look", r.Warnings)
	return c.Print(d, r, cfaGrids(r)...)
}

// shownModifications is the number of modification indices that the table shows; JSON has all.
const shownModifications = 10

func cfaGrids(r *cfa.Result) []*cli.Grid {
	fit := cli.NewGrid("CHI-SQUARE", "DF", "P", "CFI", "TLI", "RMSEA", "90 %", "SRMR")
	fit.Title = fmt.Sprintf("Estimator: %s. %s.\n", r.Estimator, wording.Count(r.N, "row"))
	m := r.Fit
	fit.Add(cli.Digits(float64(m.ChiSquare), 2), m.DF, pValue(m.P), m.CFI, m.TLI, m.RMSEA, bounds(m.RMSEALow, m.RMSEAHigh), m.SRMR)
	parameters := cli.NewGrid("PARAMETER", "ESTIMATE", "SE", "STANDARDIZED")
	for _, p := range r.Parameters {
		parameters.Add(p.LHS+" "+p.Op+" "+p.RHS, p.Estimate, p.SE, p.Standardized)
	}
	modifications := cli.NewGrid("MODIFICATION", "INDEX", "EXPECTED CHANGE")
	for _, o := range r.Modifications[:min(shownModifications, len(r.Modifications))] {
		modifications.Add(o.LHS+" "+o.Op+" "+o.RHS, cli.Digits(o.MI, 1), o.ExpectedChange)
	}
	return []*cli.Grid{fit, parameters, modifications}
}
