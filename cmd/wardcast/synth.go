package main

import (
	"context"
	"time"

	"github.com/wardcast/wardcast/internal/cli"
	"github.com/wardcast/wardcast/internal/lab/synth"
)

type synthCmd struct {
	Notes         synthNotesCmd         `cmd:"" help:"Generate triage notes with outcomes from a known topic model and admission rule."`
	Matrix        synthMatrixCmd        `cmd:"" help:"Generate a document-term matrix of tf-idf rows (MatrixMarket), by default of the size of the SONMF paper's largest set of notes."`
	Questionnaire synthQuestionnaireCmd `cmd:"" help:"Generate answers to an invented questionnaire of five constructs (CSV), with what is true of them."`
}

type synthNotesCmd struct {
	Count       int           `short:"n" help:"Number of notes." default:"1000"`
	Seed        uint64        `help:"Seed: equal seeds give equal notes." default:"1"`
	Format      string        `help:"JSON lines or CSV." enum:"jsonl,csv" default:"jsonl"`
	Start       time.Time     `help:"Earliest arrival." format:"2006-01-02" default:"2026-01-01"`
	Interval    time.Duration `help:"Mean time between arrivals." default:"10m"`
	Misspelling float64       `help:"Probability of a typing error in a word of five letters or more." default:"${misspelling}"`
}

func (c *synthNotesCmd) Run(ctx context.Context, d *cli.Deps) error {
	g, err := synth.New(synth.Settings{Seed: c.Seed, Start: c.Start, Interval: c.Interval, Misspelling: c.Misspelling})
	if err != nil {
		return err
	}
	if c.Format == "csv" {
		return synth.WriteCSV(ctx, d.Out, g, c.Count)
	}
	return synth.WriteJSONL(ctx, d.Out, g, c.Count)
}
