package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/wardcast/wardcast/classifier/eval"
	"github.com/wardcast/wardcast/internal/notes"
	"github.com/wardcast/wardcast/internal/scoring"
	"github.com/wardcast/wardcast/models"
	"github.com/wardcast/wardcast/models/fit"
	"github.com/wardcast/wardcast/textproc"
)

// table is the flags that say where labelled notes are and what their columns mean.
type table struct {
	Input           []string `help:"Labelled notes: CSV with a header, or JSON lines where the name ends in .jsonl; .gz too." required:"" placeholder:"FILE" sep:"none"`
	TextColumn      string   `help:"Column of the note's text (default: text)." placeholder:"NAME"`
	LabelColumn     string   `help:"Column of the outcome (default: label)." placeholder:"NAME"`
	PositiveLabel   string   `help:"Outcome that counts as admitted (default: 1)." placeholder:"VALUE"`
	ComplaintColumn string   `help:"Column of the presenting complaint (default: complaint, if there)." placeholder:"NAME"`
	TimeColumn      string   `help:"Column of the arrival (default: arrived_at, if there)." placeholder:"NAME"`
	IDColumn        string   `name:"id-column" help:"Column of the visit (default: visit_id, if there)." placeholder:"NAME"`
	More            []string `arg:"" optional:"" name:"file" help:"More files, as --input."`
	AuxColumns      string   `help:"Auxiliary columns, as in age:numeric,Gender:categorical=sex: column, kind, and the note's field where it has another name." placeholder:"LIST"`
}

// files returns all files to read.
func (t *table) files() []string { return slices.Concat(t.Input, t.More) }

func (t *table) columns() (notes.Columns, error) {
	aux, err := notes.ParseAux(t.AuxColumns)
	return notes.Columns{Text: t.TextColumn, Label: t.LabelColumn, Positive: t.PositiveLabel, Complaint: t.ComplaintColumn, Time: t.TimeColumn, ID: t.IDColumn, Aux: aux}, err
}

// read returns the labelled notes of the files, and says in the log what is odd about them.
func (t *table) read(d *deps, columns notes.Columns, files []string) (*notes.Table, error) {
	read, err := notes.Read(files, columns)
	if err != nil {
		return nil, err
	}
	if read.Empty > 0 {
		d.log.Warn("rows without text are left out", "rows", read.Empty)
	}
	if len(read.Labels) > 2 {
		d.log.Warn("more than two outcomes: all but one count as not admitted", "admitted", cmp.Or(columns.Positive, notes.DefaultPositive), "rows", countsOf(read.Labels))
	}
	return read, nil
}

// maxLabels and longestLabel are the most labels that a log line tells, and the most bytes of one: more is not what a
// column of outcomes holds, and may be what patients said.
const (
	maxLabels    = 12
	longestLabel = 24
)

// countsOf returns labels and their numbers of rows, the commonest first, or how many labels there are.
func countsOf(labels map[string]int) string {
	names := slices.SortedFunc(maps.Keys(labels), func(a, b string) int { return cmp.Or(cmp.Compare(labels[b], labels[a]), cmp.Compare(a, b)) })
	if len(names) > maxLabels || slices.ContainsFunc(names, func(name string) bool { return len(name) > longestLabel }) {
		return fmt.Sprintf("%d different labels", len(names))
	}
	for i, name := range names {
		names[i] = fmt.Sprintf("%q %d", name, labels[name])
	}
	return strings.Join(names, ", ")
}

// head is the flags of text rows and classifier that training and evaluation share.
type head struct {
	MinDF       int      `name:"min-df" help:"Least number of visits with a term." default:"${minDF}"`
	MaxDF       float64  `name:"max-df" help:"Greatest share of visits with a term." default:"1"`
	MaxTerms    int      `help:"Keep so many of the commonest terms; 0 keeps all." default:"0"`
	NGrams      int      `name:"n-grams" help:"Longest phrase in words, 1 to 3." default:"1"`
	Negation    bool     `help:"Make denied words terms of their own."`
	Synonyms    string   `help:"File of abbreviations in place of the built-in ones." type:"existingfile" placeholder:"FILE"`
	Alpha       float64  `help:"Penalty of the coefficients: 1 is the lasso, 0 ridge." default:"${alpha}"`
	Standardize bool     `help:"Penalize features at unit variance, as R's glmnet does."`
	FreeAux     bool     `help:"Leave auxiliary features unpenalized."`
	Lambda      string   `help:"Penalty by cross-validation: the best (min), or the simplest within one standard error (1se)." enum:"min,1se" default:"min"`
	Calibration string   `help:"Map from logit to probability: platt, isotonic or none." enum:"platt,isotonic,none" default:"platt"`
	Threshold   string   `help:"What the decision's threshold is chosen for: accuracy or youden." enum:"accuracy,youden" default:"accuracy"`
	Seed        uint64   `help:"Seed of everything random." default:"1"`
	L1Topics    *float64 `name:"l1-topics" help:"Weight of the sum of the topics in l1-nmf (default: from the scale of the rows)." placeholder:"WEIGHT"`
	L1Scores    *float64 `name:"l1-scores" help:"Weight of the sum of the scores in l1-nmf (default: likewise)." placeholder:"WEIGHT"`
}

