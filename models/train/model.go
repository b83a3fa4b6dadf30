package train

import (
	"context"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/classifier"
	"github.com/wardcast/wardcast/classifier/bundle"
	"github.com/wardcast/wardcast/classifier/elasticnet"
	"github.com/wardcast/wardcast/classifier/eval"
	"github.com/wardcast/wardcast/classifier/intake"
	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/internal/folds"
	"github.com/wardcast/wardcast/internal/lists"
	"github.com/wardcast/wardcast/models/rounds"
	"github.com/wardcast/wardcast/solver"
	"github.com/wardcast/wardcast/solver/linalg"
	"github.com/wardcast/wardcast/solver/smf"
	"github.com/wardcast/wardcast/textproc"
)

// Fitted is one trained model and the outcome of its training.
type Fitted struct {
	classifier.Parts
	// OutOfFold holds for every row the calibrated probability from coefficients and a calibration that had not seen
	// it, by a λ chosen without it, except with OneSE. Topics and vocabulary had seen its text, never its label; the
	// threshold is chosen on all rows.
	OutOfFold []float64
	// Probabilities holds the same for all classes, n×(κ+1), of which OutOfFold sums admission; nil for yes and no.
	Probabilities *mat.Dense
	// Supervised is the choice of supervised topics, nil for other methods. OutOfFold is from topics that had not seen
	// the row; ξ, ν and rank are chosen like λ.
	Supervised *smf.Choice
	// Lambda is the penalty chosen, Features the number of coefficients that are not zero; both 0 if Supervised is set.
	Lambda          float64
	Features        int
	SmallestPenalty bool           // the λ chosen is the smallest of the path: a smaller one might be better
	Solver          *solver.Result // how the topics were found; nil for a bag of words
	Alignment       *Alignment     // how the topics got their order; nil without an earlier version
	Parent          string         // the version before, "" without one

	plain   bool      // see choose
	logOdds []float64 // out of fold, for yes and no; nil if Supervised is set
	// correction is the number of coefficients that differ from the model of all complaints; nil if it corrects none.
	correction *int
}

// Row is one labelled note.
type Row struct {
	Patient   string // "" if unknown: the visit then stands for the patient
	Visit     string // "" makes the row a visit of its own
	Complaint string
	Site      string // "" if unknown; defines subgroups and predicts nothing
	Text      string
	Arrived   time.Time   // zero if unknown
	Positive  bool        // admitted
	Aux       []msg.Value // in the order of Data.Aux
	Class     int         // index into Data.Classes, if there are any
}

// Aux is an auxiliary feature of the notes.
type Aux struct {
	Name string // of the field in a note
	Kind bundle.AuxKind
}

// Data is the notes that a model is trained on.
type Data struct {
	Rows   []Row
	Aux    []Aux          // names and kinds of the rows' auxiliary values
	Intake *intake.Intake // what models read the rows by, as scorers do; nil is intake.Standard. See Clean.
	Pooled bool           // the rows have several complaints, and the complaint is an auxiliary feature
	// Classes names the rows' classes, the reference first, Admission those that count as admitted; nil for yes and no.
	Classes   []string
	Admission []bool
	// Latest, unless it is zero, makes the patients who came then or later a part of cross-validation of their own:
	// their out-of-fold predictions have coefficients from the earlier notes; vocabulary, topics, penalty, calibration
	// and threshold are from all. A complaint with too few earlier notes has ordinary folds. See HoldLatest.
	Latest   time.Time
	Previous *bundle.Bundle // the version before, from which the topics take their order; nil for none
	// Rounds, unless it is nil, has shards count the vocabulary of the pooled notes, find their topics (those of a
	// sample are found here) and fit the coefficients of many.
	Rounds   *rounds.Coordinator
	progress Progress // reports the runs of a cross-validation; may be nil
}

func (d Data) subset(at []int) Data {
	d.Rows = lists.Take(d.Rows, at)
	return d
}

