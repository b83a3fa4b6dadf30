package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/wardcast/wardcast/internal/cli"
	"github.com/wardcast/wardcast/internal/lab/synth"
)

type synthCmd struct {
	Notes         synthNotesCmd         `cmd:"" help:"Generate triage notes with outcomes from a known topic model and admission rule." example:"wardcast synth notes --count 2000 --format csv > notes.csv"`
	Matrix        synthMatrixCmd        `cmd:"" help:"Generate a document-term matrix of tf-idf rows (MatrixMarket). By default it has the size of the largest set of notes in the SONMF paper." example:"wardcast synth matrix --documents 500 --terms 300 --topics 10 > notes.mtx"`
	Questionnaire synthQuestionnaireCmd `cmd:"" help:"Generate answers to an invented questionnaire of five constructs (CSV), or the truth behind them." example:"wardcast synth questionnaire > answers.csv"`
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

type synthMatrixCmd struct{ synth.MatrixSettings }

func (c *synthMatrixCmd) Run(ctx context.Context, d *cli.Deps) error {
	if c.Documents < 1 || c.Terms < 1 || c.Topics < 1 {
		return cli.Usage(errors.New("--documents, --terms and --topics must be at least 1"))
	}
	return synth.WriteMatrix(ctx, d.Out, c.MatrixSettings)
}

type synthQuestionnaireCmd struct {
	synth.QuestionnaireSettings
	Part synth.QuestionnairePart `help:"Print the answers, the codebook, the true loadings or the true scores." enum:"answers,codebook,loadings,scores" default:"answers"`
}

func (c *synthQuestionnaireCmd) Run(ctx context.Context, d *cli.Deps) error {
	if c.Participants < 1 || c.Visits < 1 || !(c.Missing >= 0 && c.Missing < 1) {
		return cli.Usage(fmt.Errorf("--count is %d, --visits %d and --missing %v: the first two must be at least 1, the last from 0 to below 1", c.Participants, c.Visits, c.Missing))
	}
	return synth.WriteQuestionnaire(ctx, d.Out, c.Part, c.QuestionnaireSettings)
}
