package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/wardcast/wardcast/classifier/eval"
	"github.com/wardcast/wardcast/internal/notes"
	"github.com/wardcast/wardcast/models"
	"github.com/wardcast/wardcast/models/fit"
	"github.com/wardcast/wardcast/solver/smf"
	"github.com/wardcast/wardcast/textproc"
)

type evaluateCmd struct {
	table
	outcomes
	head
	output
	Methods      []string `help:"Methods to compare: majority, ${fitMethods}, and all but majority, bow, smf-w and smf-h also with +words, as in sonmf+words; bow is words alone (default: majority,bow,sonmf,sonmf+words; with --classes majority,smf-w,smf-h)."`
	Ranks        []int    `help:"Numbers of topics." default:"10,30,50,100,150"`
	Weightings   []string `help:"Rows to compare: tf-idf, binary (default: binary for sonmf-binary and log-nmf, which take no others, tf-idf for the rest)."`
	Folds        int      `help:"Folds of a cross-validation." default:"5"`
	Repeats      int      `help:"Repetitions of the cross-validation." default:"1"`
	Test         []string `help:"Test on these files, trained on all of --input, instead of cross-validating." placeholder:"FILE" sep:"none"`
	SplitTime    string   `help:"Train on notes before this time and test on the others; or on the earliest share of the notes where it ends in a percent sign, as in 80%." placeholder:"TIME"`
	PerComplaint string   `help:"Also compare on each complaint with enough notes by itself (always, auto), or not (never)." enum:"auto,always,never" default:"never"`
	MinDocuments int      `help:"Notes that a complaint needs for that." default:"${minDocuments}"`
}

func (c *evaluateCmd) Run(ctx context.Context, d *deps) error {
	comparison, err := c.comparison()
	if err != nil {
		return err
	}
	columns, err := c.columns()
	if err != nil {
		return usageError{err}
	}
	if err := c.into(&columns); err != nil {
		return err
	}
	warnRidge(d.log, &comparison.Settings)
	if len(c.Test) > 0 && c.SplitTime != "" {
		return usageError{errors.New("--test and --split-time exclude one another")}
	}
	train := c.files()
	t, err := c.read(d, columns, slices.Concat(train, c.Test))
	if err != nil {
		return err
	}
	all := fit.Data{Rows: t.Rows, Aux: columns.Aux, Classes: t.Classes, Admission: t.Admission, Pooled: true}
	groups := []fit.Group{{Data: all}}
	if c.PerComplaint != string(fit.Never) {
		groups = append(groups, fit.Groups(all, c.MinDocuments)...)
	}
	var scores []fit.Score
	for _, g := range groups {
		comparison.Repeats, err = c.repeats(d, &g, t.Ends[len(train)-1])
		var found []fit.Score
		if err == nil {
			found, err = compare(ctx, d, &g, comparison)
		}
		if (errors.Is(err, eval.ErrOneClass) || errors.Is(err, smf.ErrLabels)) && g.Complaint != "" {
			d.log.Warn("a complaint is left out: a part of its notes is of one outcome only", "model", models.Slug(g.Complaint))
			continue
		}
		if err != nil {
			return fmt.Errorf("evaluating %s of %s: %w", named(g.Complaint), strings.Join(slices.Concat(train, c.Test), ", "), err)
		}
		scores = append(scores, found...)
		warnRanks(d.log, comparison.Candidates, found)
	}
	if c.json() {
		return printJSON(d.out, map[string]any{"scores": scores})
	}
	if t.Classes != nil {
		return printClassScores(d.out, scores)
	}
	return printScores(d.out, scores)
}

// warnRanks says where there were fewer topics than asked for.
func warnRanks(log *slog.Logger, candidates []fit.Candidate, scores []fit.Score) {
	for i, sc := range scores {
		if sc.Rank < candidates[i].Rank {
			log.Warn("fewer notes or terms than topics: the rank is cut", "model", cmp.Or(sc.Complaint, models.Other), "method", sc.Name, "rank", candidates[i].Rank, "used", sc.Rank)
		}
	}
}

// comparison returns what the flags say is compared, without the splits.
func (c *evaluateCmd) comparison() (fit.Comparison, error) {
	s := fit.Default()
	if err := c.apply(&s); err != nil {
		return fit.Comparison{}, err
	}
	var weightings []textproc.Weighting
	for _, w := range c.Weightings {
		weightings = append(weightings, textproc.Weighting(w))
	}
	if c.Methods == nil {
		c.Methods = []string{"majority", "bow", "sonmf", "sonmf+words"}
		if c.Classes != nil {
			c.Methods = []string{"majority", "smf-w", "smf-h"}
		}
	}
	candidates, err := fit.Candidates(c.Methods, weightings, c.Ranks)
	if err != nil {
		return fit.Comparison{}, err
	}
	supervised := func(of fit.Candidate) bool { return of.Method.Supervised() }
	elastic := func(of fit.Candidate) bool { return !of.Method.Supervised() && of.Method != fit.Majority }
	switch {
	case c.supervised() != "" && !slices.ContainsFunc(candidates, supervised):
		return fit.Comparison{}, usageError{fmt.Errorf("%s is of smf-w and smf-h, which are not among the --methods", c.supervised())}
	case c.elastic() != "" && !slices.ContainsFunc(candidates, elastic):
		return fit.Comparison{}, usageError{fmt.Errorf("%s is of the elastic net, which none of the --methods has", c.elastic())}
	}
	if err := fit.CheckClasses(candidates, len(c.Classes), s); err != nil {
		return fit.Comparison{}, err
	}
	if (s.L1Topics != nil || s.L1Scores != nil) && !slices.ContainsFunc(candidates, func(of fit.Candidate) bool { return of.Method == fit.L1NMF }) {
		return fit.Comparison{}, usageError{errors.New("--l1-topics and --l1-scores are weights of l1-nmf, which is not among the --methods")}
	}
	return fit.Comparison{Candidates: candidates, Settings: s}, nil
}