// Clean changes the auxiliary values of the rows by Intake: implausible numbers become missing, and a level has one
// spelling. It returns the number of changed numbers by column, if any. A missing age or sex is then that of the text,
// which is read by the given settings: those of the models.
func (d *Data) Clean(text textproc.Settings) map[string]int {
	if d.Intake == nil {
		d.Intake = intake.Standard()
	}
	implausible, values := map[string]int{}, make([]*msg.Value, len(d.Rows))
	for a, aux := range d.Aux {
		for i := range d.Rows {
			values[i] = &d.Rows[i].Aux[a]
		}
		if n := d.Intake.Clean(aux.Name, aux.Kind, values); n > 0 {
			implausible[aux.Name] = n
		}
		d.fill(aux, values, text)
	}
	return implausible
}

// besides makes no terms of what the columns hold: it would count twice.
func besides(t *textproc.Settings, columns ...Aux) {
	t.AgeColumn = slices.Contains(columns, Aux{bundle.AgeColumn, bundle.Numeric})
	t.SexColumn = slices.Contains(columns, Aux{bundle.SexColumn, bundle.Categorical})
}

// fill sets missing ages or sexes to those of the texts, as a scorer does.
func (d *Data) fill(aux Aux, values []*msg.Value, text textproc.Settings) {
	if besides(&text, aux); !text.AgeColumn && !text.SexColumn {
		return
	}
	text.NGrams, text.MinDF = 1, 1 // may still be 0, and reading asks for neither
	reader, err := textproc.Reader(text)
	if err != nil {
		return
	}
	for i, v := range values {
		if *v == (msg.Value{}) {
			reader.Tokens(d.Rows[i].Text)
			*v = classifier.Said(reader, aux.Name)
		}
	}
	d.Intake.Clean(aux.Name, aux.Kind, values)
}

// coefficients are what a head's fit returns.
type coefficients struct {
	vectorizer *textproc.Vectorizer // with its pieces of words
	columns
	scale             []float64 // divisor of each auxiliary feature
	beta              []float64 // of the features as they are penalized
	intercept, lambda float64
	smallest          bool      // no smaller λ was tried
	outOfFold         []float64 // log-odds
}

// head is the last stage: coefficients, calibration, threshold.
func head(ctx context.Context, r *rows, t *text, s *Settings) (*Fitted, error) {
	if !slices.Contains(r.y, !r.y[0]) {
		return nil, fmt.Errorf("%w: of %d rows", eval.ErrOneClass, len(r.y))
	}
	foldOf, err := r.folds(s)
	if err != nil {
		return nil, err
	}
	fit := fitDesign
	if t.many {
		fit = fitProduct
	}
	c, err := fit(ctx, r, t, s, foldOf)
	if err != nil {
		return nil, err
	}
	f := &Fitted{
		Lambda: c.lambda, Features: nonzero(c.beta), SmallestPenalty: c.smallest, Solver: t.solver,
		Alignment: t.alignment, plain: t.plain,
	}
	f.Vectorizer, f.Topics, f.Aux = c.vectorizer, t.topics, r.columns
	if t.topics != nil {
		f.Prevalence = classifier.Prevalence(t.scores, t.topics)
	}
	h := classifier.Head{Beta: c.beta[:c.topics], Gamma: c.beta[c.topics+c.words+c.pieces:], Intercept: c.intercept}
	if s.words() {
		h.Words = c.beta[c.topics : c.topics+c.words]
	}
	if c.pieces > 0 {
		h.Grams = c.beta[c.topics+c.words : c.topics+c.words+c.pieces]
	}
	floats.Div(h.Gamma, c.scale)
	h.Intercept = r.centred(h.Intercept, h.Gamma)
	f.logOdds = c.outOfFold
	f.Heads = []classifier.Head{h}
	return f, f.calibrate(r, mat.NewDense(len(r.y), 1, c.outOfFold), foldOf, s)
}

func nonzero(values []float64) int {
	return floats.Count(func(v float64) bool { return v != 0 }, values)
}

