package model

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/wardcast/wardcast/internal/chart"
	"github.com/wardcast/wardcast/internal/questionnaire"
	"github.com/wardcast/wardcast/solver"
	"github.com/wardcast/wardcast/solver/icqf"
)

// Summary is the outcome of a fit as result.json holds it.
type Summary struct {
	Method     string `json:"method"`
	Status     string `json:"status"`
	Iterations int    `json:"iterations"`
	// Objective is that of the factorization: with all penalties, that of an intercept too, which has none in the fit.
	Objective float64 `json:"objective"`
	// Penalties are the weights that Beta and the ridge stand for.
	Penalties Penalties `json:"penalties"`
	// ReconstructionError is the mean squared error of the observed answers. Explained is the share of their variance
	// about the items' means that the model explains, with the weights that items of different ranges have in the fit.
	// OutsideRange is the largest distance of the reconstruction from the range.
	ReconstructionError float64 `json:"reconstruction_error"`
	Explained           float64 `json:"explained"`
	OutsideRange        float64 `json:"outside_range"`
	// ExplainedBy divides Explained, and Bootstrap holds the precision of the loadings; nil if not requested.
	ExplainedBy *ExplainedBy `json:"explained_by,omitempty"`
	Bootstrap   *Bootstrap   `json:"bootstrap,omitempty"`
	Factors     int          `json:"factors"`
	Beta        float64      `json:"beta"`
	// BCV is the curve of the cross-validation, empty if there was nothing to choose. BCVUnconverged of its fits ended
	// at MaxIter.
	BCV                     []solver.ErrorPoint `json:"bcv"`
	OneStandardErrorFactors int                 `json:"one_standard_error_factors,omitempty"`
	BCVUnconverged          int                 `json:"bcv_unconverged"`
	Seconds                 Seconds             `json:"seconds"`
	Participants            int                 `json:"participants"`
	// Unanswered and Incomplete count the participants left out because they lack answers or confounds.
	Unanswered int         `json:"unanswered"`
	Incomplete int         `json:"incomplete"`
	TooFew     int         `json:"too_few_answers"` // participants without scores
	Missing    float64     `json:"missing"`         // share of the answers
	Items      []ItemFit   `json:"items"`
	FactorFits []FactorFit `json:"factor_scores"`
	// Known describes the confounds of the participants.
	Known []Known `json:"known"`
	// EmptyFactors counts the factors whose scores or loadings are all 0. They come last.
	EmptyFactors int `json:"empty_factors"`
	// FactorCorrelations, k×k, Accounted, by factor, and Fit are those of factor analysis.
	FactorCorrelations [][]float64    `json:"factor_correlations,omitempty"`
	Accounted          []Accounted    `json:"accounted,omitempty"`
	Fit                *GoodnessOfFit `json:"fit,omitempty"`
	// StandardErrors are those of maximum likelihood, with intervals of 95 %; nil for other extractions.
	StandardErrors *Precision `json:"standard_errors,omitempty"`
	// LogLikelihood and Graded are those of MethodGRM.
	LogLikelihood *float64 `json:"log_likelihood,omitempty"`
	Graded        *Graded  `json:"item_responses,omitempty"`
	Decision
	// Scree is nil if the number of factors was given. ScoreCorrelations, k×k, are those of the scores, null for an
	// empty factor, and Residuals the correlations that the factors leave; nil for methods that have others instead.
	Scree             *Scree                   `json:"scree,omitempty"`
	ScoreCorrelations [][]questionnaire.Figure `json:"score_correlations,omitempty"`
	Residuals         *Residuals               `json:"residual_correlations,omitempty"`
	// Careless counts the participants whose answers look careless, by sign; nil for several visits and a second stage.
	Careless *Careless `json:"careless,omitempty"`
	// MissingMethod is what factor analysis did about missing answers: one of MissingMethods. Covariance, p×p, is that
	// of the items of FIML (divisor n), null for two that nobody answered together; PairsNeverTogether counts these.
	MissingMethod      string                   `json:"missing_method,omitempty"`
	Covariance         [][]questionnaire.Figure `json:"covariance,omitempty"`
	PairsNeverTogether *int                     `json:"pairs_never_together,omitempty"`
	// Parallel is the number of factors that parallel analysis suggests, if that chose it; nil otherwise.
	Parallel *int `json:"parallel,omitempty"`
	// Warnings are sentences for readers of the result.
	Warnings []string            `json:"warnings"`
	Compact  []CompactItem       `json:"compact,omitempty"` // of a second stage
	Sums     []SumScale          `json:"sums,omitempty"`    // if requested
	Trace    []solver.TracePoint `json:"trace"`             // empty unless requested
	Settings Settings            `json:"settings"`
	Version  string              `json:"version"`
}

