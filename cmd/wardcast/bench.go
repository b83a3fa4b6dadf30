package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"

	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/internal/cli"
	"github.com/wardcast/wardcast/internal/lab/bench"
	"github.com/wardcast/wardcast/internal/lab/sample"
	"github.com/wardcast/wardcast/internal/lab/synth"
	"github.com/wardcast/wardcast/internal/service/obs"
	"github.com/wardcast/wardcast/internal/service/scoring"
	"github.com/wardcast/wardcast/models"
)

type benchCmd struct {
	Score  benchScoreCmd  `cmd:"" help:"Score notes on one core. The reference is encoding/json, which reads and writes the same messages." example:"wardcast bench score --notes 20000"`
	Stream benchStreamCmd `cmd:"" help:"Stream notes through a broker. The reference is a bare kafka-go loop that writes messages of the same size." example:"wardcast bench stream --notes 20000"`
}

// benchInput is the flags for the notes and the models.
type benchInput struct {
	limits
	Notes    int    `help:"Number of notes." default:"100000"`
	ModelDir string `help:"Model store (default: models trained on generated notes)." placeholder:"DIR"`
	Input    string `help:"Notes as JSON lines, repeated as often as needed (default: generated notes)." type:"existingfile" placeholder:"FILE"`
	Seed     uint64 `help:"Seed of the generated notes." default:"1"`
}

func (c *benchInput) prepare(ctx context.Context, d *cli.Deps) (_ *scoring.Set, _ [][]byte, err error) {
	if c.Notes < 1 {
		return nil, nil, cli.Usage(errors.New("--notes must be at least 1"))
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
		bar := cli.NewProgress(d.Err, "training")
		_, err := sample.Train(ctx, g, models.OpenDir(dir), bar.Set)
		bar.Finish()
		if err != nil {
			return nil, nil, err
		}
	}
	set, err := scoring.Load(ctx, models.OpenDir(dir))
	if err != nil {
		return nil, nil, err
	}
	messages, err := c.messages(g)
	return set, messages, err
}

// messages returns notes with numbered visits, so that each answer can be assigned to its note.
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
	r, err := bench.Score(ctx, set, c.limits.limits(), messages)
	if err != nil {
		return err
	}
	rate := func(v float64) string { return strconv.Itoa(int(v)) + " notes/s" }
	return c.Print(d, r, []string{"MEASURE", "ONE CORE"}, [][]string{
		{"JSON in, explained JSON out", rate(r.JSONPerSecond)},
		{"text to probability", rate(r.TextPerSecond)},
		{"encoding/json on the same messages, no scoring", rate(r.ReferenceCodec)},
		{"ratio of the first to the last", cli.Digits(&r.Ratio, 2)},
		{"mean bytes of a note, of a prediction", fmt.Sprintf("%.0f, %.0f", r.NoteBytes, r.PredictBytes)},
	})
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
	log, err := obs.NewLogger(d.Err, "error")
	if err != nil {
		return err
	}
	bar := cli.NewProgress(d.Err, "streaming")
	s := c.StreamSettings
	s.Logger, s.Limits, s.Progress = log, c.limits.limits(), bar.Set
	r, err := bench.Stream(ctx, set, messages, s)
	bar.Finish()
	if err != nil {
		return err
	}
	err = c.Print(d, r, []string{"MEASURE", "WARDCAST", "BARE LOOP"}, [][]string{
		{"notes/s", cli.Digits(&r.PerSecond, 0), cli.Digits(&r.EchoPerSecond, 0)},
		{"ratio", cli.Digits(&r.Ratio, 2), ""},
		{"latency p50, ms", cli.Digits(&r.LatencyMS.P50, 1), cli.Digits(&r.EchoLatencyMS.P50, 1)},
		{"latency p99, ms", cli.Digits(&r.LatencyMS.P99, 1), cli.Digits(&r.EchoLatencyMS.P99, 1)},
		{"latency p99.9, ms", cli.Digits(&r.LatencyMS.P999, 1), cli.Digits(&r.EchoLatencyMS.P999, 1)},
		{"lost, repeated, dead letters", fmt.Sprintf("%d, %d, %d", r.Lost, r.Repeated, r.DeadLetters), ""},
	})
	if err == nil && r.Lost > 0 {
		d.Log.Error("notes were lost", "notes", r.Lost)
		return cli.ErrReported
	}
	return err
}
