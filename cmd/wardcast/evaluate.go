package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/wardcast/wardcast/classifier/bundle"
	"github.com/wardcast/wardcast/classifier/eval"
	"github.com/wardcast/wardcast/internal/cli"
	"github.com/wardcast/wardcast/internal/notes"
	"github.com/wardcast/wardcast/internal/wording"
	"github.com/wardcast/wardcast/models/train"
	"github.com/wardcast/wardcast/solver/methods"
	"github.com/wardcast/wardcast/solver/smf"
	"github.com/wardcast/wardcast/textproc"
)

type evaluateCmd struct {
	labelled
	head
	cli.Output
	Methods      []string             `help:"Methods to compare: majority, ${fitMethods}. +words adds single words to the topics, for example sonmf+words. Not available for bow (words only), ${supervised}. Default: majority,bow,sonmf,sonmf+words; with --classes: majority,smf-w,smf-h."`
	Ranks        []int                `help:"Numbers of topics." default:"10,30,50,100,150"`
	Weightings   []textproc.Weighting `help:"Rows to compare: tf-idf, binary. Default: tf-idf; ${binaryMethods} allow only binary."`
	Folds        int                  `help:"Folds of the cross-validation." default:"5"`
	Repeats      int                  `help:"Repetitions of the cross-validation." default:"1"`
	Test         []string             `help:"Train on all of --input and test on these files, instead of cross-validation." placeholder:"FILE" sep:"none"`
	SplitTime    string               `help:"Train on the notes before this time, or on the earliest share, such as 80%; test on the others." placeholder:"TIME"`
	PerComplaint string               `help:"Also compare on each complaint with enough notes (always or auto), or only on all notes together (never)." enum:"auto,always,never" default:"never"`
	MinDocuments int                  `help:"Notes that a complaint needs for a separate comparison." default:"${minDocuments}"`
	Config       string               `help:"Configuration file, whose section input sets the plausible ranges and the spellings of values." type:"existingfile" placeholder:"FILE"`
}

func (c *evaluateCmd) Run(ctx context.Context, d *cli.Deps) error {
	comparison, err := c.comparison()
	if err != nil {
		return err
	}
	columns, err := c.columns()
	if err != nil {
		return err
	}
	cfg, err := configured(c.Config)
	if err != nil {
		return err
	}
	warnRidge(d.Log, &comparison.Settings)
	if len(c.Test) > 0 && c.SplitTime != "" {
		return cli.Usagef("--test and --split-time exclude each other")
	}
	inputs := c.Files()
	t, err := c.Read(d.Log, columns, slices.Concat(inputs, c.Test))
	if err != nil {
		return err
	}
	all, err := cleaned(d, t, &columns, cfg, comparison.Settings.Text)
	if err != nil {
		return err
	}
	all.Pooled = true
	groups := []train.Group{{Data: all}}
	if c.PerComplaint != string(train.Never) {
		groups = append(groups, train.Groups(all, c.MinDocuments)...)
	}
	var scores []train.Evaluation
	for _, g := range groups {
		comparison.Repeats, err = c.repeats(d, &g, t.Ends[len(inputs)-1])
		var found []train.Evaluation
		if err == nil {
			bar := cli.NewProgress(d, named(g.Complaint))
			comparison.Progress = bar.Set
			found, err = train.Evaluate(ctx, g.Data, comparison)
			bar.Finish()
		}
		if (errors.Is(err, eval.ErrOneClass) || errors.Is(err, smf.ErrLabels)) && g.Complaint != "" {
			d.Log.Warn("complaint left out: all notes of a training or test set have the same outcome",
				"model", bundle.Slug(g.Complaint))
			continue
		}
		if err != nil {
			return fmt.Errorf("evaluating %s of %s: %w", named(g.Complaint),
				strings.Join(slices.Concat(inputs, c.Test), ", "), err)
		}
		for i, sc := range found {
			found[i].Complaint = g.Complaint
			if asked := comparison.Configurations[i].Rank; sc.Rank < asked {
				d.Log.Warn("fewer notes or terms than topics: the rank is reduced",
					"model", cmp.Or(g.Complaint, bundle.Other), "method", sc.Name, "rank", asked, "used", sc.Rank)
			}
		}
		scores = append(scores, found...)
	}
	return c.Print(d, map[string]any{"scores": scores}, scoreGrid(scores, t.Classes != nil))
}

