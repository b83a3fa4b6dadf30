package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/wardcast/wardcast/internal/cli"
	"github.com/wardcast/wardcast/internal/lists"
	"github.com/wardcast/wardcast/internal/questionnaire"
	"github.com/wardcast/wardcast/internal/questionnaire/answers"
	"github.com/wardcast/wardcast/internal/questionnaire/certainty"
	"github.com/wardcast/wardcast/internal/questionnaire/fit"
	"github.com/wardcast/wardcast/internal/questionnaire/folder"
	"github.com/wardcast/wardcast/internal/questionnaire/meta"
	"github.com/wardcast/wardcast/internal/questionnaire/model"
	"github.com/wardcast/wardcast/internal/questionnaire/report"
	"github.com/wardcast/wardcast/solver"
)

type questionnaireCmd struct {
	Fit          questionnaireFitCmd          `cmd:"" help:"Learn factors and their loadings from answers." example:"wardcast questionnaire fit answers.csv --items '*_?' --confounds age:numeric,sex:categorical --factors 5 --beta 0.1 --out fit"`
	Score        questionnaireScoreCmd        `cmd:"" help:"Score new participants with a model." example:"wardcast questionnaire score answers.csv --model fit --out new-scores.csv"`
	Items        questionnaireItemsCmd        `cmd:"" help:"Reliability of each scale, and for each item its distribution and its correlation with the rest of the scale." example:"wardcast questionnaire items answers.csv --items 'anxiety_?'"`
	Norms        questionnaireNormsCmd        `cmd:"" help:"Make percentiles and T scores by age and sex from a reference sample." example:"wardcast questionnaire score answers.csv --model fit --out reference-scores.csv && wardcast questionnaire norms --model fit --scores reference-scores.csv --people answers.csv --sex sex --out norms.json"`
	Rank         questionnaireRankCmd         `cmd:"" help:"Choose the number of factors: cross-validation, parallel analysis and MAP." example:"wardcast questionnaire rank answers.csv --items '*_?' --factors 2:6 --beta 0.1"`
	Evaluate     questionnaireEvaluateCmd     `cmd:"" help:"Predict labels from scores on held-out participants, and compare loadings between samples." example:"wardcast questionnaire evaluate answers.csv --items '*_?' --factors 5 --beta 0.1 --labels adhd,depression --repeats 2"`
	Invariance   questionnaireInvarianceCmd   `cmd:"" set:"groupHelp=Column of the two groups, with the value of each, as in sex=F:M. Other participants are left out." help:"Compare factors, loadings and answers at equal scores between two groups." example:"wardcast questionnaire invariance answers.csv --items '*_?' --factors 5 --beta 0.1 --group sex=F:M --bootstrap 40"`
	CFA          questionnaireCFACmd          `cmd:"" name:"cfa" help:"Fit a confirmatory factor model, in one group or several." example:"printf 'anxiety =~ anxiety_1 + anxiety_2 + anxiety_3\nconduct =~ conduct_1 + conduct_2 + conduct_3\n' > model.txt && wardcast questionnaire cfa answers.csv --model model.txt"`
	Table        questionnaireTableCmd        `cmd:"" help:"Print loadings or scores as a table for a paper, or in full." example:"wardcast questionnaire table --model fit --format latex"`
	Meta         questionnaireMetaCmd         `cmd:"" help:"Learn factors of the factors of several questionnaires." example:"wardcast questionnaire fit answers.csv --items '*_1,*_2' --factors 5 --beta 0.1 --out other-fit && wardcast questionnaire meta fit other-fit --factors 3 --beta 0.1 --out meta"`
	Longitudinal questionnaireLongitudinalCmd `cmd:"" help:"Learn factors from several rows for each participant; the loadings may change with age." example:"wardcast synth questionnaire --visits 3 > visits.csv && wardcast questionnaire longitudinal visits.csv --items '*_?' --time age --bins 6,12,24 --factors 5 --beta 0.1 --out ages"`
	Retest       questionnaireRetestCmd       `cmd:"" set:"binsHelp=Edges of the bins of time: 6,9,12 means 6 to below 9, and 9 to 12; or the names of two events or more, as redcap_event_name of REDCap has them." help:"Compare the scores of several visits of each participant: intraclass correlations." example:"wardcast synth questionnaire --visits 2 > visits.csv && wardcast questionnaire retest visits.csv --items 'anxiety_?' --time age --bins 6,12,24"`
	Report       questionnaireReportCmd       `cmd:"" help:"Write the report of a stored model again." example:"wardcast questionnaire report --model fit"`
}

