package main

import (
	"errors"

	"github.com/wardcast/wardcast/internal/cli"
	"github.com/wardcast/wardcast/internal/questionnaire/model"
	"github.com/wardcast/wardcast/internal/questionnaire/paper"
)

type questionnaireTableCmd struct {
	Model  string  `help:"Output folder of the fit whose loadings to print." required:"" xor:"what" placeholder:"DIR"`
	Scores string  `help:"Table of the scores to print, as fit and score write it." required:"" xor:"what" type:"existingfile" placeholder:"FILE"`
	Format string  `help:"markdown and latex are for a paper: two digits, and items sorted by their factor. csv and json have all numbers in full." enum:"markdown,latex,csv,json" default:"markdown"`
	Cut    float64 `help:"Least loading, in absolute value, that markdown and latex show (default: a tenth of the largest)." placeholder:"LOADING"`
}

func (c *questionnaireTableCmd) Run(d *cli.Deps) error {
	forPaper := c.Format == "markdown" || c.Format == "latex"
	if c.Cut < 0 || c.Cut != 0 && (c.Model == "" || !forPaper) {
		return cli.Usage(errors.New("--cut must be above 0, and is for loadings in markdown or latex"))
	}
	t, err := c.table(forPaper)
	if err != nil {
		return err
	}
	var data []byte
	switch c.Format {
	case "csv":
		data = t.CSV()
	case "json":
		data, err = t.JSON()
	case "latex":
		data = t.LaTeX()
	default:
		data = t.Markdown()
	}
	if err == nil {
		_, err = d.Out.Write(data)
	}
	return err
}

func (c *questionnaireTableCmd) table(forPaper bool) (*paper.Table, error) {
	if c.Scores != "" {
		return paper.Scores(c.Scores)
	}
	m, err := model.Load(c.Model)
	switch {
	case err != nil:
		return nil, err
	case forPaper:
		return paper.LoadingsToPrint(m, c.Cut), nil
	}
	return paper.Loadings(m), nil
}
