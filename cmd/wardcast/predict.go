package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"golang.org/x/sync/errgroup"

	"github.com/wardcast/wardcast/classifier"
	"github.com/wardcast/wardcast/classifier/bundle"
	"github.com/wardcast/wardcast/classifier/intake"
	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/internal/cli"
	"github.com/wardcast/wardcast/internal/notes"
	"github.com/wardcast/wardcast/internal/service/scoring"
	"github.com/wardcast/wardcast/internal/table"
	"github.com/wardcast/wardcast/internal/wording"
	"github.com/wardcast/wardcast/textproc"
)

type predictCmd struct {
	store
	Input     string `help:"File of notes to score: ${formats} (default: JSON lines on standard input). Or a pattern of files, such as 'archive/*.parquet'." xor:"notes" placeholder:"FILE"`
	Out       string `help:"File for the predictions. Its name chooses the format, as for --input (default: JSON lines on standard output). For a pattern of files, the folder that takes a file of the same name for each." placeholder:"FILE"`
	Processes int    `help:"With a pattern of files, how many are scored at the same time (default: one for each processor)." placeholder:"N"`
	ScoredAt  string `help:"Time to write as scored_at, in RFC 3339, or none to leave it out (default: the time of scoring)." placeholder:"TIME"`
	notes.ColumnFlags
	oneNote
	Output cli.Format `help:"Format of the answer to --text: json, or table for people to read." enum:"table,json" default:"json" short:"o"`
	classifier.Limits
	Class  string `help:"Outcome to explain, for models of several outcomes (default: the most probable one of each note)." placeholder:"NAME"`
	Config string `help:"Configuration file of serve, whose section input sets the plausible ranges and the spellings of values." type:"existingfile" placeholder:"FILE"`

	intake *intake.Intake
}

type oneNote struct {
	Text      *string           `help:"Score this text." xor:"notes" type:"text"`
	Complaint string            `help:"Presenting complaint of --text."`
	Age       *float64          `help:"Age of the patient of --text, in years." placeholder:"YEARS"`
	Sex       string            `help:"Sex of the patient of --text, in the spelling of the training notes or of the configuration."`
	Acuity    *float64          `help:"Triage level of --text; 1 is the most urgent." placeholder:"LEVEL"`
	Vitals    map[string]string `help:"Vitals of --text, such as hr=110,spo2=91: ${vitals}." mapsep:"," placeholder:"NAME=NUMBER,..."`
	Fields    map[string]string `help:"Other fields of --text that the models use, such as arrival_mode=ambulance,pain=7." mapsep:"," placeholder:"NAME=VALUE,..."`
}

// note returns the note of --text, or nil. The error is a cli.UsageError.
func (o *oneNote) note() (*msg.Note, error) {
	if o.Text == nil {
		if o.Complaint != "" || o.Age != nil || o.Sex != "" || o.Acuity != nil || o.Vitals != nil ||
			o.Fields != nil {
			return nil, cli.Usagef("--complaint, --age, --sex, --acuity, --vitals and --fields require --text")
		}
		return nil, nil
	}
	if !utf8.ValidString(*o.Text) {
		return nil, cli.Usagef("--text is not UTF-8")
	}
	n := &msg.Note{VisitID: "command-line", Complaint: o.Complaint, Text: *o.Text, Sex: o.Sex}
	if o.Age != nil {
		n.Age = msg.Some(*o.Age)
	}
	if o.Acuity != nil {
		n.Acuity = msg.Some(*o.Acuity)
	}
	for _, name := range slices.Sorted(maps.Keys(o.Vitals)) {
		field := n.Vitals.Number(strings.TrimSpace(name))
		v, err := wording.Number(o.Vitals[name])
		switch {
		case field == nil:
			return nil, cli.Usagef("--vitals: unknown vital %q: the known ones are %s", name,
				strings.Join(msg.VitalNames(), ", "))
		case err != nil:
			return nil, cli.Usagef("--vitals: %s=%s is not a number, such as hr=110", name, o.Vitals[name])
		}
		*field = msg.Some(v)
	}
	for _, name := range slices.Sorted(maps.Keys(o.Fields)) {
		if !msg.SiteField(name) {
			return nil,
				cli.Usagef("--fields: %q is a field of every note, or not of letters a to z, digits and underscores",
					name)
		}
		n.Fields.Set(name, msg.ParseValue(strings.TrimSpace(o.Fields[name])))
	}
	return n, nil
}

