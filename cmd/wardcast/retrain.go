package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/wardcast/wardcast/classifier/intake"
	"github.com/wardcast/wardcast/ingest"
	"github.com/wardcast/wardcast/internal/cli"
	"github.com/wardcast/wardcast/internal/notes"
	"github.com/wardcast/wardcast/internal/service/config"
	"github.com/wardcast/wardcast/internal/service/replay"
	"github.com/wardcast/wardcast/internal/service/schedule"
	"github.com/wardcast/wardcast/internal/service/textfile"
	"github.com/wardcast/wardcast/models/report"
	"github.com/wardcast/wardcast/models/retrain"
	"github.com/wardcast/wardcast/models/rounds"
	"github.com/wardcast/wardcast/models/train"
)

type retrainCmd struct {
	Once         bool      `help:"Retrain once (the default)." xor:"when"`
	Schedule     string    `help:"Retrain at the times of a cron expression, such as '30 2 * * *', until stopped. A failed run does not end it." placeholder:"CRON" xor:"when"`
	TimeZone     string    `help:"Time zone of --schedule, such as Europe/Berlin." default:"Local" placeholder:"ZONE"`
	Config       string    `help:"Configuration file of serve: read notes and outcomes from its Kafka topics, and save the models in its store." type:"existingfile" placeholder:"FILE"`
	Notes        []string  `help:"Notes as JSON lines, instead of those in Kafka." type:"existingfile" placeholder:"FILE" sep:"none"`
	Outcomes     []string  `help:"Outcomes as JSON lines, with --notes." type:"existingfile" placeholder:"FILE" sep:"none"`
	ModelDir     string    `help:"Model store, with --notes, instead of that of --config: a folder, or a bucket (${stores})." placeholder:"DIR"`
	Rounds       string    `help:"Train by rounds: local:N shares the notes among N processes, stdio lets whoever started the command relay them to shards." placeholder:"local:N|stdio"`
	TopicsFrom   string    `help:"Find topics from a sample of 50,000 notes, or from all." enum:"sample,all" default:"sample" placeholder:"sample|all"`
	AsOf         time.Time `help:"Cut-off: ignore everything decided later (default: the newest outcome)." placeholder:"TIME" format:"2006-01-02T15:04:05Z07:00"`
	WindowDays   *int      `help:"Train on the notes of this many days before the cut-off (default: ${windowDays}). This and the next three flags override the section retrain of --config." placeholder:"N"`
	Rank         *int      `help:"Number of topics (default: ${rank})." placeholder:"K"`
	MinDocuments *int      `help:"Notes that a complaint needs for a separate model (default: ${minDocuments})." placeholder:"N"`
	MinEvents    *int      `help:"Notes of each outcome that a complaint needs for a separate model (default: ${minEvents})." placeholder:"N"`
	MetricsFile  string    `help:"Write metrics of the run to this file, FILE.prom, in the folder of node_exporter's textfile collector." placeholder:"FILE"`
	AuxColumns   string    `help:"Auxiliary fields of the notes, as name:numeric or name:categorical. Fields that no note has are left out." default:"${noteColumns}" placeholder:"NAME:KIND"`
	gateFlags
	cli.Output
}

// Validate is called by the command line's parser.
func (c *retrainCmd) Validate() error {
	if err := c.gateFlags.Validate(); err != nil {
		return err
	}
	switch files := len(c.Notes) > 0; {
	case c.Config == "" && !files:
		return errors.New("give --config, or --notes with --outcomes and --model-dir")
	case files && (len(c.Outcomes) == 0 || c.ModelDir == "" && c.Config == ""):
		return errors.New("--notes requires --outcomes, and --model-dir or --config")
	case !files && (len(c.Outcomes) > 0 || c.ModelDir != ""):
		return errors.New("--outcomes and --model-dir require --notes; --config names the topics and the store")
	case c.Rounds != "" && c.Rounds != "stdio" && c.shards() < 1:
		return fmt.Errorf("--rounds %q: must be stdio or local:N, with an N of at least 1", c.Rounds)
	case c.Schedule != "" && c.Rounds == "stdio":
		return errors.New("--rounds=stdio cannot be used with --schedule: whoever relays the rounds ends with them")
	case c.Schedule != "" && !c.AsOf.IsZero():
		return errors.New("--as-of cannot be used with --schedule: it would be the same every night")
	}
	return nil
}