type answerFlags struct {
	Input          string   `arg:"" help:"Answers, a row for each participant, with a header: ${formats}." type:"existingfile" name:"file"`
	Items          []string `help:"Item columns: patterns with * and ?, for example 'q*'. A leading ! excludes: 'q*,!q7'. If every pattern begins with !, they exclude from the codebook's items (default: the items of the codebook)." placeholder:"PATTERN"`
	ID             string   `name:"id" help:"Column of the participants' ids (default: id, participant_id, record_id or ResponseId, in capitals or not; without such a column, participants are numbered by row and cannot be used by meta)." placeholder:"NAME"`
	Confounds      []string `help:"Columns of known variables that answers may depend on, as in age:numeric,sex:categorical; age:numeric:5:18 sets the range." placeholder:"LIST"`
	MissingCode    codes    `help:"Code of a missing entry, in addition to an empty cell, NA, NaN and a dot." placeholder:"CODE"`
	Range          string   `help:"Lowest and highest possible answer, as in 0:4 (default: from the codebook, otherwise each item's from the file)." placeholder:"LOW:HIGH"`
	FromLow        bool     `help:"Count answers from the low end of their range: 1 to 5 as 0 to 4."`
	Reverse        []string `help:"Items to score in reverse, in addition to those of the codebook." placeholder:"PATTERN"`
	OmitIncomplete bool     `help:"Leave out participants who lack a confound; otherwise they are an error."`
	Group          []string `help:"${groupHelp=Columns of groups, such as diagnosis or site. A warning is logged if a whole group lacks a scale. Labels and categorical confounds are groups too.}" placeholder:"LIST"`
	Codebook       string   `help:"Table that describes items, with the columns item, text, subscale, min, max, reverse; or a data dictionary of REDCap; or keys of psych as JSON." type:"existingfile" placeholder:"FILE"`
}

// codes are values of a flag that may begin with a hyphen, such as -9999.
type codes []string

// Decode implements kong.MapperValue.
func (c *codes) Decode(ctx *kong.DecodeContext) error {
	t := ctx.Scan.Pop()
	if t.IsEOL() {
		return errors.New("needs a code")
	}
	*c = append(*c, strings.Split(t.String(), ",")...)
	return nil
}

func (a *answerFlags) columns(d *cli.Deps) (answers.Columns, error) {
	c := answers.Columns{
		Items: a.Items, ID: a.ID, Missing: a.MissingCode, Groups: a.Group, FromLow: a.FromLow,
		OmitIncomplete: a.OmitIncomplete, Reversed: a.Reverse, Warn: d.Log.Warn,
	}
	var err error
	if c.Confounds, err = questionnaire.ParseConfounds(a.Confounds); err != nil {
		return c, err
	}
	if a.Range != "" {
		if c.Range, err = questionnaire.ParseRange(a.Range); err != nil {
			return c, err
		}
	}
	if a.Codebook != "" {
		b, err := readCodebook(d, a.Codebook, a.MissingCode)
		if err != nil {
			return c, err
		}
		c.Codebook, c.ID = b.Items, cmp.Or(c.ID, b.ID)
	}
	if c.OnlyExclude() && len(c.Codebook) == 0 {
		return c, cli.Usagef("--items or --codebook must say which columns are items; a pattern that " +
			"begins with ! only excludes")
	}
	return c, nil
}

// readCodebook reads a codebook, and logs which of its columns or fields are ignored.
func readCodebook(d *cli.Deps, path string, missing []string) (*answers.Codebook, error) {
	b, err := answers.ReadCodebook(path, missing)
	if err != nil {
		return nil, err
	}
	warnSome(d.Log, len(b.Ignored), "columns of the codebook are ignored", "file", path, "columns", b.Ignored)
	if len(b.NoItems) > 0 {
		d.Log.Info("fields of the data dictionary are not items", "file", path, "fields", b.NoItems, "ids", b.ID)
	}
	warnSome(d.Log, len(b.Mixed), "fields are not items: only some of their choices are numbers", "file", path,
		"fields", b.Mixed)
	flag := lists.Map(b.Doubtful, func(c questionnaire.Choice) string { return c.Code })
	warnSome(d.Log, len(b.Doubtful), "choices that look like codes of missing entries do not count as answers: name "+
		"them with the flag", "file", path, "choices", b.Doubtful, "flag", "--missing-code "+strings.Join(flag, ","))
	return b, nil
}

