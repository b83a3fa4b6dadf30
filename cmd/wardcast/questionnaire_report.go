package main

import (
	"cmp"
	"context"
	"fmt"
	"strconv"

	"github.com/wardcast/wardcast/internal/cli"
	"github.com/wardcast/wardcast/internal/questionnaire"
	"github.com/wardcast/wardcast/internal/questionnaire/evaluate"
	"github.com/wardcast/wardcast/internal/questionnaire/folder"
	"github.com/wardcast/wardcast/internal/questionnaire/model"
	"github.com/wardcast/wardcast/internal/questionnaire/report"
	"github.com/wardcast/wardcast/internal/table"
)

type questionnaireEvaluateCmd struct {
	answerFlags
	learning
	cli.Output
	Labels  []string `help:"Columns of outcomes to predict, as in adhd,sex=F: 1 is positive, or the given value." placeholder:"LIST"`
	Methods []string `help:"Methods to compare: ${evaluateMethods}." default:"icqf" enum:"${evaluateMethods}" placeholder:"LIST"`
	Repeats int      `help:"Number of splits of the participants." default:"${repeats}"`
}

func (c *questionnaireEvaluateCmd) Run(ctx context.Context, d *cli.Deps) error {
	o := evaluate.Options{Methods: c.Methods, Repeats: c.Repeats}
	if c.Repeats < 1 {
		return cli.Usage(fmt.Errorf("--repeats is %d, must be 1 or more", c.Repeats))
	}
	var err error
	if o.Options, err = c.read(d, &c.answerFlags); err != nil {
		return err
	}
	if o.Columns.Labels, err = questionnaire.ParseLabels(c.Labels); err != nil {
		return err
	}
	bar := cli.NewProgress(d.Err, "fits")
	o.Progress = bar.Set
	e, err := evaluate.Run(ctx, o)
	bar.Finish()
	if err != nil {
		return err
	}
	// An item that varies in the smallest share varies in all others.
	if items := e.Shares[0].ItemsLeftOut; len(items) > 0 {
		d.Log.Warn("items that do not vary among the participants trained on are left out there", "file", c.Input, "items", items)
	}
	warnUnconverged(d, e.Unconverged, c.MaxIter)
	head := []string{"METHOD", "TRAINED ON", "PARTICIPANTS", "FACTORS", "STABILITY"}
	for _, label := range e.Labels {
		head = append(head, "AUROC "+label)
	}
	cell := func(m evaluate.Measure) string {
		switch m.Count {
		case 0:
			return "-"
		case 1:
			return fmt.Sprintf("%.3f (-)", m.Mean)
		}
		return fmt.Sprintf("%.3f (%.3f)", m.Mean, m.Deviation)
	}
	var rows [][]string
	for _, s := range e.Shares {
		row := []string{s.Method, strconv.FormatFloat(100*s.Share, 'f', 0, 64) + " %", strconv.Itoa(s.Participants), strconv.Itoa(e.Factors), cell(s.Stability)}
		for _, a := range s.AUROC {
			row = append(row, cell(a))
		}
		rows = append(rows, row)
	}
	return c.Print(d, e, head, rows)
}

type questionnaireReportCmd struct {
	Model      string `help:"Output folder of the fit." required:"" placeholder:"DIR"`
	Out        string `help:"Folder for report.html, loadings.svg and loadings.png (default: that of the model)." placeholder:"DIR"`
	Codebook   string `help:"Table that describes items, with the columns item, text, subscale; it replaces the descriptions in the model." type:"existingfile" placeholder:"FILE"`
	Evaluation string `help:"Evaluation to show: what evaluate printed with --output=json." type:"existingfile" placeholder:"FILE"`
}

func (c *questionnaireReportCmd) Run(d *cli.Deps) error {
	m, err := model.Load(c.Model)
	if err != nil {
		return err
	}
	if c.Codebook != "" {
		items, err := readCodebook(d, c.Codebook)
		if err != nil {
			return err
		}
		if err := m.Describe(items); err != nil {
			return &table.Error{File: c.Codebook, Err: err}
		}
	}
	var e *evaluate.Evaluation
	if c.Evaluation != "" {
		if e, err = report.ReadEvaluation(m, c.Evaluation); err != nil {
			return err
		}
	}
	return folder.WriteReport(cmp.Or(c.Out, c.Model), m, e)
}