func fitDesign(ctx context.Context, r *rows, t *text, s *Settings, foldOf []int) (*coefficients, error) {
	aux, scale, err := r.auxFeatures(!s.Standardize)
	if err != nil {
		return nil, fmt.Errorf("laying out auxiliary features: %w", err)
	}
	c := &coefficients{vectorizer: t.vectorizer, columns: columns{aux: r.width}, scale: scale}
	var parts []mat.Matrix
	if t.topics != nil {
		_, c.topics = t.topics.Dims()
		parts = append(parts, t.scores)
	}
	if s.words() {
		c.take(t)
		parts = append(parts, t.x)
	}
	if s.words() && s.Pieces {
		if c.vectorizer, _, err = t.vectorizer.LearnPieces(r.docs); err != nil {
			return nil, fmt.Errorf("taking words to pieces: %w", err)
		}
		pieces := c.vectorizer.TransformPieces(r.texts())
		if _, c.pieces = pieces.Dims(); c.pieces > 0 {
			parts = append(parts, pieces)
		}
	}
	cv, at, err := s.fitPath(ctx, r, append(parts, aux), c.columns, nil, foldOf)
	if err != nil {
		return nil, err
	}
	c.beta, c.intercept, c.lambda, c.smallest, c.outOfFold = cv.Dense(at), cv.Intercept[at], cv.Lambda[at],
		!cv.Turned(), s.heldOut(cv)
	return c, nil
}

// fitPath fits the coefficients of parts of features, and returns the index of the λ chosen.
func (s *Settings) fitPath(ctx context.Context, r *rows, parts []mat.Matrix, c columns, offset []float64,
	foldOf []int,
) (cv *elasticnet.CV, at int, err error) {
	design, err := elasticnet.NewDesign(parts...)
	if err != nil {
		return nil, 0, fmt.Errorf("laying out features: %w", err)
	}
	problem := elasticnet.Problem{Design: design, Y: r.y, Offset: offset}
	cv, err = elasticnet.CrossValidate(ctx, problem, foldOf, s.path(c))
	switch {
	case err != nil:
		return nil, 0, fmt.Errorf("fitting coefficients: %w", err)
	case s.OneSE:
		return cv, cv.Index1SE, nil
	}
	return cv, cv.IndexMin, nil
}

// heldOut returns the log-odds of each row from coefficients that it had no part in.
func (s *Settings) heldOut(cv *elasticnet.CV) []float64 {
	if s.OneSE {
		return cv.OutOfFold(cv.Index1SE)
	}
	return cv.CrossFitted()
}

// calibrate sets calibration, out-of-fold probabilities and threshold by out-of-fold log-odds, n×κ.
func (f *Fitted) calibrate(r *rows, logOdds *mat.Dense, foldOf []int, s *Settings) error {
	f.Classes, f.Admission = r.names, r.beds
	fit := func(logOdds *mat.Dense, classes []int) (bundle.Calibration, error) {
		c, err := classifier.FitClasses(s.Calibration, logOdds, classes)
		if err == nil && f.correction != nil {
			c = needed(c, logOdds, classes)
		}
		return c, err
	}
	var err error
	if f.Calibration, err = fit(logOdds, r.classes); err != nil {
		return err
	}
	p, err := calibrated(fit, logOdds, r.classes, foldOf)
	if err != nil {
		return err
	}
	if f.Classes == nil {
		f.OutOfFold = mat.Col(nil, 1, p)
	} else {
		f.Probabilities = p
		for i := range r.all {
			f.OutOfFold = append(f.OutOfFold, admission(p.RawRowView(i), f.Admission))
		}
	}
	if f.Threshold, err = eval.ChooseThreshold(r.y, f.OutOfFold, s.Threshold); err != nil {
		return fmt.Errorf("choosing the threshold: %w", err)
	}
	return nil
}

func admission(p []float64, admitted []bool) float64 {
	var sum float64
	for c, v := range p {
		if admitted[c] {
			sum += v
		}
	}
	return min(sum, 1)
}