type method struct {
	Method string `help:"Method: icqf; fa, exploratory factor analysis; grm, graded response model; or l1-nmf, non-negative factorization with penalties on scores and loadings." enum:"${questionnaireMethods}" default:"icqf"`
}

// choose sets the method, and warns of confounds that it does not use.
func (m *method) choose(d *cli.Deps, o *fit.Options, confounds []string) {
	o.Method = m.Method
	if w := o.UnusedConfounds(); w != "" {
		d.Log.Warn("confounds are not used", "warning", w, "confounds", confounds)
	}
}

type learning struct {
	Factors []int     `help:"Number of factors K, or candidates as in 2:20 or 3,5,8; auto searches from 1 to half of the items." type:"ranks" default:"auto" placeholder:"K" usedby:"icqf,fa,l1-nmf,grm,pca"`
	Beta    []float64 `help:"Weight of the penalties of icqf, or candidates as in 0.1,0.5; auto searches among ${betas}." type:"weights" default:"auto" placeholder:"B" usedby:"icqf"`
	model.Learning
}

// several reports whether there are candidates among which the method must choose.
func (l *learning) several(method string) bool {
	return len(l.Factors) != 1 || method == model.MethodICQF && len(l.Beta) != 1
}

func (l *learning) options() (fit.Options, error) {
	return fit.Options{Factors: l.Factors, Betas: l.Beta, Learning: l.Learning, Version: version},
		cmp.Or(atLeast(1, "max-iter", l.MaxIter), atLeast(1, "partitions", l.Partitions))
}

// read returns the options that the flags of both describe.
func (l *learning) read(d *cli.Deps, a *answerFlags) (fit.Options, error) {
	o, err := l.options()
	if err == nil {
		o.Input = a.Input
		o.Columns, err = a.columns(d)
		o.Remark = func(of answers.Remarks) { warn(d, a.Input, of) }
	}
	return o, err
}

// mostLines is the largest number of line numbers in one log record.
const mostLines = 20

// firstLines returns line numbers for the log, and last how many are not listed.
func firstLines(lines []int) (some []any) {
	some = append(some, lists.Map(lines[:min(len(lines), mostLines)], func(line int) any { return line })...)
	if more := len(lines) - len(some); more > 0 {
		some = append(some, fmt.Sprintf("and %d more", more))
	}
	return some
}

// warnLines logs a warning about participants or visits by their lines, unless there are none.
func warnLines(log *slog.Logger, who string, lines []int, message string, facts ...any) {
	warnSome(log, len(lines), message, append(facts, who, len(lines), "lines", firstLines(lines))...)
}

func warnEach(log *slog.Logger, message string, warnings []string) {
	for _, w := range warnings {
		log.Warn(message, "warning", w) //nolint:sloglint // the callers have constant messages
	}
}

