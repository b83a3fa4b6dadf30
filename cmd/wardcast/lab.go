package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"

	"github.com/wardcast/wardcast/classifier"
	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/internal/cli"
	"github.com/wardcast/wardcast/internal/lab/bench"
	"github.com/wardcast/wardcast/internal/lab/sample"
	"github.com/wardcast/wardcast/internal/lab/synth"
	"github.com/wardcast/wardcast/internal/service/scoring"
	"github.com/wardcast/wardcast/internal/table"
	"github.com/wardcast/wardcast/models"
	"github.com/wardcast/wardcast/models/blobstore"
)

type benchCmd struct {
	Score  benchScoreCmd  `cmd:"" help:"Score notes on one core. The reference is encoding/json, which reads and writes the same messages." example:"wardcast bench score --notes 20000"`
	Stream benchStreamCmd `cmd:"" help:"Stream notes through a broker. The reference is a bare kafka-go loop that writes messages of the same size." example:"wardcast bench stream --notes 20000"`
}

type benchInput struct {
	classifier.Limits
	Notes    int    `help:"Number of notes." default:"100000"`
	ModelDir string `help:"Model store (default: models trained on generated notes)." placeholder:"DIR"`
	Input    string `help:"Notes as JSON lines, repeated as often as needed (default: generated notes)." type:"existingfile" placeholder:"FILE"`
	Seed     uint64 `help:"Seed of the generated notes." default:"1"`
}

func (c *benchInput) prepare(ctx context.Context, d *cli.Deps) (_ *scoring.Set, _ [][]byte, err error) {
	if c.Notes < 1 {
		return nil, nil, cli.Usagef("--notes must be at least 1")
	}
	g, err := synth.New(synth.Settings{Seed: c.Seed, Misspelling: synth.DefaultMisspelling})
	if err != nil {
		return nil, nil, err
	}
	dir := c.ModelDir
	if dir == "" {
		if dir, err = os.MkdirTemp("", "wardcast-bench-"); err != nil {
			return nil, nil, fmt.Errorf("making a folder for the models: %w", err)
		}
		defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
		bar := cli.NewProgress(d, "training")
		_, err := sample.Train(ctx, g, models.OpenDir(dir), sample.Options{Progress: bar.Set})
		bar.Finish()
		if err != nil {
			return nil, nil, err
		}
	}
	store, err := blobstore.Open(ctx, dir)
	if err != nil {
		return nil, nil, err
	}
	set, err := scoring.Load(ctx, store, nil)
	if err != nil {
		return nil, nil, err
	}
	messages, err := c.messages(g)
	return set, messages, err
}

// messages returns notes with numbered visits, so that each answer can be matched to its note.
func (c *benchInput) messages(g *synth.Generator) ([][]byte, error) {
	var given []msg.Note
	if c.Input != "" {
		f, err := os.Open(c.Input)
		if err != nil {
			return nil, fmt.Errorf("opening notes: %w", err)
		}
		defer func() { _ = f.Close() }() // only read
		s := bufio.NewScanner(f)
		s.Buffer(nil, 1<<20)
		for s.Scan() && len(given) < c.Notes {
			given = append(given, msg.Note{})
			if err := msg.DecodeNote(s.Bytes(), &given[len(given)-1]); err != nil {
				return nil, fmt.Errorf("reading notes: %s, line %d: %w", c.Input, len(given), err)
			}
		}
		if err := s.Err(); err != nil {
			return nil, fmt.Errorf("reading notes: %w", err)
		}
		if len(given) == 0 {
			return nil, fmt.Errorf("reading notes: %s is empty", c.Input)
		}
	}
	messages := make([][]byte, c.Notes)
	for i := range messages {
		var n msg.Note
		if given != nil {
			n = given[i%len(given)]
		} else {
			n = g.At(sample.Notes + i).Note
		}
		n.VisitID = strconv.Itoa(i)
		messages[i] = n.AppendJSON(nil)
	}
	return messages, nil
}

type benchScoreCmd struct {
	benchInput
	cli.Output
}

func (c *benchScoreCmd) Run(ctx context.Context, d *cli.Deps) error {
	set, messages, err := c.prepare(ctx, d)
	if err != nil {
		return err
	}
	r, err := bench.Score(ctx, set, c.Limits, messages)
	if err != nil {
		return err
	}
	rate := func(v float64) string { return strconv.Itoa(int(v)) + " notes/s" }
	grid := cli.NewGrid("MEASURE", "ONE CORE")
	grid.Add("JSON in, explained JSON out", rate(r.JSONPerSecond))
	grid.Add("text to probability", rate(r.TextPerSecond))
	grid.Add("encoding/json on the same messages, no scoring", rate(r.ReferenceCodec))
	grid.Add("ratio of the first to the last", cli.Digits(r.Ratio, 2))
	grid.Add("mean bytes of a note, of a prediction", fmt.Sprintf("%.0f, %.0f", r.NoteBytes, r.PredictBytes))
	return c.Print(d, r, grid)
}

type benchStreamCmd struct {
	benchInput
	cli.Output
	bench.StreamSettings
}