func (c *retrainCmd) Run(ctx context.Context, d *cli.Deps) error {
	zone, err := time.LoadLocation(c.TimeZone)
	if err != nil {
		return cli.Usagef("--time-zone: %w", err)
	}
	if err := textfile.Check(c.MetricsFile); err != nil {
		return cli.Usagef("--metrics-file: %w", err)
	}
	if c.Schedule == "" {
		return c.once(ctx, d)
	}
	times, err := schedule.Parse(c.Schedule, zone)
	if err != nil {
		return cli.Usage(err)
	}
	times.Run(ctx, d.Log, func(ctx context.Context) error {
		err := c.once(ctx, d)
		if errors.Is(err, cli.ErrRefused) {
			return nil // logged already
		}
		return err
	})
	return nil
}

// once retrains once, with the current configuration and files.
func (c *retrainCmd) once(ctx context.Context, d *cli.Deps) error {
	holdLess(d)
	began := time.Now()
	job := &retrain.Job{Version: version, Logger: d.Log}
	result, err := c.retrain(ctx, d, job)
	took := time.Since(began)
	err = interrupted(ctx, &job.Gatekeeper, err)
	if c.MetricsFile != "" && ctx.Err() == nil { // a stopped run has not failed
		m := textfile.Retraining{Ended: time.Now(), Took: took, Result: result, Err: err}
		if err := m.WriteFile(c.MetricsFile); err != nil {
			d.Log.Error("cannot write the metrics", "err", err)
		}
	}
	if result != nil {
		for _, w := range result.Counts.Warnings() {
			d.Log.Warn("check the notes", "what", w)
		}
	}
	if err != nil {
		return err
	}
	err = c.print(d, result, took)
	if result.Promotion != nil {
		err = errors.Join(err, logPromotion(d.Log, result.Promotion))
	}
	return err
}

func (c *retrainCmd) retrain(ctx context.Context, d *cli.Deps, job *retrain.Job) (_ *retrain.Result, err error) {
	job.Settings.AsOf = c.AsOf
	cfg, err := configured(c.Config)
	if err != nil {
		return nil, err
	}
	if err := c.rules(job, &cfg.Retrain); err != nil {
		return nil, err
	}
	if job.Settings.Intake, err = intake.New(cfg.Input); err != nil {
		return nil, err
	}
	job.Beds = retrain.Beds{
		Site: cfg.Beds.Site, Zone: cfg.Beds.TimeZone, Holidays: cfg.Beds.Holidays, Available: cfg.Beds.Available,
	}
	place := cmp.Or(c.ModelDir, cfg.Models.Store)
	if len(c.Notes) > 0 {
		bar := cli.NewProgress(d, "bytes read")
		job.Source = &retrain.Files{NoteFiles: c.Notes, OutcomeFiles: c.Outcomes, Progress: func(done, total int64) {
			bar.Set(int(done), int(total))
		}}
	} else {
		connection, err := cfg.Kafka.Connection()
		if err != nil {
			return nil, err
		}
		client, err := ingest.NewClient(connection, cfg.Kafka.Topics.Notes, cfg.Kafka.Topics.Outcomes)
		if err != nil {
			return nil, err
		}
		defer client.Close()
		bar := cli.NewProgress(d, "messages")
		job.Source = &replay.Source{
			Client: client, NoteTopic: cfg.Kafka.Topics.Notes, OutcomeTopic: cfg.Kafka.Topics.Outcomes, Logger: d.Log,
			Progress: func(_ string, done, total int64) { bar.Set(int(done), int(total)) },
		}
	}
	store, err := c.store(ctx, place, &cfg.Models)
	if err != nil {
		return nil, err
	}
	if job.Rounds, err = c.coordinator(d); err != nil {
		return nil, err
	}
	job.Gatekeeper, job.Previous = *c.open(d, store, cfg.Retrain.Gate, "retrain"), train.Previous(store, d.Log)
	bar := cli.NewProgress(d, "training")
	defer bar.Finish()
	job.Progress = bar.Set
	return job.Run(ctx)
}

// shards returns N of --rounds local:N, 0 for another one.
func (c *retrainCmd) shards() int {
	count, local := strings.CutPrefix(c.Rounds, "local:")
	n, err := strconv.Atoi(count)
	if !local || err != nil {
		return 0
	}
	return n
}