// MethodInFull names the method and the settings that a reader needs to reproduce the fit.
func (s *Summary) MethodInFull() string {
	switch s.Method {
	case MethodFA:
		correlation := s.Settings.Correlation
		if correlation == Pearson {
			correlation = "Pearson"
		}
		kind := map[string]string{"bartlett": ", Bartlett scores", "tenberge": ", ten Berge scores"}[s.Settings.Scores]
		return fmt.Sprintf("factor analysis (%s, %s rotation, %s correlations%s%s)", s.Settings.Extraction,
			s.Settings.Rotation, correlation, s.missingInFull(), kind)
	case MethodGRM:
		return "grm (graded response model by marginal maximum likelihood)"
	case MethodL1:
		return "l1-nmf (non-negative factorization with ℓ1 penalties)"
	}
	return "ICQF"
}

// missingInFull says what a factor analysis did about missing answers, "" if there were none.
func (s *Summary) missingInFull() string {
	if s.Missing == 0 {
		return ""
	}
	switch s.MissingMethod {
	case FIML:
		return " by full information"
	case Listwise:
		return " of those who answered all items"
	}
	return " of those who answered both items"
}

// What factor analysis can do about missing answers.
const (
	// FIML correlates by full-information maximum likelihood.
	FIML = "fiml"
	// Pairwise uses for each correlation the participants who answered both items.
	Pairwise = "pairwise"
	// Listwise uses the participants who answered all items.
	Listwise = "listwise"
)

// MissingMethods returns what factor analysis can do about missing answers.
func MissingMethods() []string { return []string{FIML, Pairwise, Listwise} }

// Penalties weigh the sums of the scores and of the loadings, and half their squares, in the objective.
type Penalties struct {
	Scores        float64 `json:"scores"`
	Loadings      float64 `json:"loadings"`
	ScoresRidge   float64 `json:"scores_ridge"`
	LoadingsRidge float64 `json:"loadings_ridge"`
	// Answers is the mean number of answers of a participant of the fit. The penalties of a participant who gave a
	// answers are multiplied by a/Answers, or less, see icqf.Model.Score; 0 means the same penalties for any number.
	Answers float64 `json:"answers"`
}

// Seconds is the wall time of the parts of a run: reading, cross-validation, start, updates.
type Seconds struct {
	Load   float64 `json:"load"`
	Choose float64 `json:"choose"`
	Init   float64 `json:"init"`
	Solve  float64 `json:"solve"`
}

// ItemFit describes an item's answers: the missing share, the mean, and the share of variance that the model explains.
type ItemFit struct {
	Item      string  `json:"item"`
	Missing   float64 `json:"missing"`
	Mean      float64 `json:"mean"`
	Explained float64 `json:"explained"`
	// Communality, 1 − ψ, is the share that is common to the factors of factor analysis; nil for other methods.
	Communality *float64 `json:"communality,omitempty"`
}

