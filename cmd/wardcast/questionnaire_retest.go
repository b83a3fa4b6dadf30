package main

import (
	"github.com/wardcast/wardcast/internal/cli"
	"github.com/wardcast/wardcast/internal/questionnaire"
	"github.com/wardcast/wardcast/internal/questionnaire/answers"
	"github.com/wardcast/wardcast/internal/questionnaire/items"
	"github.com/wardcast/wardcast/internal/questionnaire/model"
)

type questionnaireRetestCmd struct {
	answerFlags
	visitFlags
	cli.Output
	Model string `help:"Output folder of a fit to one visit: its factors are scored at each visit too, and its items, confounds and range replace those of the flags." type:"existingdir" placeholder:"DIR"`
}

func (c *questionnaireRetestCmd) Run(d *cli.Deps) error {
	columns := answers.Columns{ID: c.ID, Missing: c.MissingCode, OmitIncomplete: c.OmitIncomplete, Warn: d.Log.Warn}
	var m *model.Model
	var err error
	if c.Model != "" {
		m, err = model.Load(c.Model)
	} else {
		columns, err = c.columns(d)
	}
	if err != nil {
		return err
	}
	if columns.Visits, err = questionnaire.ParseEvents(c.Time, c.Bins); err != nil {
		return err
	}
	all, remarks, err := items.Retest(c.Input, columns, m)
	if err != nil {
		return err
	}
	warn(d, c.Input, remarks)
	grid := cli.NewGrid("SCORE", "PARTICIPANTS", "ICC(2,1)", "95 %", "ICC(3,1)", "95 %")
	for _, r := range all {
		two, three := r.Agreement, r.Consistency
		grid.Add(r.Score, r.Participants, two.Value, bounds(two.Low, two.High), three.Value,
			bounds(three.Low, three.High))
	}
	return c.Print(d, all, grid)
}
