package sonmf

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/wardcast/wardcast/cmd/papers/internal/report"
	"github.com/wardcast/wardcast/internal/notes"
	"github.com/wardcast/wardcast/models/train"
	"github.com/wardcast/wardcast/solver"
	"github.com/wardcast/wardcast/solver/methods"
	"github.com/wardcast/wardcast/textproc"
)

// TriageMethods returns the methods of the paper's section 6.
func TriageMethods() []string {
	return []string{methods.SONMF, methods.NMF, methods.ONMF, methods.SemiNMF, methods.SONMFBinary, methods.LogNMF}
}

// Triage compares methods on labelled notes.
type Triage struct {
	Methods []string `json:"methods" help:"Methods to compare, each on its own rows: binary ones for sonmf-binary and log-nmf, tf-idf for the others." default:"${triageMethods}"`
	Ranks   []int    `json:"ranks" help:"Numbers of topics." default:"10,30,50,100,150"`
	Runs    int      `json:"runs" help:"Cross-validations that accuracies are averaged over." default:"20"`
	Folds   int      `json:"folds" help:"Folds of each cross-validation." default:"5"`
	MinDF   int      `json:"min_df" name:"min-df" help:"Least number of visits with a term." default:"${minDF}"`
	Seed    uint64   `json:"seed" help:"Seed of all random draws." default:"1"`
	// Version is the program's version, which the numbers depend on.
	Version string `json:"version" kong:"-"`
	// Input and Columns record the source of Groups.
	Input        []string      `json:"input" kong:"-"`
	Columns      notes.Columns `json:"columns" kong:"-"`
	PerComplaint train.Policy  `json:"per_complaint" help:"Print tables of each complaint with enough notes (always), or of all notes together (never)." enum:"always,never" default:"never"`
	MinDocuments int           `json:"min_documents" help:"Notes that a complaint needs for tables of its own." default:"${minDocuments}"`

	// Groups are the notes, one group for each complaint or a single one.
	Groups []train.Group `json:"-" kong:"-"`
}

// TriageKey names a cell.
type TriageKey struct {
	Complaint string             `json:"complaint"` // "" for all notes
	Method    train.Method       `json:"method"`
	Weighting textproc.Weighting `json:"weighting"`
	Rank      int                `json:"rank"`
}

// String omits the complaint: the text may be part of an error.
func (k TriageKey) String() string {
	return fmt.Sprintf("%s, %s rows, rank %d", k.Method, k.Weighting, k.Rank)
}

// TriageCell is one line of tables 6, 7 and 10 to 15, or one LASSO of table 5, which has no rank.
type TriageCell struct {
	TriageKey
	Documents int `json:"documents"`
	Positives int `json:"positives"`
	Terms     int `json:"terms"`
	// Residual is the mean objective on all notes: ‖X − GFᵀ‖²/(np), or for the binary methods the mean negative
	// log-likelihood. It and the shares of zeros, in percent, are nil for the bag of words.
	Residual       *float64 `json:"residual"`
	SparsityTopics *float64 `json:"sparsity_topics"`
	SparsityScores *float64 `json:"sparsity_scores"`
	Status         string   `json:"status,omitempty"`
	Updates        int      `json:"updates,omitempty"`
	FitSeconds     float64  `json:"fit_seconds,omitempty"` // of that factorization
	Accuracy       float64  `json:"accuracy"`              // of the LASSO on held-out notes, mean of the runs
	AccuracyError  float64  `json:"accuracy_standard_error"`
	AUROC          float64  `json:"auroc"`
	Seconds        float64  `json:"seconds"` // of the whole cell
}

// Key implements report.Cell.
func (c TriageCell) Key() any { return c.TriageKey }

