package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/wardcast/wardcast/internal/cli"
	"github.com/wardcast/wardcast/internal/factorize"
	"github.com/wardcast/wardcast/solver"
	"github.com/wardcast/wardcast/solver/factoranalysis"
	"github.com/wardcast/wardcast/solver/smf"
)

type factorizeCmd struct {
	cli.Output
	Method           string   `help:"${methods}." enum:"${methods}" default:"sonmf"`
	Input            string   `help:"Matrix: .mtx (MatrixMarket), .csv or .npy; .gz too." required:"" type:"existingfile" placeholder:"FILE"`
	InputOrientation string   `help:"What rows and columns of the input are." enum:"documents-by-terms,terms-by-documents" default:"documents-by-terms"`
	Rank             int      `help:"Number of topics." required:"" placeholder:"K"`
	Out              string   `help:"Folder for factors.safetensors and result.json, created if missing." required:"" placeholder:"DIR"`
	Init             string   `help:"Start: svd, random or kmeans. Method svd and runs with both start factors ignore it." enum:"svd,random,kmeans" default:"svd"`
	Seed             uint64   `help:"Seed of the start; ignored whenever --init is." default:"1"`
	Restarts         int      `help:"Number of starts, with consecutive seeds; the result with the least objective is kept. More than 1 needs --init random or kmeans." default:"1"`
	MaxIter          int      `help:"Stop after this many updates." default:"${maxIter}"`
	RelTol           float64  `help:"Stop at this relative change of the objective; 0 is off." default:"${relTol}"`
	AbsTol           float64  `help:"Stop at this absolute change of the mean objective; 0 is off." default:"0"`
	Threads          int      `help:"Threads, at most 1024; 0 is one for each processor." default:"0"`
	Trace            bool     `help:"Write the objective of every iterate into result.json."`
	StartTopics      string   `help:"Start from these topics, terms × k." type:"existingfile" placeholder:"FILE"`
	StartScores      string   `help:"Start from these scores, documents × k." type:"existingfile" placeholder:"FILE"`
	Step             string   `help:"Update for sonmf: extrapolated, exact, or cayley, the paper's line search (default: ${step}). For sonmf-binary: quasi-newton, or newton-fixed, the paper's (default: ${binaryStep}). For smf-w and smf-h: a number, the step length of the paper's algorithm (default: faster updates that choose their own step)." placeholder:"STEP"`
	L1Topics         *float64 `name:"l1-topics" help:"Weight of the sum of the topics in l1-nmf, 0 or more (default: from the scale of the matrix)." placeholder:"WEIGHT"`
	L1Scores         *float64 `name:"l1-scores" help:"Weight of the sum of the scores in l1-nmf (default: from the scale of the matrix)." placeholder:"WEIGHT"`

	Labels            string `help:"Labels 0, 1 … of the documents, in one line or one column." type:"existingfile" placeholder:"FILE" group:"smf-w and smf-h"`
	Aux               string `help:"Auxiliary features of the documents, in the orientation of the input." type:"existingfile" placeholder:"FILE" group:"smf-w and smf-h"`
	Xi                string `help:"Weight of the reconstruction: a number, or auto for 5-fold cross-validation (default: auto)." placeholder:"WEIGHT" group:"smf-w and smf-h"`
	Ridge             string `help:"Weight of the squared coefficients: a number or auto (default: auto)." placeholder:"WEIGHT" group:"smf-w and smf-h"`
	ClassWeights      string `help:"Weights of documents in the label loss: all equal (none, the default), or the same total for each class (balanced)." enum:"none,balanced," default:"" placeholder:"none|balanced" group:"smf-w and smf-h"`
	TestInput         string `help:"Documents to predict, in the orientation of the input." type:"existingfile" placeholder:"FILE" group:"smf-w and smf-h"`
	TestLabels        string `help:"Their labels." type:"existingfile" placeholder:"FILE" group:"smf-w and smf-h"`
	TestAux           string `help:"Their auxiliary features." type:"existingfile" placeholder:"FILE" group:"smf-w and smf-h"`
	StartCoefficients string `help:"Start from these coefficients, k × κ, together with --start-topics and --start-scores." type:"existingfile" placeholder:"FILE" group:"smf-w and smf-h"`
	StartAux          string `help:"Start from these auxiliary coefficients, the intercepts first, (1+q) × κ." type:"existingfile" placeholder:"FILE" group:"smf-w and smf-h"`
}

