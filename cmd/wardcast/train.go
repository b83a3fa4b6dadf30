package main

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"github.com/wardcast/wardcast/classifier/bundle"
	"github.com/wardcast/wardcast/classifier/eval"
	"github.com/wardcast/wardcast/classifier/intake"
	"github.com/wardcast/wardcast/internal/cli"
	"github.com/wardcast/wardcast/internal/lists"
	"github.com/wardcast/wardcast/internal/notes"
	"github.com/wardcast/wardcast/internal/service/config"
	"github.com/wardcast/wardcast/internal/wording"
	"github.com/wardcast/wardcast/models/report"
	"github.com/wardcast/wardcast/models/rounds"
	"github.com/wardcast/wardcast/models/train"
	"github.com/wardcast/wardcast/solver/smf"
	"github.com/wardcast/wardcast/textproc"
)

type labelled struct {
	notes.Flags
	Classes []string `help:"Outcomes to predict instead of admitted or not: all labels, with the most common as reference (auto), or a list that begins with the reference. --positive-label then lists the outcomes that count as admitted (default: all except the reference). For ${supervised}." placeholder:"auto|NAME"`
}

func (l *labelled) columns() (notes.Columns, error) {
	columns, err := l.Columns()
	if err != nil {
		return columns, cli.Usage(err)
	}
	if l.Classes == nil {
		return columns, nil
	}
	columns.Classes = trimmed(l.Classes)
	if columns.Positive != "" {
		columns.Admission, columns.Positive = trimmed(kong.SplitEscaped(columns.Positive, ',')), ""
	}
	if err := columns.CheckClasses(); err != nil {
		return columns, cli.Usagef("--classes: %w", err)
	}
	return columns, nil
}

// cleaned returns the notes of a table, whose texts are read by these settings, without implausible values, and warns
// of these.
func cleaned(d *cli.Deps, t *notes.Table, columns *notes.Columns, cfg *config.Config, text textproc.Settings,
) (train.Data, error) {
	in, err := intake.New(cfg.Input)
	data := train.Data{Rows: t.Rows, Aux: columns.Features(), Intake: in, Classes: t.Classes, Admission: t.Admission}
	if err != nil {
		return data, err
	}
	implausible := data.Clean(text)
	for _, field := range slices.Sorted(maps.Keys(implausible)) {
		d.Log.Warn("implausible values count as missing", "field", field, "rows", implausible[field])
	}
	return data, nil
}

// trimmed returns names without surrounding space, like the labels.
func trimmed(names []string) []string { return lists.Map(names, strings.TrimSpace) }