// compare returns the scores of all candidates on a group of notes.
func compare(ctx context.Context, d *deps, g *fit.Group, comparison fit.Comparison) ([]fit.Score, error) {
	bar := newProgress(d.err, named(g.Complaint))
	comparison.Progress = bar.set
	scores, err := fit.Evaluate(ctx, g.Data, comparison)
	bar.finish()
	for i := range scores {
		scores[i].Complaint = g.Complaint
	}
	return scores, err
}

func printScores(w io.Writer, scores []fit.Score) error {
	var rows [][]string
	for _, sc := range scores {
		interval := "-"
		if i := sc.AUROCInterval; i != nil {
			interval = fmt.Sprintf("%.3f-%.3f", i.Low, i.High)
		}
		rows = append(rows, []string{
			cmp.Or(sc.Complaint, "(all)"), sc.Name, string(sc.Weighting), strconv.Itoa(sc.Rank), strconv.Itoa(sc.Notes), digits(&sc.Accuracy, 4), digits(&sc.AUROC, 4), interval,
			digits(&sc.AUPRC, 3), digits(&sc.Brier, 4), digits(&sc.LogLoss, 4), digits(sc.CalibrationIntercept, 2), digits(sc.CalibrationSlope, 2),
		})
	}
	return printTable(w, []string{"COMPLAINT", "METHOD", "ROWS", "RANK", "NOTES", "ACCURACY", "AUROC", "95 %", "AUPRC", "BRIER", "LOG LOSS", "CAL. INT.", "SLOPE"}, rows)
}

// printClassScores prints what was measured of several outcomes, the AUROC of each against the others last.
func printClassScores(w io.Writer, scores []fit.Score) error {
	header := []string{"COMPLAINT", "METHOD", "ROWS", "RANK", "NOTES", "ACCURACY", "BALANCED", "BRIER", "LOG LOSS", "AUROC ADMITTED", "MEAN AUROC"}
	for _, of := range scores[0].Classes.Classes {
		header = append(header, of.Class)
	}
	var rows [][]string
	for _, sc := range scores {
		m := sc.Classes
		row := []string{
			cmp.Or(sc.Complaint, "(all)"), sc.Name, string(sc.Weighting), strconv.Itoa(sc.Rank), strconv.Itoa(sc.Notes),
			digits(&m.Accuracy, 4), digits(&m.BalancedAccuracy, 4), digits(&m.Brier, 4), digits(&m.LogLoss, 4), digits(&sc.AUROC, 4), digits(m.AUROC, 4),
		}
		for _, of := range m.Classes {
			row = append(row, digits(of.AUROC, 4))
		}
		rows = append(rows, row)
	}
	return printTable(w, header, rows)
}

// named returns a group of notes as messages name it.
func named(complaint string) string {
	if complaint == "" {
		return "all complaints"
	}
	return fmt.Sprintf("complaint %q", complaint)
}

// repeats returns how the rows of a group are split; those that stand before trainRows in the whole table are of the
// training files.
func (c *evaluateCmd) repeats(d *deps, g *fit.Group, trainRows int) (fit.Repeats, error) {
	if len(c.Test) == 0 && c.SplitTime == "" {
		repeats, err := fit.CrossValidation(g.Rows, c.Folds, c.Repeats, c.Seed)
		if errors.Is(err, eval.ErrArgument) {
			err = usageError{fmt.Errorf("--folds %d: %w", c.Folds, err)}
		}
		return repeats, err
	}
	inTraining := func(i int) bool {
		if g.At != nil {
			i = g.At[i]
		}
		return i < trainRows
	}
	if c.SplitTime != "" {
		cut, err := c.cut(g.Rows)
		if err != nil {
			return nil, err
		}
		inTraining = func(i int) bool { return g.Rows[i].Arrived.Before(cut) }
	}
	repeats, dropped, err := fit.Holdout(g.Rows, inTraining)
	if dropped > 0 {
		d.log.Warn("test notes of visits that are trained on are left out", "notes", dropped)
	}
	return repeats, err
}

// cut returns the time before which notes are trained on.
func (c *evaluateCmd) cut(rows []notes.Row) (time.Time, error) {
	times := make([]time.Time, len(rows))
	for i := range rows {
		if times[i] = rows[i].Arrived; times[i].IsZero() {
			return time.Time{}, errors.New("--split-time wants a time in every row")
		}
	}
	share, ok := strings.CutSuffix(c.SplitTime, "%")
	if !ok {
		cut, err := notes.ParseTime(c.SplitTime)
		if err != nil {
			return cut, usageError{fmt.Errorf("--split-time %q: %w", c.SplitTime, err)}
		}
		return cut, nil
	}
	percent, err := strconv.ParseFloat(share, 64)
	if err != nil {
		return time.Time{}, usageError{fmt.Errorf("--split-time %q is no percentage", c.SplitTime)}
	}
	_, _, cut, err := eval.TemporalSplit(times, percent/100)
	return cut, err
}