// FactorFit describes a factor's scores: their mean and standard deviation and, if they lie in [0,1], the shares of
// participants in whom the factor is absent (0) and more than half present.
type FactorFit struct {
	// Participants counts those whose score has a standard error of at most Limit; the other fields are about them. The
	// other participants' answers hold less than a quarter of the usual information: their scores are not measurements.
	Participants int     `json:"participants"`
	Limit        float64 `json:"standard_error_limit"`

	Mean      float64 `json:"mean"`
	Deviation float64 `json:"sd"`
	Absent    float64 `json:"absent"`
	High      float64 `json:"high"`
	// StandardError is the root of the mean squared standard error of a score. Reliability is the share of the scores'
	// variance that is not error of measurement: 1 − s²/sd² or, for the regression scores of factor analysis, whose
	// factors have the variance 1, 1 − s², with the same root s for loadings that count as known. It is at least 0.
	StandardError float64 `json:"standard_error"`
	Reliability   float64 `json:"reliability"`
}

// Measures reports whether a score with this standard error is a measurement.
func (f *FactorFit) Measures(standardError float64) bool { return standardError <= f.Limit }

// Accounted is the variance of the standardized answers that a factor of factor analysis accounts for: in items, the
// diagonal of ΦΛᵀΛ, and as a share of all items. Over the factors these sum to the communalities and to their mean.
type Accounted struct {
	SSLoadings float64 `json:"ss_loadings"`
	Proportion float64 `json:"proportion"`
}

// GoodnessOfFit is factoranalysis.GoodnessOfFit as JSON holds it.
type GoodnessOfFit struct {
	RMSR      questionnaire.Figure `json:"rmsr"`
	RMSEA     RMSEA                `json:"rmsea"`
	TLI       questionnaire.Figure `json:"tli"`
	CFI       questionnaire.Figure `json:"cfi"`
	BIC       questionnaire.Figure `json:"bic"`
	ChiSquare questionnaire.Figure `json:"chi_square"`
	DF        int                  `json:"df"`
	P         questionnaire.Figure `json:"p"`
}

// RMSEA is a value with the bounds of its interval of 90 %.
type RMSEA struct {
	Value questionnaire.Figure `json:"value"`
	Low   questionnaire.Figure `json:"low"`
	High  questionnaire.Figure `json:"high"`
}

// Known describes a confound of the participants: mean, standard deviation and range, or the levels of a category.
type Known struct {
	Name      string  `json:"name"`
	Mean      float64 `json:"mean,omitempty"`
	Deviation float64 `json:"sd,omitempty"`
	Low       float64 `json:"low,omitempty"`
	High      float64 `json:"high,omitempty"`
	Levels    []Level `json:"levels,omitempty"`
}

// Level is a value of a category, and the number of participants with it.
type Level struct {
	Level        string `json:"level"`
	Participants int    `json:"participants"`
}

// CompactItem is an item of a compact set, in the order of choice.
type CompactItem struct {
	Questionnaire string `json:"questionnaire"`
	questionnaire.Item
	// Explained is the share of the variance of the second stage's scores that a linear prediction from the items so
	// far explains, in participants whom neither the choice nor the prediction has seen.
	Explained float64 `json:"explained"`
	// Low and High are the ends of its 95 % interval, by a bootstrap over those participants.
	Low  float64 `json:"explained_low"`
	High float64 `json:"explained_high"`
	// Correlations are those of each score with its prediction, in the same participants.
	Correlations []float64 `json:"correlations"`
}

// The correlations that factor analysis may use.
const (
	Pearson    = "pearson"
	Polychoric = "polychoric"
)

// Settings are the options of a run with their defaults filled in.
type Settings struct {
	// Input is the path of the answers from the folder of the model, or the names of a second stage's questionnaires.
	Input       string              `json:"input"`
	InputSHA256 string              `json:"input_sha256,omitempty"` // "" for a second stage
	Range       questionnaire.Range `json:"range"`                  // that the reconstruction keeps
	Command     string              `json:"command,omitempty"`
	Scores      string              `json:"scores,omitempty"` // the kind of those of factor analysis
	Learning
}

