package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"github.com/wardcast/wardcast/classifier/eval"
	"github.com/wardcast/wardcast/internal/cli"
	"github.com/wardcast/wardcast/internal/notes"
	"github.com/wardcast/wardcast/internal/service/scoring"
	"github.com/wardcast/wardcast/models"
	"github.com/wardcast/wardcast/models/train"
	"github.com/wardcast/wardcast/solver/smf"
	"github.com/wardcast/wardcast/textproc"
)

// outcomes is the flag of those that learn several outcomes.
type outcomes struct {
	Classes []string `help:"Outcomes to tell apart in place of admitted or not: all labels, the commonest as reference (auto), or a list, its first as reference. --positive-label then lists those that count as admitted (default: all but the reference). With smf-w and smf-h." placeholder:"auto|NAME,..."`
}

// into puts the outcomes into the columns.
func (o *outcomes) into(columns *notes.Columns) error {
	if o.Classes == nil {
		return nil
	}
	columns.Classes = trimmed(o.Classes)
	if columns.Positive != "" {
		columns.Admission = trimmed(kong.SplitEscaped(columns.Positive, ','))
		columns.Positive = ""
	}
	if err := columns.CheckClasses(); err != nil {
		return cli.Usage(fmt.Errorf("--classes: %w", err))
	}
	return nil
}

// trimmed returns names without the space around them, as labels are read.
func trimmed(names []string) []string {
	out := make([]string, len(names))
	for i, name := range names {
		out[i] = strings.TrimSpace(name)
	}
	return out
}

// head is the flags of text rows and classifier that training and evaluation share.
type head struct {
	MinDF       int      `name:"min-df" help:"Least number of visits with a term." default:"${minDF}"`
	MaxDF       float64  `name:"max-df" help:"Greatest share of visits with a term." default:"1"`
	MaxTerms    int      `help:"Keep so many of the commonest terms; 0 keeps all." default:"0"`
	NGrams      int      `name:"n-grams" help:"Longest phrase in words, 1 to 3." default:"1"`
	Negation    bool     `help:"Make denied words terms of their own."`
	Synonyms    string   `help:"File of abbreviations in place of the built-in ones." type:"existingfile" placeholder:"FILE"`
	Alpha       *float64 `help:"Penalty of the coefficients: 1 is the lasso, 0 ridge (default: ${alpha}). Not of smf-w and smf-h." placeholder:"SHARE"`
	Standardize bool     `help:"Penalize features at unit variance, as R's glmnet does. With smf-w and smf-h: centre terms and give them equal variance."`
	FreeAux     bool     `help:"Leave auxiliary features unpenalized. Not of smf-w and smf-h."`
	Lambda      string   `help:"Penalty by cross-validation: the best (min, the default), or the simplest within one standard error (1se). Not of smf-w and smf-h." enum:"min,1se," default:""`
	Calibration string   `help:"Map from logit to probability: platt, isotonic (of admitted or not alone) or none." enum:"platt,isotonic,none" default:"platt"`
	Threshold   string   `help:"What the decision's threshold is chosen for: accuracy or youden." enum:"accuracy,youden" default:"accuracy"`
	Seed        uint64   `help:"Seed of everything random." default:"1"`
	L1Topics    *float64 `name:"l1-topics" help:"Weight of the sum of the topics in l1-nmf (default: from the scale of the rows)." placeholder:"WEIGHT"`
	L1Scores    *float64 `name:"l1-scores" help:"Weight of the sum of the scores in l1-nmf (default: likewise)." placeholder:"WEIGHT"`

	Xi           string `help:"Weight of the text beside the outcome in smf-w and smf-h, a number, or auto: by cross-validation (default: auto)." placeholder:"WEIGHT"`
	Ridge        string `help:"Weight of the squares of their coefficients, a number or auto (default: auto)." placeholder:"WEIGHT"`
	ClassWeights string `help:"Weights of outcomes in smf-w and smf-h: each note counts alike (none, the default), or each outcome (balanced)." enum:"none,balanced," default:""`
}