// calibrated returns out-of-fold probabilities of all classes: the map for each fold is fitted on the log-odds of the
// others, so that it too has not seen the fold's outcomes.
func calibrated(fit func(logOdds *mat.Dense, classes []int) (bundle.Calibration, error), logOdds *mat.Dense,
	classes, foldOf []int,
) (*mat.Dense, error) {
	n, kappa := logOdds.Dims()
	p := mat.NewDense(n, kappa+1, nil)
	var parts errgroup.Group
	for fold := range slices.Max(foldOf) + 1 {
		parts.Go(func() error {
			others, held := folds.Split(foldOf, fold)
			c, err := fit(linalg.SelectRows(logOdds, others), lists.Take(classes, others))
			if err != nil {
				return err
			}
			for _, i := range held {
				classifier.CalibrateTo(p.RawRowView(i), &c, logOdds.RawRowView(i))
			}
			return nil
		})
	}
	return p, parts.Wait()
}

// columns is the numbers of topics, words, pieces and auxiliary features, which lie in this order in a design.
type columns struct {
	topics, words, pieces, aux int
	plain                      bool   // see choose
	denied, style              []bool // which of the words are denied findings, or no findings
}

func (c *columns) all() int { return c.topics + c.words + c.pieces + c.aux }

// take counts the words of t.
func (c *columns) take(t *text) {
	c.words, c.plain = len(t.vectorizer.Vocabulary()), t.plain
	if !t.plain {
		c.denied, c.style = t.vectorizer.Denied(), t.vectorizer.Style()
	}
}

// styleFactor multiplies the penalty of words that are no finding, so that a model leans on what happened and not on
// how somebody writes. With 5 their sum is among the three largest parts of explanations in 2.7 % of the places on two
// public sets.
const styleFactor = 5

// path returns the settings of the head's path. What a note denies has no positive coefficient: it would come from few
// notes, and nobody believes an explanation by which "no fever" raises the risk.
func (s *Settings) path(c columns) elasticnet.Settings {
	path := elasticnet.Settings{
		Alpha: s.Alpha, Standardize: s.Standardize, Tolerance: headTolerance, NLambda: headLambdas, Turn: true,
		ByRatio: make([]bool, c.all()), NotPositive: make([]bool, c.all()),
	}
	for j := range c.words + c.pieces {
		path.ByRatio[c.topics+j] = !c.plain
	}
	copy(path.NotPositive[c.topics:], c.denied)
	path.PenaltyFactors = slices.Repeat([]float64{1}, c.all())
	for j, style := range c.style {
		if style {
			path.PenaltyFactors[c.topics+j] = styleFactor
		}
	}
	if s.FreeAux {
		clear(path.PenaltyFactors[c.all()-c.aux:])
	}
	return path
}

// headLambdas is half of glmnet's number of λ between the largest and its ten-thousandth part: neighbours differ by a
// sixth, and their held-out deviances by less than their standard error.
const headLambdas = 50

const headTolerance = 1e-6 // ten times looser than glmnet's: enough for a penalty that cross-validation chooses

// Fit trains one model.
func Fit(ctx context.Context, d Data, s Settings) (*Fitted, error) {
	s.Text.MinDF, s.Text.MinCommon = s.minDF(len(d.Rows))
	if err := s.Check(len(d.Classes)); err != nil {
		return nil, err
	}
	r := newRows(d)
	t, err := readTexts(ctx, r, s)
	if err != nil {
		return nil, err
	}
	if _, p := t.x.Dims(); d.Pooled && s.Method != BagOfWords && slices.Max(s.ranks()) > p {
		return nil, fmt.Errorf("%w: rank %d is more than the vocabulary has: the notes have only %d words that at "+
			"least %d patients share; look whether this is the right text column, or give a lower --rank",
			ErrSettings, slices.Max(s.ranks()), p, s.Text.MinDF)
	}
	if s.Method.Supervised() {
		return supervise(ctx, r, t, &s, &d)
	}
	if t, err = t.factorize(ctx, &s, d.Previous); err != nil {
		return nil, err
	}
	return head(ctx, r, t, &s)
}