// head are the flags for text and classifiers that training and evaluation share.
type head struct {
	MinDF       int      `name:"min-df" help:"Drop terms that fewer patients have. 0: 3 patients; 5 for possible names (10 from 5,000 notes on)." default:"0"`
	MaxDF       float64  `name:"max-df" help:"Drop terms that a larger share of the patients has." default:"1"`
	MaxTerms    int      `help:"Keep this many of the most common terms; 0 keeps all." default:"0"`
	NGrams      int      `name:"n-grams" help:"Longest phrase that is a term, in words, 1 to 3; 0 is 2, or 1 where cross-validation prefers it or single words are no features." default:"0"`
	Concepts    string   `help:"File of concepts that extend or, with the same name, replace the built-in ones: concept, surfaces, kind and note, separated by tabs; none: single words only." placeholder:"FILE|none"`
	Dialect     string   `help:"Where dialects contradict each other and the context does not decide, read words as nurses there mean them: us, uk, au (New Zealand too), in or ca." enum:"us,uk,au,in,ca," default:"" placeholder:"COUNTRY"`
	Status      bool     `help:"Use separate terms for findings that are denied, possible, past or another person's." default:"true" negatable:""`
	Numbers     bool     `help:"Use vital signs, scores, doses and durations in the text as terms." default:"true" negatable:""`
	Spelling    bool     `help:"Correct misspelled words of the concepts." default:"true" negatable:""`
	StopWords   string   `help:"Drop function words, or keep them as terms." enum:"drop,keep" default:"drop"`
	Pieces      bool     `help:"Also use pieces of words as features, for rare and misspelled words." default:"true" negatable:""`
	Alpha       *float64 `help:"Penalty of the coefficients: 1 is the lasso, 0 is ridge (default: ${alpha}). Not for ${supervised}." placeholder:"SHARE"`
	Standardize bool     `help:"Scale features to unit variance before the penalty, like R's glmnet. For ${supervised}: centre terms and scale them to equal variance."`
	FreeAux     bool     `help:"Do not penalize auxiliary features. Not for ${supervised}."`
	Lambda      string   `help:"Weight of the penalty: the best in cross-validation (min, the default), or the largest within one standard error of it (1se). Not for ${supervised}." enum:"min,1se," default:"" placeholder:"min|1se"`
	Calibration string   `help:"Map from logit to probability: platt, isotonic (only without --classes) or none." enum:"platt,isotonic,none" default:"platt"`
	Threshold   string   `help:"Choose the decision's threshold by accuracy or by Youden's index." enum:"accuracy,youden" default:"accuracy"`
	Seed        uint64   `help:"Seed of all random numbers." default:"1"`
	L1Topics    *float64 `name:"l1-topics" help:"Weight of the sum of the topics in l1-nmf (default: from the scale of the rows)." placeholder:"WEIGHT"`
	L1Scores    *float64 `name:"l1-scores" help:"Weight of the sum of the scores in l1-nmf (default: from the scale of the rows)." placeholder:"WEIGHT"`

	Xi           string `help:"Weight of the text relative to the outcome in ${supervised}: a number, or auto for cross-validation (default: auto)." placeholder:"WEIGHT"`
	Ridge        string `help:"Weight of the squared coefficients in ${supervised}: a number or auto (default: auto)." placeholder:"WEIGHT"`
	ClassWeights string `help:"Weights in ${supervised}: equal for each note (none, the default), or an equal total for each outcome (balanced)." enum:"none,balanced," default:"" placeholder:"none|balanced"`
}

func (h *head) apply(s *train.Settings) error {
	s.Text.MinDF, s.Text.MaxDF, s.Text.MaxTerms, s.Text.NGrams = h.MinDF, h.MaxDF, h.MaxTerms, h.NGrams
	s.Text.Status, s.Text.Numbers, s.Text.Spelling = h.Status, h.Numbers, h.Spelling
	s.Text.KeepStopWords, s.Pieces = h.StopWords == "keep", h.Pieces
	var err error
	if s.Text.Concepts, err = concepts(h.Concepts, h.Dialect); err != nil {
		return err
	}
	if h.Alpha != nil {
		s.Alpha = *h.Alpha
	}
	s.Standardize, s.FreeAux, s.OneSE = h.Standardize, h.FreeAux, h.Lambda == "1se"
	s.Calibration, s.Threshold, s.Seed = bundle.CalibrationKind(h.Calibration), eval.Criterion(h.Threshold), h.Seed
	s.L1Topics, s.L1Scores = h.L1Topics, h.L1Scores
	s.ClassWeights = smf.ClassWeights(h.ClassWeights)
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
	v, err := wording.Number(value)
	if err != nil {
		return nil, cli.Usagef("%s %q is neither a number nor auto", flag, value)
	}
	return &v, nil
}

// only returns the name of a given flag that applies only to supervised factorizations or the elastic net, or "".
func (h *head) only(supervised bool) string {
	for _, flag := range []struct {
		name              string
		given, supervised bool
	}{
		{"--alpha", h.Alpha != nil, false},
		{"--free-aux", h.FreeAux, false},
		{"--lambda", h.Lambda != "", false},
		{"--xi", h.Xi != "", true},
		{"--ridge", h.Ridge != "", true},
		{"--class-weights", h.ClassWeights != "", true},
	} {
		if flag.given && flag.supervised == supervised {
			return flag.name
		}
	}
	return ""
}

func warnRidge(log *slog.Logger, s *train.Settings) {
	if s.Ridge != nil && *s.Ridge == 0 {
		log.Warn("a ridge of 0: coefficients grow without bound if the notes separate the outcomes")
	}
}