func (c *factorizeCmd) Run(ctx context.Context, d *cli.Deps) error {
	// In factorize.Options 0 means the default, but not in these flags.
	switch {
	case c.MaxIter < 1:
		return cli.Usage(fmt.Errorf("--max-iter is %d, must be 1 or more", c.MaxIter))
	case c.Restarts < 1:
		return cli.Usage(fmt.Errorf("--restarts is %d, must be 1 or more", c.Restarts))
	}
	if ridge, err := strconv.ParseFloat(c.Ridge, 64); err == nil && ridge == 0 {
		d.Log.Warn("a ridge of 0: coefficients grow without bound if the documents separate the labels")
	}
	tried, bar := cli.NewProgress(d.Err, "cross-validation"), &iterations{Progress: cli.NewProgress(d.Err, "updates"), max: c.MaxIter}
	report, err := factorize.Run(ctx, factorize.Options{
		Method: c.Method, Input: c.Input, Orientation: factorize.Orientation(c.InputOrientation), Rank: c.Rank, Out: c.Out,
		Init: solver.Init(c.Init), Seed: c.Seed, Restarts: c.Restarts, MaxIter: c.MaxIter, RelTol: c.RelTol, AbsTol: c.AbsTol, Threads: c.Threads, Trace: c.Trace,
		StartTopics: c.StartTopics, StartScores: c.StartScores, Step: c.Step, L1Topics: c.L1Topics, L1Scores: c.L1Scores, Version: version,
		Supervised: factorize.Supervised{
			Labels: c.Labels, Aux: c.Aux, Xi: c.Xi, Ridge: c.Ridge, TestInput: c.TestInput, TestLabels: c.TestLabels, TestAux: c.TestAux,
			StartCoefficients: c.StartCoefficients, StartAux: c.StartAux, ClassWeights: smf.ClassWeights(c.ClassWeights), Tried: tried.Set,
		},
	}, bar)
	tried.Finish()
	bar.Finish()
	if err != nil {
		return err
	}
	if s := report.Status; s == solver.Cycling.String() || s == solver.SearchFailed.String() {
		d.Log.Warn("the run did not end at a minimum", "status", s, "updates", report.Iterations)
	}
	orthogonality := "-"
	if r := report.OrthogonalityResidual; r != nil {
		orthogonality = strconv.FormatFloat(*r, 'e', 1, 64)
	}
	head := []string{"METHOD", "STATUS", "UPDATES", "OBJECTIVE", "MEAN", "ORTHOGONALITY", "LOAD s", "INIT s", "SOLVE s"}
	row := []string{
		report.Method, report.Status, strconv.Itoa(report.Iterations), strconv.FormatFloat(report.Objective, 'g', 10, 64), strconv.FormatFloat(report.MeanObjective, 'g', 6, 64),
		orthogonality, cli.Digits(&report.Seconds.Load, 3), cli.Digits(&report.Seconds.Init, 3), cli.Digits(&report.Seconds.Solve, 3),
	}
	if s := report.Settings.SupervisedSettings; s != nil {
		head = append(head, "XI", "RIDGE")
		row = append(row, strconv.FormatFloat(s.Xi, 'g', 4, 64), strconv.FormatFloat(s.Ridge, 'g', 4, 64))
	}
	for _, measure := range []struct {
		name  string
		value *float64
	}{{"TRAIN ACCURACY", report.TrainAccuracy}, {"TEST ACCURACY", report.TestAccuracy}, {"TEST AUROC", report.TestAUROC}} {
		if measure.value != nil {
			head, row = append(head, measure.name), append(row, cli.Digits(measure.value, 3))
		}
	}
	return c.Print(d, report, head, [][]string{row})
}

// iterations shows the updates of a solver and their objectives as they come.
type iterations struct {
	*cli.Progress
	max int
}

// Record implements solver.Recorder.
func (i *iterations) Record(it solver.Iterate) error {
	i.Set(it.Iteration, i.max)
	i.Describe("objective " + strconv.FormatFloat(it.Objective, 'g', 6, 64))
	return nil
}