func (c *predictCmd) Run(ctx context.Context, d *cli.Deps) error {
	note, err := c.note()
	if err != nil {
		return err
	}
	columns, err := c.Columns()
	if err != nil {
		return cli.Usage(err)
	}
	if err := c.check(note); err != nil {
		return cli.Usage(err)
	}
	cfg, err := configured(c.Config)
	if err != nil {
		return err
	}
	if c.intake, err = intake.New(cfg.Input); err != nil {
		return err
	}
	store, err := c.ProvideStore(ctx)
	if err != nil {
		return err
	}
	set, err := scoring.Load(ctx, store, nil)
	if errors.Is(err, scoring.ErrNoChampion) {
		return fmt.Errorf("--model-dir %s: %w; make one with \"wardcast train\"", c.ModelDir, err)
	}
	if err != nil {
		return err
	}
	if err := set.CheckClass(c.Class); err != nil {
		return cli.Usagef("--class: %w", err)
	}
	b := scoring.Batch{Lines: d.In, Out: d.Out}
	switch {
	case c.many():
		return c.files(ctx, d, set, columns)
	case note != nil && c.Output == cli.Table:
		return c.explain(d.Out, set, note)
	case note != nil:
		b.Lines = strings.NewReader(string(note.AppendJSON(nil)))
	case c.Input == "":
		d.Await("notes, one JSON object on each line (--input reads a file, --text scores a text)")
	}
	return c.file(ctx, d, set, columns, b)
}

// many reports whether --input is a pattern of files.
func (c *predictCmd) many() bool {
	_, err := os.Lstat(c.Input)
	return c.Processes > 0 || err != nil && strings.ContainsAny(c.Input, "*?[")
}

// files scores the files of a pattern that have no output yet. A file that cannot be read does not end the others.
func (c *predictCmd) files(ctx context.Context, d *cli.Deps, set *scoring.Set, columns notes.Columns) error {
	paths, err := filepath.Glob(c.Input)
	switch {
	case err != nil:
		return cli.Usagef("--input %s: %w", c.Input, err)
	case len(paths) == 0:
		return fmt.Errorf("--input %s: there are no such files", c.Input)
	}
	if err := os.MkdirAll(c.Out, 0o700); err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	var work []predictCmd
	from := map[string]string{} // by output
	for _, path := range paths {
		one := *c
		one.Input, one.Out = path, filepath.Join(c.Out, filepath.Base(path))
		if other, taken := from[one.Out]; taken {
			return cli.Usagef("--input: %s and %s have the same name, and so the same file in --out", other, path)
		}
		from[one.Out] = path
		if err := one.check(nil); err != nil {
			return cli.Usage(err)
		}
		if _, err := os.Stat(one.Out); err != nil {
			work = append(work, one)
		}
	}
	var done, failed atomic.Int64
	bar := cli.NewProgress(d, "files")
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(cmp.Or(c.Processes, runtime.GOMAXPROCS(0)))
	for _, one := range work {
		group.Go(func() error {
			err := one.file(ctx, d, set, columns, scoring.Batch{Workers: 1})
			if err != nil && ctx.Err() != nil {
				return ctx.Err()
			}
			if err != nil {
				failed.Add(1)
			}
			if err != nil && !errors.Is(err, cli.ErrReported) {
				d.Log.Error("file could not be scored", "file", one.Input, "err", err)
			}
			bar.Set(int(done.Add(1)), len(work))
			return nil
		})
	}
	err = group.Wait()
	bar.Finish()
	d.Log.Info("files scored", "files", done.Load(), "with_errors", failed.Load(), "done_before", len(paths)-len(work))
	if err == nil && failed.Load() > 0 {
		return cli.ErrReported
	}
	return err
}

