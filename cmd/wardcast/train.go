package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
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

// head is the flags of text rows and classifier that training and evaluation share.
type head struct {
	MinDF       int     `name:"min-df" help:"Least number of visits with a term." default:"${minDF}"`
	MaxDF       float64 `name:"max-df" help:"Greatest share of visits with a term." default:"1"`
	MaxTerms    int     `help:"Keep so many of the commonest terms; 0 keeps all." default:"0"`
	NGrams      int     `name:"n-grams" help:"Longest phrase in words, 1 to 3." default:"1"`
	Negation    bool    `help:"Make denied words terms of their own."`
	Synonyms    string  `help:"File of abbreviations in place of the built-in ones." type:"existingfile" placeholder:"FILE"`
	Alpha       float64 `help:"Penalty of the coefficients: 1 is the lasso, 0 ridge." default:"${alpha}"`
	Standardize bool    `help:"Penalize features at unit variance, as R's glmnet does."`
	FreeAux     bool    `help:"Leave auxiliary features unpenalized."`
	Lambda      string  `help:"Penalty by cross-validation: the best (min), or the simplest within one standard error (1se)." enum:"min,1se" default:"min"`
	Calibration string  `help:"Map from logit to probability: platt, isotonic or none." enum:"platt,isotonic,none" default:"platt"`
	Threshold   string  `help:"What the decision's threshold is chosen for: accuracy or youden." enum:"accuracy,youden" default:"accuracy"`
	Seed        uint64  `help:"Seed of everything random." default:"1"`
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
	return nil
}

type trainCmd struct {
	table
	head
	output
	ModelDir     string `help:"Model store: a directory, made where it does not exist." required:"" placeholder:"DIR"`
	Method       string `help:"How topics are made: sonmf, svd, or bow for single words without topics." enum:"sonmf,svd,bow" default:"sonmf"`
	Rank         int    `help:"Number of topics." default:"${rank}"`
	Words        string `help:"Single words stand beside the topics, or not (none)." enum:"beside,none" default:"beside"`
	Weighting    string `help:"Rows of tf-idf or of 0 and 1 (binary)." enum:"tf-idf,binary" default:"tf-idf"`
	PerComplaint string `help:"Complaints with a model of their own: where it is better (auto), where there are notes enough (always), or none (never)." enum:"auto,always,never" default:"auto"`
	MinDocuments int    `help:"Notes that a complaint needs for a model of its own." default:"${minDocuments}"`
}

func (c *trainCmd) Run(ctx context.Context, d *deps) error {
	s := fit.Default()
	s.Method, s.Rank, s.Words = fit.Method(c.Method), c.Rank, c.Words == "beside"
	s.Text.Weighting = textproc.Weighting(c.Weighting)
	s.PerComplaint, s.MinDocuments = fit.Policy(c.PerComplaint), c.MinDocuments
	if err := c.apply(&s); err != nil {
		return err
	}
	columns, err := c.columns()
	if err != nil {
		return usageError{err}
	}
	for _, a := range columns.Aux {
		if !scoring.HasField(a.Name) {
			d.log.Warn("a note has no such field: the auxiliary column will count as missing when notes are scored", "column", a.Column, "field", a.Name)
		}
	}
	t, err := notes.Read(c.files(), columns)
	if err != nil {
		return err
	}
	if t.Empty > 0 {
		d.log.Warn("rows without text are left out", "rows", t.Empty)
	}
	if slices.ContainsFunc(t.Rows, func(r notes.Row) bool { return r.Visit == "" }) {
		d.log.Warn("rows without a visit id count as visits of their own: what several notes of one patient share may become a term")
	}
	bar := newProgress(d.err, "training")
	trained, err := fit.Train(ctx, fit.Data{Rows: t.Rows, Aux: columns.Aux}, s, fit.Job{Created: time.Now().UTC().Truncate(time.Second), Version: version, Progress: bar.set})
	bar.finish()
	if err != nil {
		return err
	}
	if err := trained.Save(ctx, models.OpenDir(c.ModelDir), "train"); err != nil {
		return err
	}
	return printOutcomes(d, c.output, trained.Outcomes)
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