func warn(d *cli.Deps, file string, of answers.Remarks) {
	log := d.Log.With("file", file)
	if of.FoundID != "" && of.FoundID != answers.DefaultID {
		log.Info("taking the participants' ids from a column because of its name", "column", of.FoundID)
	}
	if of.Numbered {
		log.Info("no column of ids: participants are numbered by row")
	}
	warnLines(log, "participants", of.Unanswered, "participants without answers are left out")
	warnLines(log, "participants", of.Incomplete, "participants who lack a confound are left out")
	warnLines(log, "visits", of.Visits, "visits that lack a confound are left out")
	warnSome(log, of.Repeated, "participants have several visits in a bin of time: the mean of their answers is used",
		"participants", of.Repeated)
	warnSome(log, len(of.Dropped), "items that do not vary, or that nobody answered, are left out", "items", of.Dropped)
	warnSome(log, len(of.Single),
		"items with a single differing answer: constant in any fold that leaves that participant out", "items",
		of.Single)
	for _, o := range of.Opposed {
		log := log
		if o.Scale != "" {
			log = log.With("scale", o.Scale)
		}
		log.Warn("items correlate negatively with the first component of their scale: they may need --reverse",
			"items", o.Items)
	}
	for _, l := range of.Lacking {
		log.Warn("some groups never answered a scale: missing answers alone reveal the group",
			"column", l.Column, "groups", l.Groups, "participants", l.Participants, "scales", l.Scales)
	}
	for _, m := range of.Merged {
		log.Warn("a label has more than two values: all but one count as negative", "label", m.Name,
			"positive", m.Positive, "other_values", m.Values)
	}
	warnEach(log, "the input may distort the factors", of.Warnings)
	warnSome(log, len(of.Inferred), "items have no range in --range or the codebook: the lowest and highest answer to "+
		"each is its range", "items", of.Inferred)
	warnSome(log, of.Labelled, "labels of the codebook are read as their codes", "answers", of.Labelled)
	warnSome(log, len(of.Either), "answers may be labels of other codes: they are read as codes", "items", of.Either)
	warnSome(log, of.LimeSurvey, "codes of LimeSurvey are read as numbers: A1 as 1", "answers", of.LimeSurvey)
	warnSome(log, of.Unsaved, "boxes are missing answers: no box of the field is checked, and the form's column "+
		"…_complete is 0 or empty", "participants", of.Unsaved)
	for _, a := range []*answers.Apart{of.Apart, of.ApartConfounds} {
		if a != nil {
			log.Warn("values are far from all others: name codes of missing entries with --missing-code",
				"values", a.Answers, "low", a.Low, "high", a.High, "first_line", a.Line, "column", a.Column)
		}
	}
}

func warnUnconverged(d *cli.Deps, fits int) {
	warnSome(d.Log, fits, "fits have not converged; a higher --max-iter may help methods that have it", "fits", fits)
}

const uncertainChoice = "the choice of the number of factors or beta may be wrong"

type scoreFlags struct {
	Sums       bool `help:"Add for each subscale, or all items if there are none: the sum (sum_…), the sum prorated for missing answers (prorated_…), its standard error of measurement (sem_…) and the reliable change index (rci_…). For score, the fit must have them too."`
	MinAnswers int  `help:"Leave participants with fewer answers out of the table of scores." default:"1" placeholder:"N"`
}

func (t *scoreFlags) table() fit.Table { return fit.Table(*t) }

// warn logs the lines of the participants who are left out.
func (t *scoreFlags) warn(d *cli.Deps, file string, lines []int) {
	warnLines(d.Log, "participants", lines, "participants with fewer answers have no scores", "file", file,
		"min_answers", t.MinAnswers)
}

type result struct {
	scoreFlags
	cli.Output
	Out   string `help:"Folder for scores.csv, loadings.csv, report.html, loadings.svg and .png, result.json and the model; longitudinal adds ages.csv and ages.svg, --bootstrap adds loadings_intervals.csv, and meta --compact adds compact.csv. Created if missing." required:"" placeholder:"DIR"`
	Rule  string `help:"Which candidate to choose: the one with the lowest cross-validated error (without --factors, icqf follows parallel analysis or simple structures where these find more factors), or the one with the fewest factors within one standard error of the lowest." enum:"lowest,one-standard-error" default:"lowest" usedby:"cross-validation"`
	Trace bool   `help:"Write the objective after every update to result.json." usedby:"icqf,l1-nmf"`
	// Bootstrap is 0 for none.
	Bootstrap int `help:"Number of bootstrap samples of participants (0: none; at least 40; 1000 for a paper). Adds standard errors and 95 % intervals of the loadings (loadings_intervals.csv), includes them in the scores' standard errors, and cross-validates what each factor explains." default:"0" placeholder:"N" usedby:"icqf,fa,l1-nmf"`
}