type rankCmd struct {
	cli.Output
	Method           string  `help:"${rankMethods}; fa is factor analysis, whose rows are participants and columns items. For icqf use questionnaire rank; for smf-w and smf-h use train --rank." enum:"${rankMethods}" default:"sonmf"`
	Input            string  `help:"Matrix: .mtx (MatrixMarket), .csv or .npy; .gz too. For fa, fields of a .csv may be empty, NA or NaN." required:"" type:"existingfile" placeholder:"FILE"`
	InputOrientation string  `help:"What rows and columns of the input are." enum:"documents-by-terms,terms-by-documents" default:"documents-by-terms"`
	Criterion        string  `help:"bcv and bic for least squares, ccc and dispersion for scores that are never negative, parallel and map for fa (default: the first that the method has). If values are equal, bcv, bic and map choose the fewest topics, ccc and dispersion the most." enum:"auto,bcv,bic,ccc,dispersion,parallel,map" default:"auto"`
	Ranks            string  `help:"Numbers of topics to try, as 2:20 or 5,10,30; auto is 2 to 20, or fewer if the matrix is small. For fa they select the lines of the table; parallel decides by all." default:"auto"`
	Seed             uint64  `help:"Seed of starts, groups and draws." default:"1"`
	Init             string  `help:"Start for bcv and bic: svd, random or kmeans. ccc and dispersion start at random." enum:"svd,random,kmeans" default:"svd"`
	MaxIter          int     `help:"Stop a run after this many updates." default:"${maxIter}"`
	RelTol           float64 `help:"Stop a run at this relative change of the objective; 0 is off." default:"${relTol}"`
	Runs             int     `help:"Runs for each number of topics, for ccc and dispersion." default:"${runs}"`
	Folds            int     `help:"Groups of rows and groups of columns for bcv; each pair is held out once." default:"${folds}"`
	Correlation      string  `help:"Correlations for fa: pearson or polychoric." enum:"pearson,polychoric" default:"pearson"`
	Draws            int     `help:"Random data sets for parallel." default:"${draws}"`
	Threads          int     `help:"Threads, at most 1024; 0 is one for each processor." default:"0"`
}

func (c *rankCmd) Run(ctx context.Context, d *cli.Deps) error {
	for _, flag := range []struct {
		name         string
		value, least int
	}{{"max-iter", c.MaxIter, 1}, {"runs", c.Runs, 2}, {"folds", c.Folds, 2}, {"draws", c.Draws, 1}} {
		if flag.value < flag.least {
			return cli.Usage(fmt.Errorf("--%s is %d, must be %d or more", flag.name, flag.value, flag.least))
		}
	}
	ranks, err := cli.ParseRanks(c.Ranks)
	if err != nil {
		return cli.Usage(fmt.Errorf("--ranks: %w", err))
	}
	slices.Sort(ranks)
	criterion := factorize.Criterion(c.Criterion)
	if criteria := factorize.Criteria(c.Method); c.Criterion == cli.Auto && len(criteria) > 0 {
		criterion = criteria[0]
	}
	bar := cli.NewProgress(d.Err, "runs")
	report, err := factorize.Rank(ctx, factorize.RankOptions{
		Method: c.Method, Input: c.Input, Orientation: factorize.Orientation(c.InputOrientation), Criterion: criterion,
		Ranks: slices.Compact(ranks), Seed: c.Seed, Init: solver.Init(c.Init), MaxIter: c.MaxIter, RelTol: c.RelTol, Runs: c.Runs, Folds: c.Folds,
		Correlation: factoranalysis.Kind(c.Correlation), Draws: c.Draws, Threads: c.Threads, Progress: bar.Set, Version: version,
	})
	bar.Finish()
	if err != nil {
		return err
	}
	for _, warning := range report.Warnings {
		d.Log.Warn("check this before you rely on the choice", "reason", warning)
	}
	warnUnconverged(d, report.Unconverged, c.MaxIter)
	return c.print(d, report)
}

// linesBeyond is how many lines after the chosen one the table of factor analysis has; JSON has all.
const linesBeyond = 6

// print prints the curve and marks the choice.
func (c *rankCmd) print(d *cli.Deps, r *factorize.RankReport) error {
	head := []string{"RANK", string(r.Criterion)}
	extra := func(factorize.RankPoint) *float64 { return nil }
	switch r.Criterion {
	case factorize.BCV:
		head, extra = append(head, "STANDARD ERROR"), func(p factorize.RankPoint) *float64 { return p.StandardError }
	case factorize.Parallel:
		head, extra = []string{"FACTOR", "EIGENVALUE", "RANDOM"}, func(p factorize.RankPoint) *float64 { return p.Reference }
	case factorize.MAP:
		head, extra = append(head, "FOURTH POWER"), func(p factorize.RankPoint) *float64 { return p.FourthPower }
	}
	significant := func(v float64) string { return strconv.FormatFloat(v, 'g', 6, 64) }
	curve := r.Curve
	if r.Method == factorize.FactorAnalysis { // it has a line for every item
		curve = curve[:min(len(curve), r.Rank+linesBeyond)]
	}
	rows := make([][]string, len(curve))
	for i, p := range curve {
		rows[i] = []string{strconv.Itoa(p.Rank), significant(p.Value)}
		if v := extra(p); v != nil {
			rows[i] = append(rows[i], significant(*v))
		}
		choice := ""
		switch {
		case p.Rank == r.Rank:
			choice = "chosen"
		case r.OneStandardErrorRank != nil && p.Rank == *r.OneStandardErrorRank:
			choice = "one standard error"
		}
		rows[i] = append(rows[i], choice)
	}
	return c.Print(d, r, append(head, "CHOICE"), rows)
}
