package fit

import (
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/classifier"
	"github.com/wardcast/wardcast/classifier/elasticnet"
	"github.com/wardcast/wardcast/classifier/eval"
	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/internal/linalg"
	"github.com/wardcast/wardcast/internal/notes"
	"github.com/wardcast/wardcast/models"
	"github.com/wardcast/wardcast/solver"
	"github.com/wardcast/wardcast/textproc"
)

// Fitted is one trained model and what its training told.
type Fitted struct {
	classifier.Parts
	// OutOfFold holds for every row the calibrated probability from coefficients and a calibration that had not seen
	// it. The topics and the vocabulary had seen its text, never its label; λ and the threshold are chosen on all of
	// these probabilities together.
	OutOfFold []float64
	// Lambda is the penalty chosen, Features the number of coefficients that are not zero.
	Lambda   float64
	Features int
	// Solver tells how the topics were found; nil for a bag of words.
	Solver *solver.Result
	// Alignment tells how the topics got their order; nil without an earlier version.
	Alignment *Alignment
}

// Data is the notes that a model is trained on.
type Data struct {
	Rows   []notes.Row
	Aux    []notes.Aux // what the rows' auxiliary values are
	Pooled bool        // they are of several complaints: the complaint is an auxiliary feature
	// Previous is the version before, from which the topics take their numbers; nil for none.
	Previous *models.Bundle
}

// rows is data as the stages take it.
type rows struct {
	all     []notes.Row
	y       []bool
	visits  []string
	docs    []textproc.Document
	columns []models.AuxColumn
	values  [][]msg.Value // by auxiliary column, then row
}

func newRows(d Data, minVisits int) (*rows, error) {
	all := d.Rows
	r := &rows{all: all}
	for i := range all {
		r.y = append(r.y, all[i].Positive)
		r.visits = append(r.visits, visit(all, i))
		r.docs = append(r.docs, textproc.Document{Visit: r.visits[i], Text: all[i].Text})
	}
	add := func(name string, kind models.AuxKind, value func(i int) msg.Value) error {
		values := make([]msg.Value, len(all))
		for i := range values {
			values[i] = value(i)
		}
		column, err := classifier.NewAuxColumn(classifier.AuxValues{Name: name, Kind: kind, Values: values, Visits: r.visits, MinVisits: minVisits})
		r.columns, r.values = append(r.columns, column), append(r.values, values)
		return err
	}
	for a := range d.Aux {
		if err := add(d.Aux[a].Name, d.Aux[a].Kind, func(i int) msg.Value { return all[i].Aux[a] }); err != nil {
			return nil, err
		}
	}
	if d.Pooled {
		if err := add(models.ComplaintColumn, models.Categorical, func(i int) msg.Value { return classifier.Complaint(all[i].Complaint) }); err != nil {
			return nil, err
		}
		last := len(r.columns) - 1
		if len(r.columns[last].Levels) < 2 {
			r.columns, r.values = r.columns[:last], r.values[:last]
		}
	}
	return r, nil
}

// visit returns the visit of row i; a row without one is a visit of its own.
func visit(all []notes.Row, i int) string {
	if all[i].Visit != "" {
		return all[i].Visit
	}
	return fmt.Sprintf("row %d", i)
}

// auxFeatures returns the auxiliary features as they are penalized and the divisor of each. Numeric features
// are centred. Indicators are not, so that they stay sparse; intercept makes up for it.
func (r *rows) auxFeatures(unitVariance bool) (x *linalg.CSR, scale []float64, err error) {
	width := 0
	for i := range r.columns {
		width += len(r.columns[i].Mean)
	}
	scale = make([]float64, width)
	indptr, indices, values := []int{0}, []int32{}, []float64{}
	features := make([]float64, width)
	sums := make([]float64, width)
	for i := range r.all {
		at := 0
		for c := range r.columns {
			column := &r.columns[c]
			part := features[at : at+len(column.Mean)]
			classifier.FeaturesTo(part, column, r.values[c][i])
			for f, v := range part {
				sums[at+f] += v * v
				if column.Kind == models.Categorical {
					v += column.Mean[f] // 0 or 1 again, the mean where the value is missing
				}
				if v != 0 {
					indices, values = append(indices, int32(at+f)), append(values, v)
				}
			}
			at += len(column.Mean)
		}
		indptr = append(indptr, len(indices))
	}
	for f := range scale {
		scale[f] = 1
		if sd := math.Sqrt(sums[f] / float64(len(r.all))); unitVariance && sd > 0 {
			scale[f] = sd
		}
	}
	for e, f := range indices {
		values[e] /= scale[f]
	}
	x, err = linalg.NewCSR(len(r.all), width, indptr, indices, values)
	return x, scale, err
}

// text is the stage of a model that does not know the labels.
type text struct {
	vectorizer *textproc.Vectorizer
	x          *linalg.CSR // n×p
	topics     *mat.Dense  // p×k, nil without topics
	scores     *mat.Dense  // n×k
	solver     *solver.Result
	alignment  *Alignment
}