// comparison returns the comparison that the flags describe, without the splits.
func (c *evaluateCmd) comparison() (made train.Comparison, err error) {
	s := train.Default()
	if err := c.apply(&s); err != nil {
		return made, err
	}
	if c.Methods == nil {
		c.Methods = []string{"majority", "bow", "sonmf", "sonmf+words"}
		if c.Classes != nil {
			c.Methods = append([]string{"majority"}, methods.Supervised()...)
		}
	}
	candidates, err := train.Configurations(c.Methods, c.Weightings, c.Ranks)
	if err != nil {
		return made, err
	}
	var supervised, elastic, l1 bool
	for _, x := range candidates {
		supervised = supervised || x.Method.Supervised()
		elastic = elastic || !x.Method.Supervised() && x.Method != train.Majority
		l1 = l1 || x.Method == train.L1NMF
	}
	switch {
	case c.only(true) != "" && !supervised:
		return made, cli.Usagef("%s applies only to %s, which are not among the --methods", c.only(true), supervisedMethods())
	case c.only(false) != "" && !elastic:
		return made, cli.Usagef("%s applies only to the elastic net, which none of the --methods uses", c.only(false))
	}
	if err := train.CheckClasses(candidates, len(c.Classes), s); err != nil {
		return made, err
	}
	if (s.L1Topics != nil || s.L1Scores != nil) && !l1 {
		return made, cli.Usagef("--l1-topics and --l1-scores are weights of l1-nmf, which is not among the --methods")
	}
	return train.Comparison{Configurations: candidates, Settings: s}, nil
}

// scoreGrid shows the scores; for several outcomes the last columns are the AUROC of each against the others.
func scoreGrid(scores []train.Evaluation, classes bool) *cli.Grid {
	grid := cli.NewGrid("COMPLAINT", "METHOD", "ROWS", "RANK", "NOTES", "ACCURACY")
	if classes {
		grid.Header = append(grid.Header, "BALANCED", "BRIER", "LOG LOSS", "AUROC ADMITTED", "MEAN AUROC")
		if len(scores) > 0 {
			for _, class := range scores[0].Classes.Classes {
				grid.Header = append(grid.Header, class.Class)
			}
		}
	} else {
		grid.Header = append(grid.Header, "AUROC", "95 %", "AUPRC", "BRIER", "LOG LOSS", "CAL. INT.", "SLOPE")
	}
	four := func(v any) string { return cli.Digits(v, 4) }
	for _, sc := range scores {
		row := []any{cmp.Or(sc.Complaint, "(all)"), sc.Name, sc.Weighting, sc.Rank, sc.Notes}
		if m := sc.Classes; classes {
			row = append(row, four(m.Accuracy), four(m.BalancedAccuracy), four(m.Brier), four(m.LogLoss),
				four(sc.AUROC), four(m.AUROC))
			for _, class := range m.Classes {
				row = append(row, four(class.AUROC))
			}
		} else {
			interval := "-"
			if i := sc.AUROCInterval; i != nil {
				interval = fmt.Sprintf("%.3f-%.3f", i.Low, i.High)
			}
			row = append(row, four(sc.Accuracy), four(sc.AUROC), interval, sc.AUPRC, four(sc.Brier), four(sc.LogLoss),
				cli.Digits(sc.CalibrationIntercept, 2), cli.Digits(sc.CalibrationSlope, 2))
		}
		grid.Add(row...)
	}
	return grid
}

func named(complaint string) string {
	if complaint == "" {
		return "all complaints"
	}
	return fmt.Sprintf("complaint %q", complaint)
}

// repeats returns the splits of a group. Rows of the whole table before trainRows come from the training files.
func (c *evaluateCmd) repeats(d *cli.Deps, g *train.Group, trainRows int) (train.Repeats, error) {
	if len(c.Test) == 0 && c.SplitTime == "" {
		repeats, err := train.CrossValidation(g.Rows, c.Folds, c.Repeats, c.Seed)
		if errors.Is(err, eval.ErrArgument) {
			err = cli.Usagef("--folds %d: %w", c.Folds, err)
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
	repeats, dropped, err := train.Holdout(g.Rows, inTraining)
	warnSome(d.Log, dropped, "test notes of patients who are also in the training set are left out", "notes", dropped)
	return repeats, err
}

// cut returns the time that separates training from testing.
func (c *evaluateCmd) cut(rows []notes.Row) (time.Time, error) {
	times := make([]time.Time, len(rows))
	for i := range rows {
		if times[i] = rows[i].Arrived; times[i].IsZero() {
			return time.Time{}, errors.New("--split-time requires a time in every row")
		}
	}
	share, ok := strings.CutSuffix(c.SplitTime, "%")
	if !ok {
		cut, err := notes.ParseTime(c.SplitTime)
		if err != nil {
			return cut, cli.Usagef("--split-time %q: %w", c.SplitTime, err)
		}
		return cut, nil
	}
	percent, err := wording.Number(share)
	if err != nil {
		return time.Time{}, cli.Usagef("--split-time %q is not a percentage", c.SplitTime)
	}
	return eval.TemporalCut(times, percent/100)
}