// Learning are the options of the solver, with the help of their flags; usedby lists the methods, or cross-validation,
// that alone use a flag. Ridge is the weight β₂ of half the squares of scores and loadings, scaled as Scaled of
// icqf.Settings says. Zero values of Inner, Partitions and MaxIter mean icqf.CoordinateDescent, 1 and
// icqf.DefaultMaxIter.
type Learning struct {
	// Extraction, Rotation and Correlation are those of factor analysis.
	Extraction        string     `json:"extraction,omitempty" help:"How fa finds factors: minres (least squared residual correlations) or ml (maximum likelihood)." enum:"minres,ml" default:"minres" usedby:"fa"`
	Rotation          string     `json:"rotation,omitempty" help:"Rotation of fa: ${rotations}." enum:"${rotations}" default:"promax" usedby:"fa"`
	Target            string     `json:"target,omitempty" help:"Table of the loadings that --rotation target aims at: item, factor1, factor2 and so on, an empty cell for a loading that is free." placeholder:"FILE" usedby:"fa"`
	Correlation       string     `json:"correlation,omitempty" help:"Correlation for fa: pearson, or polychoric for few ordered answers (default: pearson)." enum:",pearson,polychoric" default:"" usedby:"fa"`
	Missing           string     `json:"missing,omitempty" help:"What fa does about missing answers: fiml (full-information maximum likelihood), pairwise (each correlation of those who answered both items) or listwise (only those who answered all items). The default is pairwise if --correlation is given, otherwise fiml." enum:",fiml,pairwise,listwise" default:"" usedby:"fa"`
	Ridge             float64    `json:"ridge" help:"Weight of half the squares of scores and loadings of icqf, in addition to beta." default:"0" placeholder:"WEIGHT" usedby:"icqf"`
	BoundLoadings     bool       `json:"bound_loadings" help:"Keep loadings of icqf within the largest answer." usedby:"icqf"`
	PenalizeIntercept bool       `json:"penalize_intercept" help:"Apply the penalty to the intercept's loadings too (icqf with confounds)." usedby:"icqf"`
	EqualRanges       bool       `json:"equal_ranges" help:"Give items of different ranges equal weight: stretch each item's range to the widest for the fit." negatable:"" default:"true" usedby:"icqf,l1-nmf,cross-validation"`
	Inner             icqf.Inner `json:"inner" help:"Algorithm within an update of icqf: cd (coordinate descent) or fista." enum:"cd,fista" default:"cd" usedby:"icqf"`
	Seed              uint64     `json:"seed" help:"Seed of the start and of the cross-validation." default:"1"`
	Partitions        int        `json:"partitions" help:"Number of times that the cross-validation deals answers to folds; from 2 on, its standard errors are between these partitions." default:"1" usedby:"cross-validation"`
	MaxIter           int        `json:"max_iter" help:"Maximum number of updates of a fit by icqf or l1-nmf." default:"${icqfMaxIter}" usedby:"icqf,l1-nmf"`
	RelTol            float64    `json:"rel_tol" help:"End a fit at this relative change of the objective (0: never). Fits of a cross-validation end at ${cvRelTol} if that is larger." default:"${relTol}" usedby:"icqf,l1-nmf"`
	Threads           int        `json:"threads" help:"Number of threads, at most 1024 (0: one for each processor)." default:"0"`
}