type trainCmd struct {
	ModelDir string `help:"Model store: a folder, created if missing, or a bucket (${stores})." required:"" placeholder:"DIR"`
	labelled
	head
	cli.Output
	Method       string `help:"Method that fits the topics: ${fitMethods}. bow uses single words without topics." enum:"${fitMethods}" default:"sonmf"`
	Rank         []int  `help:"Number of topics. For ${supervised} also several: cross-validation chooses one." default:"${rank}"`
	Words        string `help:"Use single words in addition to topics (beside), or not (none). Default: beside; ${supervised} allow only none." enum:"beside,none," default:"" placeholder:"beside|none"`
	Weighting    string `help:"Rows of tf-idf, or of 0 and 1 (binary). Default: tf-idf; ${binaryMethods} allow only binary." enum:"tf-idf,binary," default:"" placeholder:"tf-idf|binary"`
	WarmStart    bool   `help:"Start from the champion's topics if it has the same method and number of topics. In any case, each topic gets the number of the champion's most similar topic."`
	PerComplaint string `help:"Train a separate model for a complaint: if it beats the pooled one (auto), if the complaint has enough notes (always), or never." enum:"auto,always,never" default:"auto"`
	MinDocuments int    `help:"Notes that a complaint needs for a separate model." default:"${minDocuments}"`
	MinEvents    int    `help:"Notes of each outcome that a complaint needs for a separate model, and that the gate requires of all notes together." default:"${minEvents}"`
	Config       string `help:"Configuration file: section retrain sets the gate's rule and --site, section input the plausible ranges and the spellings of values." type:"existingfile" placeholder:"FILE"`
	gateFlags
}

// holdLess makes the garbage collector run twice as often, unless GOGC is set. Training holds large arrays without
// pointers, which are cheap to collect, and would otherwise accumulate as much garbage again.
func holdLess(d *cli.Deps) {
	const percent = 50
	if d.Own && os.Getenv("GOGC") == "" {
		debug.SetGCPercent(percent)
	}
}

func (c *trainCmd) Run(ctx context.Context, d *cli.Deps) (err error) {
	holdLess(d)
	s, err := c.settings()
	if err != nil {
		return err
	}
	cfg, err := configured(c.Config)
	if err != nil {
		return err
	}
	site, err := report.ReadSite(cmp.Or(c.Site, cfg.Retrain.Site))
	if err != nil {
		return err
	}
	data, about, err := c.data(d, cfg, s.Text)
	if err != nil {
		return err
	}
	store, err := c.store(ctx, c.ModelDir, &cfg.Models)
	if err != nil {
		return err
	}
	gatekeeper := c.open(d, store, cfg.Retrain.Gate, "train")
	gatekeeper.MinEvents = c.MinEvents
	defer func() { err = interrupted(ctx, gatekeeper, err) }()
	if err := gatekeeper.Begin(ctx); err != nil {
		return err
	}
	warnRidge(d.Log, &s)
	bar := cli.NewProgress(d, "training")
	data.HoldLatest()
	trained, err := train.Train(ctx, data, s, train.Job{
		Created: time.Now().UTC().Truncate(time.Second), Version: version, Progress: bar.Set,
		Previous: train.Previous(store, d.Log), Site: site, About: about,
	})
	bar.Finish()
	if err != nil {
		return err
	}
	data.Pooled = true
	promotion, err := gatekeeper.Promote(ctx,
		train.Candidate{Trained: trained, Notes: data, Probabilities: trained.OutOfFold, About: about})
	if err != nil {
		return err
	}
	for _, o := range trained.Outcomes {
		if o.SmallestPenalty {
			d.Log.Warn("the best penalty is the smallest that was tried: a smaller one might predict better",
				"model", o.Model)
		}
		if o.StyleShare != nil && *o.StyleShare > report.MuchStyle {
			d.Log.Warn("words that are no finding are often among the largest parts of explanations: the model leans on "+
				"how notes are written", "model", o.Model, "share", *o.StyleShare)
		}
	}
	return errors.Join(c.print(d, trained), logPromotion(d.Log, promotion))
}