// learn completes the options, calls run, and writes and prints the fitted model. Compact is the requested number of
// items of a compact set; inputs are the files that run reads.
func (r *result) learn(ctx context.Context, d *cli.Deps, o *fit.Options, run func() (*model.Fitted, error), compact int,
	inputs ...string,
) error {
	if info, err := os.Stat(r.Out); err == nil && !info.IsDir() { // checked before an hour of updates, not after
		return cli.Usagef("--out %q is not a folder", r.Out)
	}
	if err := folder.Check(r.Out, inputs...); err != nil {
		return cli.Usage(err)
	}
	o.Fewest, o.Trace, o.Scores = r.Rule != "lowest", r.Trace, r.table()
	bar := cli.NewProgress(d, "cross-validation")
	o.Progress, o.Recorder = bar.Set, &iterations{Progress: bar, max: o.MaxIter}
	var err error
	if o.Assess, err = (certainty.Settings{Replicates: r.Bootstrap, Progress: func(done, total int) {
		bar.Describe("refits")
		bar.Set(done, total)
	}}).Assess(); err != nil {
		return cli.Usage(err)
	}
	fitted, err := run()
	bar.Finish()
	if err != nil {
		return err
	}
	if n := len(fitted.Summary.Compact); n < compact {
		d.Log.Warn("the compact set has fewer items than asked for", "items", n, "compact", compact)
	}
	if err := folder.Write(ctx, r.Out, fitted); err != nil {
		return err
	}
	r.warn(d, fitted.Input, fitted.TooFew)
	warnEach(d.Log, uncertainChoice, fitted.Unsure)
	if of := &fitted.Summary.Decision; of.Disagree() {
		d.Log.Warn("the criteria for the number of factors disagree", "found", of.Found(), "followed", of.Followed,
			"because", of.Because)
	}
	warnEach(d.Log, "the fit may be unreliable", fitted.Doubts)
	if c := fitted.Summary.Careless; c != nil {
		warnSome(d.Log, c.Participants, "answers of some participants may be careless", "file", model.CarelessFile,
			"participants", c.Participants, "long_strings", c.LongStrings, "misfits", c.Misfits,
			"duplicates", c.Duplicates)
	}
	return r.report(d, fitted)
}

func (r *result) report(d *cli.Deps, f *model.Fitted) error {
	s := &f.Summary
	if s.Status == solver.IterationLimit.String() {
		d.Log.Warn("the fit has not converged", "status", s.Status, "updates", s.Iterations)
	}
	warnUnconverged(d, s.BCVUnconverged)
	if b := s.Bootstrap; b != nil && b.Failed > 0 {
		d.Log.Warn("bootstrap samples could not be fitted and are not counted", "samples", b.Replicates,
			"failed", b.Failed)
	}
	factors, beta, updates := strconv.Itoa(s.Factors), "-", "-"
	if s.Method == model.MethodICQF {
		beta = strconv.FormatFloat(s.Beta, 'g', -1, 64)
	}
	if s.Method != model.MethodFA {
		updates = strconv.Itoa(s.Iterations)
	}
	if s.EmptyFactors > 0 {
		factors += fmt.Sprintf(" (%d empty)", s.EmptyFactors)
		d.Log.Warn("factors are empty: all their scores or loadings are 0", "factors", s.Factors,
			"empty", s.EmptyFactors, "beta", s.Beta)
	}
	grid := cli.NewGrid("PARTICIPANTS", "ITEMS", "MISSING", "FACTORS", "BETA", "STATUS", "UPDATES", "OBJECTIVE",
		"ERROR", "EXPLAINED", "SECONDS")
	grid.Add(s.Participants, len(s.Items), s.Missing, factors, beta, s.Status, updates,
		fmt.Sprintf("%.8g", s.Objective), fmt.Sprintf("%.4g", s.ReconstructionError), s.Explained,
		s.Seconds.Load+s.Seconds.Choose+s.Seconds.Init+s.Seconds.Solve)
	grids := []*cli.Grid{grid, factorGrid(s)}
	if g := s.Graded; g != nil {
		own := cli.NewGrid("LOG-LIKELIHOOD", "PARAMETERS", "AIC", "BIC", "MEAN Q3", "DEPENDENT PAIRS")
		own.Add(cli.Digits(*s.LogLikelihood, 2), g.Parameters, cli.Digits(g.AIC, 1), cli.Digits(g.BIC, 1), g.MeanQ3,
			len(g.Dependent))
		grids = append(grids, own)
	}
	if s.Fit != nil {
		grids = append(grids, goodnessGrid(s.Fit))
	}
	return r.Print(d, s, grids...)
}