// file scores --input, or without one the lines of b, to --out, or without one the output of b.
func (c *predictCmd) file(ctx context.Context, d *cli.Deps, set *scoring.Set, columns notes.Columns,
	b scoring.Batch,
) error {
	score := c.predict
	if c.Out != "" {
		score = c.toFile
	}
	if c.Input == "" {
		return score(ctx, d, set, b)
	}
	columns.Warn = d.Log.Warn
	in, err := notes.Open(c.Input, columns, set.Aux()...)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }() // only read
	b.Lines, b.Notes = nil, in.Next
	err = score(ctx, d, set, b)
	missing := slices.DeleteFunc(set.Aux(), func(name string) bool { return !in.Lacks(name) })
	if len(missing) > 0 {
		d.Log.Warn("the file lacks columns that the models use; their values count as missing", "file", c.Input,
			"columns", missing)
	}
	return err
}

func (c *predictCmd) check(note *msg.Note) error {
	if c.Output == cli.Table && (note == nil || c.Out != "") {
		return errors.New("--output=table works with --text only")
	}
	if _, err := time.Parse(time.RFC3339, c.ScoredAt); err != nil && c.ScoredAt != "" && c.ScoredAt != scoring.NoTime {
		return fmt.Errorf("--scored-at %s is neither a time, such as 2026-11-20T08:00:00Z, nor none", c.ScoredAt)
	}
	if c.Processes < 0 {
		return errors.New("--processes must be positive")
	}
	if c.many() && c.Out == "" {
		return errors.New("several files require --out, the folder for their predictions")
	}
	if c.Input == "" && c.ColumnFlags != (notes.ColumnFlags{}) {
		return errors.New("column flags require --input; standard input names the fields of a note itself")
	}
	in, errIn := os.Stat(c.Input)
	out, errOut := os.Stat(c.Out)
	if errIn == nil && errOut == nil && os.SameFile(in, out) {
		return errors.New("--out and --input are the same file")
	}
	return nil
}

// toFile writes the predictions of a batch to --out, which appears when all are written.
func (c *predictCmd) toFile(ctx context.Context, d *cli.Deps, set *scoring.Set, b scoring.Batch) error {
	file, err := table.Create(c.Out)
	if errors.Is(err, table.ErrName) {
		return cli.Usagef("--out %w", err)
	}
	if err != nil {
		return err
	}
	defer func() { _ = file.Abort() }() // nothing is left to remove after Commit
	end := func() error { return nil }
	if b.Out = file; !file.IsLines() {
		w, err := table.NewWriter[scoring.Row](file)
		if err != nil {
			return err
		}
		b.Rows, end = w.Write, w.Close
	}
	result := c.predict(ctx, d, set, b)
	if result != nil && !errors.Is(result, cli.ErrReported) {
		return result
	}
	err = end()
	if err == nil {
		err = file.Commit()
	}
	if err != nil {
		return fmt.Errorf("writing predictions: %w", err)
	}
	return result
}

// predict scores a batch. It returns cli.ErrReported if some notes could not be scored.
func (c *predictCmd) predict(ctx context.Context, d *cli.Deps, set *scoring.Set, b scoring.Batch) error {
	bar := &cli.Progress{}
	// Predictions on the terminal show the progress, and of many files there is a bar already.
	if c.Text == nil && b.Workers == 0 && (c.Out != "" || !cli.Terminal(d.Out)) {
		bar = cli.NewProgress(d, "predictions")
	}
	b.Progress, b.ScoredAt = func(done int) { bar.Set(done, 0) }, c.ScoredAt
	counts, err := set.Predict(ctx, classifier.Options{Limits: c.Limits, Intake: c.intake, Class: c.Class}, b)
	bar.Finish()
	if err != nil {
		return err
	}
	if counts.Blank > 0 {
		d.Log.Info("blank lines skipped", "lines", counts.Blank)
	}
	if counts.Refused == 0 {
		return nil
	}
	if c.Input == "" {
		d.Log.Error("lines could not be scored", "lines", counts.Refused, "scored", counts.Scored,
			"first_line", counts.Line, "reason", counts.Why)
		if counts.Scored == 0 && strings.HasPrefix(counts.Why, string(msg.NotJSON)) {
			d.Log.Warn("standard input must be JSON lines; --input reads other formats")
		}
	} else {
		d.Log.Error("rows could not be scored", "file", c.Input, "rows", counts.Refused, "scored", counts.Scored,
			"first_line", counts.Line, "reason", counts.Why)
	}
	return cli.ErrReported
}

