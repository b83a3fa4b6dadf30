package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/wardcast/wardcast/classifier"
	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/internal/cli"
	"github.com/wardcast/wardcast/internal/service/scoring"
	"github.com/wardcast/wardcast/models"
)

// limits is the flags that bound an explanation.
type limits struct {
	Topics int `help:"Topics named in an explanation, the rest as one entry; 0 names all." default:"${topics}"`
	Terms  int `help:"Terms named in a topic, the rest as one entry; 0 names all." default:"${terms}"`
	Words  int `help:"Single words named, the rest as one entry; 0 names all." default:"${words}"`
}

func (l limits) limits() classifier.Limits { return classifier.Limits(l) }

type predictCmd struct {
	limits
	ModelDir  string  `help:"Model store." required:"" placeholder:"DIR"`
	Text      *string `help:"Score this text instead of standard input."`
	Complaint string  `help:"Presenting complaint of --text."`
	Class     string  `help:"Outcome that models of several explain, in place of the most probable one of each note." placeholder:"NAME"`
}

func (c *predictCmd) Run(ctx context.Context, d *cli.Deps) error {
	if c.Text == nil && c.Complaint != "" {
		return cli.Usage(errors.New("--complaint goes with --text; notes from standard input bring their own"))
	}
	set, err := scoring.Load(ctx, models.OpenDir(c.ModelDir))
	if err != nil {
		return err
	}
	if err := set.CheckClass(c.Class); err != nil {
		return cli.Usage(fmt.Errorf("--class: %w", err))
	}
	in, out, bar := d.In, d.Out, &cli.Progress{}
	if c.Text != nil {
		n := msg.Note{VisitID: "command-line", Complaint: c.Complaint, Text: *c.Text}
		in = strings.NewReader(string(n.AppendJSON(nil)))
	} else if !cli.Terminal(d.Out) { // where the predictions are seen, they are the progress
		bar = cli.NewProgress(d.Err, "predictions")
		out = &cli.LineCounter{Writer: d.Out, Bar: bar}
	}
	counts, err := set.Lines(ctx, classifier.Options{Limits: c.limits.limits(), Class: c.Class}, in, out)
	bar.Finish()
	if err != nil {
		return err
	}
	if counts.Blank > 0 {
		d.Log.Info("blank lines skipped", "lines", counts.Blank)
	}
	if counts.Refused > 0 {
		d.Log.Error("lines could not be scored", "lines", counts.Refused, "scored", counts.Scored)
		return cli.ErrReported
	}
	return nil
}