// factorGrid has a line for each factor: what it explains, how reliable it is, and how often a bootstrap found it.
func factorGrid(s *model.Summary) *cli.Grid {
	grid := cli.NewGrid("FACTOR")
	for t := range s.Factors {
		grid.Add("factor" + strconv.Itoa(t+1))
	}
	switch e := s.ExplainedBy; {
	case s.Accounted != nil:
		grid.Column("SS LOADINGS", func(t int) any { return s.Accounted[t].SSLoadings })
		grid.Column("PROPORTION", func(t int) any { return s.Accounted[t].Proportion })
	case e != nil:
		grid.Column("EXPLAINS", func(t int) any { return e.Factors[t].Share })
	}
	grid.Column("RELIABILITY", func(t int) any {
		if s.FactorFits[t].StandardError == 0 {
			return "-"
		}
		return s.FactorFits[t].Reliability
	})
	if b := s.Bootstrap; b != nil {
		grid.Column("CONGRUENCE", func(t int) any { return b.Factors[t].Congruence })
		grid.Column("FOUND AGAIN", func(t int) any { return b.Factors[t].Similar })
	}
	return grid
}

// goodnessGrid shows how well a factor analysis fits, "-" for undefined figures.
func goodnessGrid(g *model.GoodnessOfFit) *cli.Grid {
	grid := cli.NewGrid("RMSR", "RMSEA", "90 %", "TLI", "CFI", "BIC", "CHI-SQUARE", "DF", "P")
	grid.Add(g.RMSR, g.RMSEA.Value, bounds(g.RMSEA.Low, g.RMSEA.High), g.TLI, g.CFI, cli.Digits(g.BIC, 1),
		cli.Digits(g.ChiSquare, 1), g.DF, pValue(g.P))
	return grid
}

type questionnaireFitCmd struct {
	answerFlags
	method
	learning
	result
	Scores string                `help:"Scores of fa: ${scoreKinds}. Regression has the least error, bartlett is unbiased, and tenberge keeps the correlations of the factors." enum:"${scoreKinds}" default:"regression" usedby:"fa"`
	visits *questionnaire.Visits // nil unless the command is longitudinal
}

func (c *questionnaireFitCmd) Run(ctx context.Context, d *cli.Deps, command *kong.Context) error {
	parallel := model.Standardized(c.Method) && len(c.Factors) == 0 // chooses instead of a cross-validation
	if err := checkUsed(command, []string{c.Method}, c.several(c.Method) && !parallel); err != nil {
		return err
	}
	o, err := c.read(d, &c.answerFlags)
	if err != nil {
		return err
	}
	o.Columns.Visits, o.Command, o.ScoreKind = c.visits, commandLine(d.Args), c.Scores
	c.choose(d, &o, c.Confounds)
	return c.learn(ctx, d, &o, func() (*model.Fitted, error) { return fit.Fit(ctx, o) }, 0, c.Input, c.Codebook)
}

type visitFlags struct {
	Time string   `help:"Column with the time of a row, for instance age." required:"" placeholder:"NAME"`
	Bins []string `help:"${binsHelp=Edges of the bins of time: 6,9,12 means 6 to below 9, and 9 to 12.}" required:"" placeholder:"LIST"`
}

type questionnaireLongitudinalCmd struct {
	questionnaireFitCmd
	visitFlags
}

func (c *questionnaireLongitudinalCmd) Run(ctx context.Context, d *cli.Deps, command *kong.Context) error {
	var err error
	if c.visits, err = questionnaire.ParseVisits(c.Time, c.Bins); err != nil {
		return err
	}
	return c.questionnaireFitCmd.Run(ctx, d, command)
}

type questionnaireMetaCmd struct {
	Models []string `arg:"" help:"Output folders of fits, each of a different questionnaire; participants are matched by their ids." type:"existingdir" name:"folder"`
	learning
	result
	Compact int `help:"Number of items to choose from all questionnaires so that they best estimate the scores; written to compact.csv. The files of answers must still be where the fits read them." default:"0" placeholder:"N"`
}