func (c *predictCmd) explain(out io.Writer, set *scoring.Set, note *msg.Note) error {
	if err := msg.DecodeOwnNote(note.AppendJSON(nil), note); err != nil {
		return fmt.Errorf("reading --text: %w", err)
	}
	var p msg.Prediction
	everything := classifier.Options{Intake: c.intake, Class: c.Class} // without Limits, so that sums are complete
	if err := set.Scorer(everything).Score(note, "", &p); err != nil {
		return fmt.Errorf("scoring --text: %w", err)
	}
	outcome, decision := "admission", "not admit"
	if p.Class != "" {
		outcome = fmt.Sprintf("%q (against %q)", p.Class, p.Against)
	}
	if p.Decision == msg.Admit {
		decision = "admit"
	}
	var head strings.Builder
	fmt.Fprintf(&head, "The probability of %s is %s. Decision: %s, at a threshold of %s.\n", outcome,
		wording.Percent(p.Probability), decision, wording.Percent(p.Threshold))
	fmt.Fprintf(&head, "Model %s, version %s, knows %.0f %% of the words.\n", p.Model.Name, p.Model.Version,
		100*p.KnownTermShare)
	if p.Abstained {
		head.WriteString("The model knows no word of the note: only the patient's values count (abstained = true).\n")
	}
	for _, w := range p.Warnings {
		fmt.Fprintf(&head, "Warning: %s.\n", w)
	}
	parts := places(&p, note.Text)
	if shown := c.Evidence; shown > 0 && len(parts) > shown {
		rest := summand{what: "other parts of the note"}
		for _, part := range parts[shown:] {
			rest.contribution += part.contribution
		}
		parts = append(parts[:shown:shown], rest)
	}
	columns := set.Models[p.Model.Name].Aux()
	for i, a := range p.Aux {
		value := "missing"
		if s, ok := a.Value.Text(); ok {
			value = s
		} else if v, ok := a.Value.Number(); ok {
			value = strconv.FormatFloat(v, 'g', -1, 64)
		}
		if _, word := a.Value.Text(); word && columns[i].Kind == bundle.Numeric {
			value += " (no number: missing)"
		}
		if columns[i].Kind == bundle.Categorical && value != "missing" && !slices.Contains(columns[i].Levels, value) {
			value += " (unknown to the model)"
		}
		parts = append(parts, summand{a.Name + " " + value, a.Contribution})
	}
	sortLargest(parts)
	parts = append(append([]summand{{"every note", p.Intercept}}, parts...), summand{"sum", p.Logit})
	grid := cli.NewGrid("LOGIT", "FROM")
	grid.Title = head.String() + "\n"
	for _, part := range parts {
		grid.Add(fmt.Sprintf("%+.2f", part.contribution), part.what)
	}
	return cli.PrintGrids(out, grid)
}

// summand is the contribution of a part of a note to the logit.
type summand struct {
	what         string
	contribution float64
}

// places returns the contribution of each part of a note, in the words of the note, the largest first.
func places(p *msg.Prediction, text string) []summand {
	runes := []rune(text)
	var all []summand
	for _, e := range p.Evidence {
		what := "other parts"
		switch {
		case e.Other == msg.OtherWords:
			what = "other words"
		case e.End > 0:
			what = strings.Join(strings.Fields(string(runes[e.Start:e.End])), " ")
		}
		if e.Text == "" && len(e.Terms) > 0 { // misspelled
			what += " (" + strings.ReplaceAll(e.Terms[0], "_", " ") + ")"
		}
		all = append(all, summand{textproc.Spoken(what, e.Status), e.Contribution})
	}
	return all
}

func sortLargest(all []summand) {
	slices.SortStableFunc(all,
		func(a, b summand) int { return cmp.Compare(math.Abs(b.contribution), math.Abs(a.contribution)) })
}