// Bootstrap is the precision of the loadings: how they vary between fits to bootstrap samples of the participants.
type Bootstrap struct {
	Replicates int `json:"replicates"`
	// Failed counts the replicates that the method could not fit. They are not used.
	Failed      int `json:"failed"`
	Unconverged int `json:"unconverged"` // replicates that ended at MaxIter
	// Level is the share of samples in which an interval holds the loading that the method has in the population.
	Level float64 `json:"level"`
	// Factors says how often each factor was found again.
	Factors   []Again `json:"factors"`
	Precision         // also of the loadings of the confounds, in columns after those of the factors
	// Scores is, for each factor, the root mean squared difference between a participant's scores in a replicate and in
	// the fit: the error of a score due to the sampling error of the loadings.
	Scores []float64 `json:"scores"`
}

// The congruence of loadings, their cosine, from which on two factors count as similar, and as equal: U. Lorenzo-Seva
// and J. M. F. ten Berge, "Tucker's congruence coefficient as a meaningful index of factor similarity", 2006.
const (
	SimilarCongruence = 0.85
	EqualCongruence   = 0.95
)

// Again is the similarity of a factor to its match in the replicates: the mean congruence, and the shares of replicates
// where it is at least SimilarCongruence and EqualCongruence.
type Again struct {
	Congruence float64 `json:"congruence"`
	Similar    float64 `json:"similar"`
	Equal      float64 `json:"equal"`
}

// Precision is that of the loadings of factor analysis, p×k, and of the correlations of the factors, k×k; nil unless
// the rotation is oblique.
type Precision struct {
	Loadings           Intervals  `json:"loadings"`
	FactorCorrelations *Intervals `json:"factor_correlations,omitempty"`
}

// Sure returns the intervals of the loadings by the Bootstrap, otherwise those of StandardErrors; nil without both.
func (s *Summary) Sure() *Intervals {
	switch {
	case s.Bootstrap != nil:
		return &s.Bootstrap.Loadings
	case s.StandardErrors != nil:
		return &s.StandardErrors.Loadings
	}
	return nil
}

// Intervals are standard errors and the ends of intervals, each a table.
type Intervals struct {
	Errors [][]float64 `json:"se"`
	Low    [][]float64 `json:"low"`
	High   [][]float64 `json:"high"`
}

// check returns an error unless the intervals, if any, are those of loadings of items on columns.
func (i *Intervals) check(items, columns int) error {
	wrong := func(table [][]float64) bool { return !shaped(table, items, columns) }
	if i != nil && slices.ContainsFunc(i.all(), wrong) {
		return fmt.Errorf("intervals do not match the loadings of %d items on %d columns", items, columns)
	}
	return nil
}

func (i *Intervals) all() [][][]float64 { return [][][]float64{i.Errors, i.Low, i.High} }

// ExplainedBy divides the variance of the answers about the items' means, in shares.
type ExplainedBy struct {
	// Explained is the share that factors and confounds explain together. ConfoundsAlone is what a linear regression on
	// the confounds explains, and AddedByFactors the difference of the two.
	Explained      float64 `json:"explained"`
	ConfoundsAlone float64 `json:"confounds_alone"`
	AddedByFactors float64 `json:"added_by_factors"`
	// Factors, Confounds and Means, the loss from missing the items' means, add up to Explained by their Share.
	Factors   []Share `json:"factors"`
	Confounds *Share  `json:"confounds,omitempty"` // nil without confounds
	Means     float64 `json:"means"`
	// CrossValidated is the same for participants and answers that the fit has not seen, nil unless requested.
	CrossValidated *ExplainedBy `json:"cross_validated,omitempty"`
}

// Share is what a factor explains: Alone, if all others were at their means; Lost, if only it were; and the mean.
type Share struct {
	Share float64 `json:"share"`
	Alone float64 `json:"alone"`
	Lost  float64 `json:"lost"`
}

// Scree is what parallel analysis and MAP compared: the eigenvalues of the correlations, the 95 % quantiles of those of
// random answers, and the mean squared partial correlation after 0, 1, 2 … components.
type Scree struct {
	Eigenvalues []float64 `json:"eigenvalues"`
	Reference   []float64 `json:"reference"`
	MAP         []float64 `json:"map"`
}