// vectorize is the first stage.
func vectorize(r *rows, s textproc.Settings) (*text, error) {
	v, x, err := textproc.Fit(r.docs, s)
	if err != nil {
		return nil, fmt.Errorf("preparing text: %w", err)
	}
	return &text{vectorizer: v, x: x}, nil
}

// head is the last stage: coefficients, calibration, threshold.
func head(ctx context.Context, r *rows, t *text, s *Settings) (*Fitted, error) {
	aux, scale, err := r.auxFeatures(!s.Standardize)
	if err != nil {
		return nil, fmt.Errorf("laying out auxiliary features: %w", err)
	}
	var parts []linalg.Operator
	k := 0
	if t.topics != nil {
		_, k = t.topics.Dims()
		parts = append(parts, linalg.Dense{Dense: t.scores})
	}
	p := 0
	if s.words() {
		p = t.x.P
		parts = append(parts, t.x)
	}
	design, err := elasticnet.NewDesign(append(parts, aux)...)
	if err != nil {
		return nil, fmt.Errorf("laying out features: %w", err)
	}
	folds, err := eval.StratifiedFolds(r.y, r.visits, s.Folds, s.Seed)
	if err != nil {
		return nil, fmt.Errorf("choosing folds: %w", err)
	}
	settings := elasticnet.Settings{Alpha: s.Alpha, Standardize: s.Standardize, Tolerance: headTolerance}
	if s.FreeAux {
		settings.PenaltyFactors = make([]float64, k+p+aux.P)
		for j := range k + p {
			settings.PenaltyFactors[j] = 1
		}
	}
	cv, err := elasticnet.CrossValidate(ctx, elasticnet.Problem{Design: design, Y: r.y}, folds, settings)
	if err != nil {
		return nil, fmt.Errorf("fitting coefficients: %w", err)
	}
	at := cv.IndexMin
	if s.OneSE {
		at = cv.Index1SE
	}
	f := &Fitted{Lambda: cv.Lambda[at], Features: cv.DF(at), Solver: t.solver, Alignment: t.alignment}
	beta := cv.Dense(at)
	f.Vectorizer, f.Topics, f.Aux = t.vectorizer, t.topics, r.columns
	if t.topics != nil {
		f.Prevalence = classifier.Prevalence(t.scores, t.topics)
	}
	h := classifier.Head{Beta: beta[:k], Gamma: beta[k+p:], Intercept: cv.Intercept[at]}
	if s.words() {
		h.Words = beta[k : k+p]
	}
	feature := 0
	for c := range r.columns {
		for _, mean := range r.columns[c].Mean {
			h.Gamma[feature] /= scale[feature]
			if r.columns[c].Kind == models.Categorical {
				h.Intercept += h.Gamma[feature] * mean // the scorer centres indicators
			}
			feature++
		}
	}
	f.Heads = []classifier.Head{h}
	logits := cv.OutOfFold(at)
	if f.Calibration, err = classifier.FitCalibration(s.Calibration, logits, r.y); err != nil {
		return nil, err
	}
	if f.OutOfFold, err = calibrated(s.Calibration, logits, r.y, folds); err != nil {
		return nil, err
	}
	if f.Threshold, err = eval.ChooseThreshold(r.y, f.OutOfFold, s.Threshold); err != nil {
		return nil, fmt.Errorf("choosing the threshold: %w", err)
	}
	return f, nil
}

// calibrated returns out-of-fold probabilities: the map for each fold is fitted on the logits of the others, so
// that it too has not seen the fold's outcomes.
func calibrated(kind models.CalibrationKind, logits []float64, y []bool, folds []int) ([]float64, error) {
	p := make([]float64, len(logits))
	for fold := range slices.Max(folds) + 1 {
		var others []float64
		var outcomes []bool
		for i, f := range folds {
			if f != fold {
				others, outcomes = append(others, logits[i]), append(outcomes, y[i])
			}
		}
		c, err := classifier.FitCalibration(kind, others, outcomes)
		if err != nil {
			return nil, err
		}
		for i, f := range folds {
			if f == fold {
				p[i] = classifier.Calibrate(&c, logits[i])
			}
		}
	}
	return p, nil
}

// headTolerance is ten times looser than glmnet's: enough for a penalty that cross-validation chooses.
const headTolerance = 1e-6

// Model trains one model.
func Model(ctx context.Context, d Data, s Settings) (*Fitted, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	r, err := newRows(d, s.Text.MinDF)
	if err != nil {
		return nil, err
	}
	t, err := vectorize(r, s.Text)
	if err != nil {
		return nil, err
	}
	if _, p := t.x.Dims(); d.Pooled && s.Method != BagOfWords && s.Rank > p {
		return nil, fmt.Errorf("%w: rank %d of a vocabulary of %d terms", ErrSettings, s.Rank, p)
	}
	if t, err = t.factorize(ctx, &s, d.Previous); err != nil {
		return nil, err
	}
	return head(ctx, r, t, &s)
}