// coordinator returns what trains by rounds, nil without them.
func (c *retrainCmd) coordinator(d *cli.Deps) (*rounds.Coordinator, error) {
	if c.Rounds == "" {
		return nil, nil
	}
	if c.Rounds == "stdio" {
		relay, err := rounds.NewStdio(d.In, d.Out)
		return rounds.New(relay, version), err
	}
	program, err := os.Executable()
	return rounds.New(rounds.NewLocal(c.shards(), rounds.Processes(program)), version), err
}

// configured returns the configuration in a file, or the default configuration if path is "".
func configured(path string) (*config.Config, error) {
	if path == "" {
		cfg := config.Default()
		return &cfg, nil
	}
	return config.Load(path)
}

// rules sets the notes, the training and the site's statements by the flags, or else by r.
func (c *retrainCmd) rules(job *retrain.Job, r *config.Retrain) error {
	for _, flag := range []struct{ given, key *int }{
		{c.WindowDays, &r.WindowDays},
		{c.Rank, &r.Rank},
		{c.MinDocuments, &r.MinDocuments},
		{c.MinEvents, &r.MinEvents},
	} {
		if flag.given != nil {
			*flag.key = *flag.given
		}
	}
	if errs := r.Check(); errs != nil { // in the flags, since the file is checked already
		for i, err := range errs {
			key, why, _ := strings.Cut(strings.TrimPrefix(err.Error(), "retrain."), ": ")
			errs[i] = fmt.Errorf("--%s: %s", strings.ReplaceAll(key, "_", "-"), why)
		}
		return cli.Usage(errors.Join(errs...))
	}
	job.Settings.Window = time.Duration(r.WindowDays) * 24 * time.Hour
	job.Settings.Judged, job.Settings.Admission = r.Judged, r.Admission
	job.Fit = retrain.DefaultFit()
	job.Fit.TopicsFromAll = c.TopicsFrom == "all"
	job.Fit.Rank, job.Fit.MinDocuments, job.Fit.MinEvents = r.Rank, r.MinDocuments, r.MinEvents
	aux, err := notes.ParseAux(c.AuxColumns)
	if err != nil {
		return cli.Usagef("--aux-columns: %w", err)
	}
	job.Settings.Aux = (&notes.Columns{Aux: aux}).Features()
	job.Site, err = report.ReadSite(cmp.Or(c.Site, r.Site))
	return err
}

// retrained is the command's output. The JSON names are stable.
type retrained struct {
	Promoted     []judged       `json:"promoted"`
	Refused      []judged       `json:"refused"`
	Recalibrated []judged       `json:"recalibrated"`
	Reason       string         `json:"reason"`
	Generation   string         `json:"generation"` // of the new models, served or not
	Counts       retrain.Counts `json:"counts"`
	Seconds      float64        `json:"seconds"`

	Beds *retrain.BedsFit `json:"beds,omitempty"` // fit for the bed forecasts
}

type judged struct {
	Model   string `json:"model"`
	Version string `json:"version"`
}

// print prints the decision on the models.
func (c *retrainCmd) print(d *cli.Deps, r *retrain.Result, took time.Duration) error {
	out := retrained{
		Promoted: []judged{}, Refused: []judged{}, Recalibrated: []judged{}, Counts: r.Counts, Seconds: took.Seconds(),
	}
	e := r.Promotion
	out.Reason, out.Generation, out.Beds = e.Verdict.Reason, e.Candidate.Name, r.Beds
	made := &out.Refused
	if e.Served == e.Candidate {
		made = &out.Promoted
	}
	for _, b := range r.Trained.Bundles {
		*made = append(*made, judged{b.Manifest.Name, b.Version})
	}
	if e.Served != nil && e.Served != e.Candidate {
		versions := e.Served.Versions()
		for _, name := range slices.Sorted(maps.Keys(versions)) {
			out.Recalibrated = append(out.Recalibrated, judged{name, versions[name]})
		}
	}
	grid := cli.NewGrid("MODEL", "VERSION", "DECISION")
	grid.Title = e.Verdict.Reason + "\n\n"
	for what, list := range map[string][]judged{
		"promoted": out.Promoted, "refused": out.Refused, "recalibrated": out.Recalibrated,
	} {
		for _, m := range list {
			grid.Add(m.Model, m.Version, what)
		}
	}
	grid.Sort()
	return c.Print(d, out, grid)
}