// apply puts the flags into settings.
func (h *head) apply(s *fit.Settings) error {
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
	s.Alpha, s.Standardize, s.FreeAux, s.OneSE = h.Alpha, h.Standardize, h.FreeAux, h.Lambda == "1se"
	s.Calibration, s.Threshold, s.Seed = models.CalibrationKind(h.Calibration), eval.Criterion(h.Threshold), h.Seed
	s.L1Topics, s.L1Scores = h.L1Topics, h.L1Scores
	return nil
}

type trainCmd struct {
	table
	head
	output
	ModelDir     string `help:"Model store: a directory, made where it does not exist." required:"" placeholder:"DIR"`
	Method       string `help:"How topics are made: ${fitMethods}; bow is single words without topics." enum:"${fitMethods}" default:"sonmf"`
	Rank         int    `help:"Number of topics." default:"${rank}"`
	Words        string `help:"Single words stand beside the topics, or not (none)." enum:"beside,none" default:"beside"`
	Weighting    string `help:"Rows of tf-idf or of 0 and 1, binary (default: binary for sonmf-binary and log-nmf, which take no others, else tf-idf)." enum:"tf-idf,binary," default:""`
	WarmStart    bool   `help:"Begin from the champion's topics, where it has as many of the same method; anyway topics keep the numbers of the champion's that they are nearest to."`
	PerComplaint string `help:"Complaints with a model of their own: where it is better (auto), where there are notes enough (always), or none (never)." enum:"auto,always,never" default:"auto"`
	MinDocuments int    `help:"Notes that a complaint needs for a model of its own." default:"${minDocuments}"`
}

func (c *trainCmd) Run(ctx context.Context, d *deps) error {
	s, err := c.settings()
	if err != nil {
		return err
	}
	data, err := c.data(d)
	if err != nil {
		return err
	}
	store := models.OpenDir(c.ModelDir)
	bar := newProgress(d.err, "training")
	trained, err := fit.Train(ctx, data, s, fit.Job{Created: time.Now().UTC().Truncate(time.Second), Version: version, Progress: bar.set, Previous: previous(d.log, store)})
	bar.finish()
	if err != nil {
		return err
	}
	if err := trained.Save(ctx, store, "train"); err != nil {
		return err
	}
	return printOutcomes(d, c.output, trained.Outcomes)
}

// settings returns what the flags say of the models.
func (c *trainCmd) settings() (fit.Settings, error) {
	s := fit.Default()
	s.Method, s.Rank, s.Words, s.WarmStart = fit.Method(c.Method), c.Rank, c.Words == "beside", c.WarmStart
	s.Text.Weighting = cmp.Or(textproc.Weighting(c.Weighting), s.Method.Weighting())
	s.PerComplaint, s.MinDocuments = fit.Policy(c.PerComplaint), c.MinDocuments
	return s, c.apply(&s)
}

// data returns the notes to train on.
func (c *trainCmd) data(d *deps) (fit.Data, error) {
	columns, err := c.columns()
	if err != nil {
		return fit.Data{}, usageError{err}
	}
	for _, a := range columns.Aux {
		if !scoring.HasField(a.Name) {
			d.log.Warn("a note has no such field: the auxiliary column will count as missing when notes are scored", "column", a.Column, "field", a.Name)
		}
	}
	t, err := c.read(d, columns, c.files())
	if err != nil {
		return fit.Data{}, err
	}
	if slices.ContainsFunc(t.Rows, func(r notes.Row) bool { return r.Visit == "" }) {
		d.log.Warn("rows without a visit id count as visits of their own: what several notes of one patient share may become a term")
	}
	return fit.Data{Rows: t.Rows, Aux: columns.Aux}, nil
}

// previous gives a training the champions before it. One that is damaged is as none: training mends the store.
func previous(log *slog.Logger, store models.Store) func(context.Context, string) (*models.Bundle, error) {
	return func(ctx context.Context, model string) (*models.Bundle, error) {
		b, err := fit.Champion(ctx, store, model)
		if damaged, ok := errors.AsType[*models.FileError](err); ok {
			log.Warn("the champion is damaged: topics are numbered anew", "model", model, "file", damaged.File)
			return nil, nil
		}
		return b, err
	}
}

func printOutcomes(d *deps, o output, outcomes []fit.Outcome) error {
	if o.json() {
		return printJSON(d.out, map[string]any{"models": outcomes})
	}
	var rows [][]string
	for _, r := range outcomes {
		rows = append(rows, []string{r.Model, strconv.Itoa(r.Documents), strconv.Itoa(r.Positives), strconv.FormatBool(r.Kept), digits(r.Metrics.AUROC, 3), digits(r.LogLoss, 4), digits(&r.Pooled, 4), r.Why})
	}
	return printTable(d.out, []string{"MODEL", "NOTES", "ADMITTED", "OWN MODEL", "AUROC", "LOG LOSS", "POOLED", "WHY"}, rows)
}