// apply puts the flags into settings.
func (h *head) apply(s *train.Settings) error {
	s.Text.MinDF, s.Text.MaxDF, s.Text.MaxTerms, s.Text.NGrams, s.Text.Negation = h.MinDF, h.MaxDF, h.MaxTerms, h.NGrams, h.Negation
	if h.Synonyms != "" {
		f, err := os.Open(h.Synonyms)
		if err != nil {
			return fmt.Errorf("opening synonyms: %w", err)
		}
		defer func() { _ = f.Close() }() // only read
		if s.Text.Synonyms, err = textproc.LoadSynonyms(f); err != nil {
			return fmt.Errorf("reading synonyms %s: %w", h.Synonyms, err)
		}
	}
	if h.Alpha != nil {
		s.Alpha = *h.Alpha
	}
	s.Standardize, s.FreeAux, s.OneSE = h.Standardize, h.FreeAux, h.Lambda == "1se"
	s.Calibration, s.Threshold, s.Seed = models.CalibrationKind(h.Calibration), eval.Criterion(h.Threshold), h.Seed
	s.L1Topics, s.L1Scores = h.L1Topics, h.L1Scores
	s.ClassWeights = smf.ClassWeights(h.ClassWeights)
	var err error
	if s.Xi, err = weight("--xi", h.Xi); err != nil {
		return err
	}
	s.Ridge, err = weight("--ridge", h.Ridge)
	return err
}

// weight reads a number, nil for auto.
func weight(flag, value string) (*float64, error) {
	if value == "" || value == "auto" {
		return nil, nil
	}
	v, err := strconv.ParseFloat(value, 64)
	if err != nil {
		return nil, cli.Usage(fmt.Errorf("%s %q is neither a number nor auto", flag, value))
	}
	return &v, nil
}

// elastic returns the flag of the elastic net that was given, "" for none, and supervised that of the supervised
// factorizations.
func (h *head) elastic() string {
	switch {
	case h.Alpha != nil:
		return "--alpha"
	case h.FreeAux:
		return "--free-aux"
	case h.Lambda != "":
		return "--lambda"
	}
	return ""
}

func (h *head) supervised() string {
	switch {
	case h.Xi != "":
		return "--xi"
	case h.Ridge != "":
		return "--ridge"
	case h.ClassWeights != "":
		return "--class-weights"
	}
	return ""
}

// warnRidge says what coefficients without a penalty do.
func warnRidge(log *slog.Logger, s *train.Settings) {
	if s.Ridge != nil && *s.Ridge == 0 {
		log.Warn("a ridge of 0: coefficients of outcomes that the notes tell apart grow without bound")
	}
}

type trainCmd struct {
	cli.Notes
	outcomes
	head
	cli.Output
	ModelDir     string `help:"Model store: a directory, made where it does not exist." required:"" placeholder:"DIR"`
	Method       string `help:"How topics are made: ${fitMethods}; bow is single words without topics." enum:"${fitMethods}" default:"sonmf"`
	Rank         []int  `help:"Number of topics; with smf-w and smf-h also several, to choose from by cross-validation." default:"${rank}"`
	Words        string `help:"Single words stand beside the topics, or not, none (default: beside, none for smf-w and smf-h, which have none)." enum:"beside,none," default:""`
	Weighting    string `help:"Rows of tf-idf or of 0 and 1, binary (default: binary for sonmf-binary and log-nmf, which take no others, else tf-idf)." enum:"tf-idf,binary," default:""`
	WarmStart    bool   `help:"Begin from the champion's topics, where it has as many of the same method; anyway topics keep the numbers of the champion's that they are nearest to."`
	PerComplaint string `help:"Complaints with a model of their own: where it is better (auto), where there are notes enough (always), or none (never)." enum:"auto,always,never" default:"auto"`
	MinDocuments int    `help:"Notes that a complaint needs for a model of its own." default:"${minDocuments}"`
}

func (c *trainCmd) Run(ctx context.Context, d *cli.Deps) error {
	s, err := c.settings()
	if err != nil {
		return err
	}
	data, err := c.data(d)
	if err != nil {
		return err
	}
	warnRidge(d.Log, &s)
	store := models.OpenDir(c.ModelDir)
	bar := cli.NewProgress(d.Err, "training")
	trained, err := train.Train(ctx, data, s, train.Job{Created: time.Now().UTC().Truncate(time.Second), Version: version, Progress: bar.Set, Previous: previous(d.Log, store)})
	bar.Finish()
	if err != nil {
		return err
	}
	if err := trained.Save(ctx, store, "train"); err != nil {
		return err
	}
	return printOutcomes(d, c.Output, trained.Outcomes)
}