// check returns an error for values that no correlations have.
func (c *Scree) check() error {
	if c != nil && (len(c.Reference) != len(c.Eigenvalues) || slices.ContainsFunc(
		slices.Concat(c.Eigenvalues, c.Reference, c.MAP), func(v float64) bool { return math.Abs(v) > mostError })) {
		return errors.New("a scree that no correlations have")
	}
	return nil
}

// Residuals are correlations of items that the factors leave: of factor analysis, the correlations less those that the
// solution implies, otherwise the correlations of the answers less their reconstruction.
type Residuals struct {
	RootMeanSquare float64        `json:"root_mean_square"`
	Largest        []ResidualPair `json:"largest"`
}

// Careless are numbers of participants: whose answers have each sign of not having been read, and any of them.
type Careless struct {
	LongStrings  int `json:"long_strings"` // of equal answers
	Misfits      int `json:"misfits"`      // answers that the factors do not predict
	Duplicates   int `json:"duplicates"`   // of an earlier row
	Participants int `json:"participants"`
}

// ResidualPair is the residual correlation of two items.
type ResidualPair struct {
	First       string  `json:"first"`
	Second      string  `json:"second"`
	Correlation float64 `json:"correlation"`
}

// Choices returns the candidate with the lowest error, and the one with the fewest factors within its standard error.
func (s *Summary) Choices() (lowest, fewest solver.ErrorPoint) {
	less := func(a, b solver.ErrorPoint) int { return cmp.Compare(a.Error, b.Error) }
	of := slices.DeleteFunc(slices.Clone(s.BCV),
		func(p solver.ErrorPoint) bool { return p.Factors != s.OneStandardErrorFactors })
	return slices.MinFunc(s.BCV, less), slices.MinFunc(of, less)
}

// Curve draws the cross-validated error over the number of factors: a line for each β with standard errors, the
// choices, and the model, if not nil. There must be candidates.
func (s *Summary) Curve(width float64) *chart.Chart {
	c := &chart.Chart{
		Title: "Cross-validated error over the number of factors", Width: width, Height: 300,
		Left: 56, Right: 12, Top: 30, Bottom: 44,
	}
	points := slices.SortedStableFunc(slices.Values(s.BCV), func(a, b solver.ErrorPoint) int {
		return cmp.Or(cmp.Compare(a.Beta, b.Beta), cmp.Compare(a.Factors, b.Factors))
	})
	var all []chart.Series
	for i, p := range points {
		if i == 0 || p.Beta != points[i-1].Beta {
			all = append(all, chart.Series{Name: fmt.Sprintf("β = %v", p.Beta)})
		}
		line := &all[len(all)-1]
		line.Estimates = append(line.Estimates, chart.Estimate{
			X: float64(p.Factors), Y: p.Error, Low: p.Error - p.StandardError, High: p.Error + p.StandardError,
		})
	}
	keys := c.Plot("factors", "mean squared error of held-out answers", nil, all...)
	lowest, fewest := s.Choices()
	bound := lowest.Error + lowest.StandardError
	c.Line("limit", chart.At(c.X.From, bound), chart.At(c.X.To, bound))
	c.Mark("least", 0, chart.At(float64(lowest.Factors), lowest.Error), 7)
	c.Mark("least", 1, chart.At(float64(fewest.Factors), fewest.Error), 7)
	keys = append(keys, chart.Key{Text: "lowest error", Mark: "least"},
		chart.Key{Text: "one standard error", Mark: "least", Shape: 1},
		chart.Key{Text: "lowest + its standard error", Line: "limit"})
	for _, p := range points {
		if p.Factors == s.Factors && p.Beta == s.Beta {
			c.Dot("used", chart.At(float64(p.Factors), p.Error), 4)
			keys = append(keys, chart.Key{Text: "in use", Mark: "used"})
		}
	}
	c.Legend(keys...)
	return c
}