func (c *trainCmd) settings() (train.Settings, error) {
	s := train.Default()
	s.Method, s.WarmStart = train.Method(c.Method), c.WarmStart
	s.Words = c.Words == "beside" || c.Words == "" && !s.Method.Supervised()
	if len(c.Rank) == 0 {
		return s, cli.Usagef("--rank requires a number of topics")
	}
	if s.Rank = c.Rank[0]; len(c.Rank) > 1 {
		s.Ranks = c.Rank
	}
	s.Text.Weighting = cmp.Or(textproc.Weighting(c.Weighting), s.Method.Weighting())
	s.PerComplaint, s.MinDocuments, s.MinEvents = train.Policy(c.PerComplaint), c.MinDocuments, c.MinEvents
	if flag := c.only(false); flag != "" && s.Method.Supervised() {
		return s, cli.Usagef("%s applies only to the elastic net; method %q does not use it", flag, c.Method)
	}
	if flag := c.only(true); flag != "" && !s.Method.Supervised() {
		return s, cli.Usagef("%s applies only to %s, not to method %q", flag, supervisedMethods(), c.Method)
	}
	if err := c.apply(&s); err != nil {
		return s, err
	}
	return s, s.Check(len(c.Classes))
}

// data returns the notes to train on, and their description for the reports.
func (c *trainCmd) data(d *cli.Deps, cfg *config.Config, text textproc.Settings) (_ train.Data, about report.Data, _ error) {
	columns, err := c.columns()
	if err != nil {
		return train.Data{}, about, err
	}
	t, err := c.Read(d.Log, columns, c.Files())
	if err != nil {
		return train.Data{}, about, err
	}
	about.Sources = append(about.Sources, lists.Map(c.Files(), filepath.Base)...)
	if t.Empty > 0 {
		about.Exclusions = []report.Exclusion{{Reason: "no text", Notes: t.Empty}}
	}
	if slices.ContainsFunc(t.Rows, func(r notes.Row) bool { return r.Patient == "" && r.Visit == "" }) {
		d.Log.Warn("rows without a patient or visit id count as separate patients: words that only one patient's notes " +
			"share may become terms")
	}
	recurring := train.CountRecurring(t.Rows)
	about.Counts = train.CountAttenders(t.Rows).Counts(recurring)
	if recurring.Many() {
		d.Log.Warn("many of the longer notes occur, except for numbers, under several patients: if these are the same "+
			"patient, use --patient-column; otherwise every figure is too good",
			"share", recurring.Share, "notes", recurring.Notes)
	}
	data, err := cleaned(d, t, &columns, cfg, text)
	return data, about, err
}

func (c *trainCmd) print(d *cli.Deps, t *train.Trained) error {
	outcomes := t.Outcomes
	classes := slices.ContainsFunc(outcomes, func(r train.Outcome) bool { return r.Classes != nil })
	grid := cli.NewGrid("MODEL", "NOTES", "ADMITTED", "OWN MODEL", "AUROC", "LOG LOSS", "POOLED", "WHY")
	if classes {
		grid.Header = slices.Insert(grid.Header, 4, "ACCURACY", "BALANCED", "MEAN AUROC")
		grid.Header[7] = "AUROC ADMITTED"
	}
	for _, r := range outcomes {
		row := []any{
			r.Model, r.Documents, r.Positives, r.Kept, r.Metrics.AUROC,
			cli.Digits(r.LogLoss, 4), cli.Digits(r.Pooled, 4), r.Why,
		}
		if classes {
			row = slices.Insert(row, 4, []any{r.Classes.Accuracy, r.Classes.BalancedAccuracy, r.Classes.AUROC}...)
		}
		grid.Add(row...)
	}
	if n := t.RareComplaints; n > 0 {
		d.Log.Info("complaints of too few patients are not named and get no separate model", "complaints", n)
	}
	return c.Print(d, map[string]any{"models": outcomes, "rare_complaints": t.RareComplaints}, grid)
}

// shardCmd is one operation of one shard.
type shardCmd struct {
	Op string `arg:"" help:"Operation: count notes, make rows of them, answer a round over rows, or add answers." enum:"count,rows,round,add"`
}

func (c *shardCmd) Run(_ context.Context, d *cli.Deps) error {
	return rounds.Run(rounds.Op(c.Op), version, d.In, d.Out)
}