func (t *Triage) candidates() ([]train.Configuration, error) {
	if t.Runs < 1 || t.Folds < 2 {
		return nil, report.Invalid("%d runs of %d folds", t.Runs, t.Folds)
	}
	found, err := train.Configurations(t.Methods, nil, t.Ranks)
	for _, c := range found {
		if c.Method == train.BagOfWords || c.Method == train.Majority || c.Method.Supervised() || c.Words {
			return nil, report.Invalid("method %q does not find topics in the text alone, or adds words; the tables "+
				"have the bag of words already", c)
		}
	}
	words := []train.Configuration{
		{Method: train.BagOfWords, Weighting: textproc.TFIDF}, {Method: train.BagOfWords, Weighting: textproc.Binary},
	}
	return append(words, found...), err
}

// settings are those of section 6: the LASSO with the defaults of glmnet, on projections X·F or on words, with the λ of
// least cross-validated deviance.
func (t *Triage) settings() train.Settings {
	s := train.Default()
	s.Alpha, s.Standardize, s.Seed, s.Text.MinDF = 1, true, t.Seed, t.MinDF
	s.Text.NGrams = 1
	return s
}

// fingerprint returns the SHA-256 of everything in the notes that cells depend on.
func fingerprint(groups []train.Group) string {
	return report.Fingerprint(func(add func(string, ...any)) {
		for _, g := range groups {
			add("%q\n", g.Complaint)
			for i := range g.Rows {
				add("%q %q %t\n", g.Rows[i].Visit, g.Rows[i].Text, g.Rows[i].Positive)
			}
		}
	})
}

// Run computes the cells of all groups. Everything, including vocabulary and topics, is trained on the training folds
// alone; residual and sparsity are measured on all notes of the group, like in the paper.
func (t *Triage) Run(ctx context.Context, session *report.Session) (*report.Report, error) {
	candidates, err := t.candidates()
	if err != nil {
		return nil, err
	}
	var jobs []report.Job[TriageCell]
	for _, g := range t.Groups {
		for _, c := range candidates {
			jobs = append(jobs, report.Job[TriageCell]{
				Cell: TriageCell{TriageKey: TriageKey{
					Complaint: g.Complaint, Method: c.Method, Weighting: c.Weighting, Rank: c.Rank,
				}},
				Parts: t.Runs * t.Folds,
				Fill: func(ctx context.Context, cell *TriageCell) error {
					// Neither auxiliary values nor the complaint: the paper's models read the text alone.
					return t.fill(ctx, cell, train.Data{Rows: g.Rows}, c, func(int, int) { session.Step(1) })
				},
			})
		}
	}
	header := struct {
		*Triage
		Notes string `json:"notes"` // fingerprint
	}{t, fingerprint(t.Groups)}
	cells, err := report.Resume(ctx, session, header, jobs)
	if cells == nil {
		return nil, err
	}
	return &report.Report{Data: map[string]any{"settings": t, "cells": cells}, Tables: triageTables(cells)}, err
}

// fill computes a cell.
func (t *Triage) fill(ctx context.Context, cell *TriageCell, data train.Data, c train.Configuration,
	progress train.Progress,
) error {
	began := time.Now()
	r, err := t.whole(ctx, cell, data.Rows, c)
	if err != nil {
		return err
	}
	if r != nil {
		topics, scores := sparsity(r.Topics), sparsity(r.Scores)
		cell.Residual, cell.SparsityTopics, cell.SparsityScores = &r.MeanObjective, &topics, &scores
		cell.Status, cell.Updates, cell.FitSeconds = r.Status.String(), r.Iterations, r.Seconds.Init+r.Seconds.Solve
	}
	repeats, err := train.CrossValidation(data.Rows, t.Folds, t.Runs, t.Seed)
	if err != nil {
		return err
	}
	scores, err := train.Evaluate(ctx, data, train.Comparison{
		Configurations: []train.Configuration{c}, Repeats: repeats, Settings: t.settings(), Progress: progress,
	})
	if err != nil {
		return err
	}
	cell.Positives, cell.Accuracy, cell.AUROC = scores[0].Positives, scores[0].Accuracy, scores[0].AUROC
	cell.AccuracyError = scores[0].AccuracySD / math.Sqrt(float64(t.Runs))
	cell.Seconds = time.Since(began).Seconds()
	return nil
}