func (c *benchStreamCmd) Run(ctx context.Context, d *cli.Deps) error {
	set, messages, err := c.prepare(ctx, d)
	if err != nil {
		return err
	}
	log, err := cli.NewLogger(d.Err, "error")
	if err != nil {
		return err
	}
	bar := cli.NewProgress(d, "streaming")
	s := c.StreamSettings
	s.Logger, s.Limits, s.Progress = log, c.benchInput.Limits, bar.Set
	r, err := bench.Stream(ctx, set, messages, s)
	bar.Finish()
	if err != nil {
		return err
	}
	grid := cli.NewGrid("MEASURE", "WARDCAST", "BARE LOOP")
	grid.Add("notes/s", cli.Digits(r.PerSecond, 0), cli.Digits(r.EchoPerSecond, 0))
	grid.Add("ratio", cli.Digits(r.Ratio, 2), "")
	grid.Add("latency p50, ms", cli.Digits(r.LatencyMS.P50, 1), cli.Digits(r.EchoLatencyMS.P50, 1))
	grid.Add("latency p99, ms", cli.Digits(r.LatencyMS.P99, 1), cli.Digits(r.EchoLatencyMS.P99, 1))
	grid.Add("latency p99.9, ms", cli.Digits(r.LatencyMS.P999, 1), cli.Digits(r.EchoLatencyMS.P999, 1))
	grid.Add("most memory, MiB", r.MemoryBytes>>20, r.EchoMemoryBytes>>20)
	grid.Add("lost, repeated, dead letters", fmt.Sprintf("%d, %d, %d", r.Lost, r.Repeated, r.DeadLetters), "")
	err = c.Print(d, r, grid)
	if err == nil && r.Lost > 0 {
		d.Log.Error("notes were lost", "notes", r.Lost)
		return cli.ErrReported
	}
	return err
}

type synthCmd struct {
	Notes         synthNotesCmd         `cmd:"" help:"Generate triage notes with outcomes from a known topic model and admission rule." example:"wardcast synth notes --count 2000 --format csv > notes.csv"`
	Matrix        synthMatrixCmd        `cmd:"" help:"Generate a document-term matrix of tf-idf rows (MatrixMarket). The default is the size of the largest set of notes in the SONMF paper." example:"wardcast synth matrix --documents 500 --terms 300 --topics 10 > notes.mtx"`
	Questionnaire synthQuestionnaireCmd `cmd:"" help:"Generate answers to an invented questionnaire of five constructs (CSV), or the truth behind them." example:"wardcast synth questionnaire > answers.csv"`
}

type synthNotesCmd struct {
	Count    int    `short:"n" help:"Number of notes." default:"1000"`
	Format   string `help:"JSON lines or CSV." enum:"jsonl,csv" default:"jsonl"`
	Outcomes string `help:"Also write the outcomes of the notes as messages, in the order of recording, to this file of JSON lines." placeholder:"FILE"`
	synth.Settings
}

func (c *synthNotesCmd) Run(ctx context.Context, d *cli.Deps) error {
	g, err := synth.New(c.Settings)
	if err != nil {
		return err
	}
	if c.Outcomes != "" {
		if err := c.writeOutcomes(ctx, g); err != nil {
			return err
		}
	}
	if c.Format == "csv" {
		return synth.WriteCSV(ctx, d.Out, g, c.Count)
	}
	return synth.WriteJSONL(ctx, d.Out, g, c.Count)
}

// writeOutcomes writes the file of outcomes atomically.
func (c *synthNotesCmd) writeOutcomes(ctx context.Context, g *synth.Generator) error {
	f, err := table.CreateAny(c.Outcomes)
	if err != nil {
		return fmt.Errorf("creating %s: %w", c.Outcomes, err)
	}
	if err := synth.WriteOutcomes(ctx, f, g, c.Count); err != nil {
		return errors.Join(err, f.Abort())
	}
	return f.Commit()
}

type synthMatrixCmd struct{ synth.MatrixSettings }

func (c *synthMatrixCmd) Run(ctx context.Context, d *cli.Deps) error {
	if c.Documents < 1 || c.Terms < 1 || c.Topics < 1 {
		return cli.Usagef("--documents, --terms and --topics must be at least 1")
	}
	return synth.WriteMatrix(ctx, d.Out, c.MatrixSettings)
}

type synthQuestionnaireCmd struct {
	synth.QuestionnaireSettings
	Part synth.QuestionnairePart `help:"Print the answers, the codebook, the true loadings or the true scores." enum:"answers,codebook,loadings,scores" default:"answers"`
}

func (c *synthQuestionnaireCmd) Run(ctx context.Context, d *cli.Deps) error {
	if c.Participants < 1 || c.Visits < 1 || !(c.Missing >= 0 && c.Missing < 1) {
		return cli.Usagef("--count is %d, --visits %d and --missing %v: the first two must be at least 1, "+
			"the last from 0 to below 1", c.Participants, c.Visits, c.Missing)
	}
	return synth.WriteQuestionnaire(ctx, d.Out, c.Part, c.QuestionnaireSettings)
}