func (c *questionnaireMetaCmd) Run(ctx context.Context, d *cli.Deps, command *kong.Context) error {
	if err := checkUsed(command, []string{model.MethodICQF}, c.several(model.MethodICQF)); err != nil {
		return err
	}
	o := meta.Options{Models: c.Models, Compact: c.Compact}
	var err error
	if o.Options, err = c.options(); err != nil {
		return err
	}
	read := lists.Map(c.Models, func(dir string) string { return filepath.Join(dir, model.ScoresFile) })
	o.Command = commandLine(d.Args)
	return c.learn(ctx, d, &o.Options, func() (*model.Fitted, error) { return meta.Run(ctx, o) }, c.Compact, read...)
}

// The tag usedBy of a flag lists the methods that use it, and crossValidation if that does; without it all do.
const (
	usedBy          = "usedby"
	crossValidation = "cross-validation"
)

// checkUsed returns an error for a given flag that no method, none of others, nor a cross-validation (validated) uses.
func checkUsed(command *kong.Context, methods []string, validated bool, others ...string) error {
	run := slices.Concat(methods, others)
	if validated {
		run = append(run, crossValidation)
	}
	for _, p := range command.Path {
		if p.Flag == nil || !p.Flag.Tag.Has(usedBy) {
			continue
		}
		by, name := strings.Split(p.Flag.Tag.Get(usedBy), ","), "--"+p.Flag.Name
		if p.Flag.Negated {
			name = "--no-" + p.Flag.Name
		}
		switch {
		case slices.ContainsFunc(by, func(user string) bool { return slices.Contains(run, user) }):
		case by[0] == crossValidation:
			return cli.Usagef(
				"%s applies only to cross-validation, which needs several candidates, as in --factors 2:8", name)
		default:
			return cli.Usagef("%s applies only to %s, not to %s", name, listed(by), listed(methods))
		}
	}
	return nil
}

// listed returns "a, b and c".
func listed(words []string) string {
	last := len(words) - 1
	if last == 0 {
		return words[0]
	}
	return strings.Join(words[:last], ", ") + " and " + words[last]
}

type questionnaireRankCmd struct {
	answerFlags
	method
	learning
	cli.Output
	Out string `help:"Folder for rank.html, with a scree plot and the cross-validated errors, and for scree.svg. Created if missing." placeholder:"DIR"`
}

func (c *questionnaireRankCmd) Run(ctx context.Context, d *cli.Deps, command *kong.Context) error {
	if err := checkUsed(command, []string{c.Method}, true); err != nil {
		return err
	}
	if info, err := os.Stat(c.Out); err == nil && !info.IsDir() {
		return cli.Usagef("--out %q is not a folder", c.Out)
	}
	o, err := c.read(d, &c.answerFlags)
	if err != nil {
		return err
	}
	c.choose(d, &o, c.Confounds)
	bar := cli.NewProgress(d, "fits")
	o.Progress = bar.Set
	ranked, err := fit.Rank(ctx, o)
	bar.Finish()
	if err != nil {
		return err
	}
	if c.Out != "" {
		regressed := len(c.Confounds) > 0 && o.UnusedConfounds() == ""
		files, err := report.RankingFiles(filepath.Base(c.Input), ranked, regressed)
		if err == nil {
			err = folder.WriteFiles(c.Out, files)
		}
		if err != nil {
			return err
		}
	}
	warnUnconverged(d, ranked.Unconverged)
	warnEach(d.Log, uncertainChoice, ranked.Warnings)
	grid := cli.NewGrid("FACTORS", "BETA", "ERROR", "STANDARD ERROR", "CHOICE")
	grid.Title = strings.Join(ranked.Lines(), "\n") + "\n"
	for _, p := range ranked.Curve {
		choice := ""
		switch {
		case p.Candidate == ranked.Candidate:
			choice = "lowest"
		case p.Factors == ranked.OneStandardErrorFactors && p.Beta == ranked.OneStandardErrorBeta:
			choice = "one standard error"
		}
		beta := "-"
		if c.Method == model.MethodICQF {
			beta = strconv.FormatFloat(p.Beta, 'g', -1, 64)
		}
		grid.Add(p.Factors, beta, significant(p.Error), fmt.Sprintf("%.3g", p.StandardError), choice)
	}
	return c.Print(d, ranked, grid)
}