// The solver's bounds in package train.
const (
	trainMaxIter = 200
	trainRelTol  = 1e-5
)

// whole makes text rows and topics of all notes, like train.Evaluate of the training notes, and sets the numbers of
// documents and terms. The result is nil for a bag of words.
func (t *Triage) whole(ctx context.Context, cell *TriageCell, rows []train.Row,
	c train.Configuration,
) (*solver.Result, error) {
	docs := make([]textproc.Document, len(rows))
	for i, r := range rows {
		docs[i] = textproc.Document{Patient: cmp.Or(r.Visit, fmt.Sprint("row ", i)), Text: r.Text}
	}
	text := t.settings().Text
	text.Weighting = c.Weighting
	_, x, err := textproc.Fit(docs, text)
	if err != nil {
		return nil, fmt.Errorf("preparing text: %w", err)
	}
	cell.Documents, cell.Terms = x.Dims()
	if c.Method == train.BagOfWords {
		return nil, nil
	}
	method, _, err := methods.New(string(c.Method), methods.Settings{})
	if err != nil {
		return nil, err
	}
	rank := min(c.Rank, cell.Documents, cell.Terms)
	r, err := solver.Solve(ctx, x,
		solver.Settings{Rank: rank, Seed: t.Seed, MaxIter: trainMaxIter, RelTol: trainRelTol}, method)
	if err == nil && r.Status == solver.NonFinite {
		err = r.Status.Err()
	}
	return r, cmp.Or(ctx.Err(), err)
}

// triageTables arranges cells like the paper: table 5 over all complaints, then for each one table of the continuous
// and one of the binary methods, like tables 6, 10, 12, 14 and 7, 11, 13, 15.
func triageTables(cells []TriageCell) []report.Table {
	tables := []report.Table{*report.NewTable("Notes, words, and the LASSO on them (table 5)",
		"notes,documents × words,discharged %,LASSO % (tf-idf),LASSO % (binary)")}
	for len(cells) > 0 {
		end := slices.IndexFunc(cells, func(c TriageCell) bool { return c.Complaint != cells[0].Complaint })
		if end < 0 {
			end = len(cells)
		}
		first, name, words := cells[0], cmp.Or(cells[0].Complaint, "all notes"), []string{"-", "-"}
		topics := [2]report.Table{
			{Title: name + ", tf-idf rows (as tables 6, 10, 12, 14)"},
			{Title: name + ", binary rows (as tables 7, 11, 13, 15)"},
		}
		for _, c := range cells[:end] {
			at := map[textproc.Weighting]int{textproc.TFIDF: 0, textproc.Binary: 1}[c.Weighting]
			if c.Method == train.BagOfWords {
				words[at] = c.accuracy()
				continue
			}
			topics[at].Add(
				c.Method, c.Rank, fmt.Sprintf("%.3g", *c.Residual),
				fmt.Sprintf("%.2f, %.2f", *c.SparsityTopics, *c.SparsityScores),
				c.accuracy(), fmt.Sprintf("%.4f", c.AUROC), fmt.Sprintf("%.1f", c.FitSeconds),
			)
		}
		tables[0].Add(name, fmt.Sprintf("%d × %d", first.Documents, first.Terms),
			fmt.Sprintf("%.2f", 100*(1-float64(first.Positives)/float64(first.Documents))), words[0], words[1])
		for at, objective := range []string{"residual", "cost"} {
			if t := topics[at]; t.Lines != nil {
				t.Header = []string{"method", "K", objective, "sparsity % (F, G)", "LASSO %", "AUROC", "fit s"}
				tables = append(tables, t)
			}
		}
		cells = cells[end:]
	}
	if tables[0].Lines == nil {
		return nil
	}
	return tables
}

// accuracy returns the accuracy in percent and, if there are several runs, its standard error.
func (c *TriageCell) accuracy() string {
	if c.AccuracyError == 0 {
		return fmt.Sprintf("%.2f", 100*c.Accuracy)
	}
	return fmt.Sprintf("%.2f ± %.2f", 100*c.Accuracy, 100*c.AccuracyError)
}