// settings returns what the flags say of the models.
func (c *trainCmd) settings() (train.Settings, error) {
	s := train.Default()
	s.Method, s.WarmStart = train.Method(c.Method), c.WarmStart
	s.Words = c.Words == "beside" || c.Words == "" && !s.Method.Supervised()
	if len(c.Rank) == 0 {
		return s, cli.Usage(errors.New("--rank wants a number of topics"))
	}
	if s.Rank = c.Rank[0]; len(c.Rank) > 1 {
		s.Ranks = c.Rank
	}
	s.Text.Weighting = cmp.Or(textproc.Weighting(c.Weighting), s.Method.Weighting())
	s.PerComplaint, s.MinDocuments = train.Policy(c.PerComplaint), c.MinDocuments
	if flag := c.elastic(); flag != "" && s.Method.Supervised() {
		return s, cli.Usage(fmt.Errorf("%s is of the elastic net, which method %q has not", flag, c.Method))
	}
	if flag := c.supervised(); flag != "" && !s.Method.Supervised() {
		return s, cli.Usage(fmt.Errorf("%s is of smf-w and smf-h, not of method %q", flag, c.Method))
	}
	if err := c.apply(&s); err != nil {
		return s, err
	}
	return s, s.Check(len(c.Classes))
}

// data returns the notes to train on.
func (c *trainCmd) data(d *cli.Deps) (train.Data, error) {
	columns, err := c.Columns()
	if err != nil {
		return train.Data{}, cli.Usage(err)
	}
	if err := c.into(&columns); err != nil {
		return train.Data{}, err
	}
	for _, a := range columns.Aux {
		if !scoring.HasField(a.Name) {
			d.Log.Warn("a note has no such field: the auxiliary column will count as missing when notes are scored", "column", a.Column, "field", a.Name)
		}
	}
	t, err := c.Read(d, columns, c.Files())
	if err != nil {
		return train.Data{}, err
	}
	if slices.ContainsFunc(t.Rows, func(r notes.Row) bool { return r.Visit == "" }) {
		d.Log.Warn("rows without a visit id count as visits of their own: what several notes of one patient share may become a term")
	}
	return train.Data{Rows: t.Rows, Aux: columns.Features(), Classes: t.Classes, Admission: t.Admission}, nil
}

// previous gives a training the champions before it. One that is damaged is as none: training mends the store.
func previous(log *slog.Logger, store models.Store) func(context.Context, string) (*models.Bundle, error) {
	return func(ctx context.Context, model string) (*models.Bundle, error) {
		b, err := train.Champion(ctx, store, model)
		if damaged, ok := errors.AsType[*models.FileError](err); ok {
			log.Warn("the champion is damaged: topics are numbered anew", "model", model, "file", damaged.File)
			return nil, nil
		}
		return b, err
	}
}

func printOutcomes(d *cli.Deps, o cli.Output, outcomes []train.Outcome) error {
	if o.JSON() {
		return cli.PrintJSON(d.Out, map[string]any{"models": outcomes})
	}
	classes := slices.ContainsFunc(outcomes, func(r train.Outcome) bool { return r.Classes != nil })
	header := []string{"MODEL", "NOTES", "ADMITTED", "OWN MODEL", "AUROC", "LOG LOSS", "POOLED", "WHY"}
	if classes {
		header = slices.Insert(header, 4, "ACCURACY", "BALANCED", "MEAN AUROC")
		header[7] = "AUROC ADMITTED"
	}
	var rows [][]string
	for _, r := range outcomes {
		row := []string{r.Model, strconv.Itoa(r.Documents), strconv.Itoa(r.Positives), strconv.FormatBool(r.Kept), cli.Digits(r.Metrics.AUROC, 3), cli.Digits(r.LogLoss, 4), cli.Digits(&r.Pooled, 4), r.Why}
		if classes {
			row = slices.Insert(row, 4, cli.Digits(&r.Classes.Accuracy, 3), cli.Digits(&r.Classes.BalancedAccuracy, 3), cli.Digits(r.Classes.AUROC, 3))
		}
		rows = append(rows, row)
	}
	return cli.PrintTable(d.Out, header, rows)
}
