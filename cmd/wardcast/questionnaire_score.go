package main

import (
	"cmp"
	"context"
	"fmt"

	"github.com/wardcast/wardcast/internal/cli"
	"github.com/wardcast/wardcast/internal/questionnaire/fit"
	"github.com/wardcast/wardcast/internal/questionnaire/folder"
	"github.com/wardcast/wardcast/internal/questionnaire/model"
	"github.com/wardcast/wardcast/internal/table"
)

type questionnaireScoreCmd struct {
	Input          string `arg:"" help:"Answers of new participants, with the columns of those of the fit." type:"existingfile" name:"file"`
	Model          string `help:"Output folder of the fit." required:"" placeholder:"DIR"`
	Out            string `help:"File for the scores: ${formats} (default: CSV on standard output)." placeholder:"FILE"`
	ID             string `name:"id" help:"Column of the participants' ids (default: that of the fit)." placeholder:"NAME"`
	MissingCode    codes  `help:"Code of a missing entry, besides those of the fit." placeholder:"CODE"`
	OmitIncomplete bool   `help:"Leave out participants who lack a confound; otherwise they are an error."`
	Norms          string `help:"Norms, as questionnaire norms writes them: adds percentiles and T scores. The file of answers needs their columns of age and sex." type:"existingfile" placeholder:"FILE"`
	scoreFlags
}

func (c *questionnaireScoreCmd) Run(_ context.Context, d *cli.Deps) error {
	m, err := model.Load(c.Model)
	if err != nil {
		return err
	}
	if c.Out != "" {
		if err := cmp.Or(table.CheckName(c.Out), folder.CheckFile(c.Out, c.Model, c.Input, c.Norms)); err != nil {
			return cli.Usage(fmt.Errorf("--out %w", err))
		}
	}
	n, people, err := c.norms(m)
	if err != nil {
		return err
	}
	scores, err := fit.Score(m, c.Input, fit.Scoring{
		ID: c.ID, Missing: c.MissingCode, OmitIncomplete: c.OmitIncomplete, Judge: n != nil, Table: c.table(),
	})
	if err != nil {
		return err
	}
	warn(d, c.Input, scores.Remarks)
	c.warn(d, c.Input, scores.TooFew)
	for t, lines := range scores.Vague {
		if len(lines) > 0 {
			d.Log.Warn("scores are no measurements, since the answers hold less than a quarter of the information "+
				"that is usual in the fit", "file", c.Input, "factor", t+1, "participants", len(lines),
				"lines", firstLines(lines))
		}
	}
	for _, b := range scores.Beyond {
		d.Log.Warn("values outside the range of training count as its nearest end", "file", c.Input,
			"column", b.Confound, "participants", b.Participants, "first_line", b.Line)
	}
	if n != nil {
		warnOutside(d, c.Input, n.Apply(m, &scores.Scores, people, scores.Vague))
	}
	if c.Out != "" {
		return folder.WriteScores(c.Out, &scores.Scores)
	}
	_, err = d.Out.Write(scores.CSV())
	return err
}
