package questionnaire

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/wardcast/wardcast/classifier/elasticnet"
	"github.com/wardcast/wardcast/classifier/eval"
	"github.com/wardcast/wardcast/internal/linalg"
	"github.com/wardcast/wardcast/solver"
	"github.com/wardcast/wardcast/solver/align"
	"github.com/wardcast/wardcast/solver/factoranalysis"
	"github.com/wardcast/wardcast/solver/icqf"
	"github.com/wardcast/wardcast/solver/nmf"
)

// The methods that Evaluate compares.
const (
	MethodICQF = "icqf"
	// MethodFA is minimum residual factor analysis with promax and regression scores. It knows nothing of confounds.
	MethodFA = "fa-promax"
	// MethodL1 is the non-negative factorization with ℓ1 penalties, weights from the scale of the answers, each missing one
	// the mean of its item; scores of the answers alone. It knows nothing of confounds either.
	MethodL1 = "l1-nmf"
)

// Methods are those that Evaluate compares.
func Methods() []string { return []string{MethodICQF, MethodFA, MethodL1} }

const (
	// leastTrained is the least number of participants that Evaluate learns from: of one no item varies.
	leastTrained = 2
	// heldOut is the share of the participants that each repeat holds out.
	heldOut = 0.2
	// ridgeFolds is the number of folds that choose the penalty of the logistic regression within the training part.
	ridgeFolds = 5
)

// TrainShares are the shares of all participants that Evaluate trains on.
func TrainShares() []float64 { return []float64{0.2, 0.4, 0.6, 0.8} }

// EvaluateOptions says what to evaluate.
type EvaluateOptions struct {
	Options
	// Methods are those to compare; none means MethodICQF.
	Methods []string
	// Repeats is the number of splits; 0 means DefaultRepeats.
	Repeats int
}

// DefaultRepeats is the number of splits of the participants that Evaluate takes the mean over.
const DefaultRepeats = 10

// Evaluation is the outcome of Evaluate.
type Evaluation struct {
	Items        []string `json:"items"` // names, in the order of the file
	Factors      int      `json:"factors"`
	Beta         float64  `json:"beta"`
	Participants int      `json:"participants"`
	Repeats      int      `json:"repeats"`
	HeldOut      float64  `json:"held_out"`
	Labels       []string `json:"labels"`
	Shares       []Share  `json:"shares"`
	// Unconverged counts the fits that ended at MaxIter, those of the cross-validation and to all participants too.
	Unconverged int `json:"unconverged"`
}

// Share is the outcome of a method that was trained on a share of the participants.
type Share struct {
	Method       string    `json:"method"`
	Share        float64   `json:"train_share"`
	Participants int       `json:"participants"`
	Stability    Measure   `json:"stability"`
	AUROC        []Measure `json:"auroc"` // in the order of the labels
	// ItemsLeftOut are those that in some repeat did not vary among the participants trained on.
	ItemsLeftOut []string `json:"items_left_out"`
	Unconverged  int      `json:"unconverged"` // fits that ended at MaxIter
}

// Measure is a mean with the standard deviation about it.
type Measure struct {
	Count     int     `json:"count"`              // of values where it is defined
	Mean      float64 `json:"mean"`               // null for none
	Deviation float64 `json:"standard_deviation"` // null for less than two
}

// MarshalJSON writes null for what so many values do not define.
func (m Measure) MarshalJSON() ([]byte, error) {
	var out struct {
		Count     int      `json:"count"`
		Mean      *float64 `json:"mean"`
		Deviation *float64 `json:"standard_deviation"`
	}
	if out.Count = m.Count; m.Count > 0 {
		out.Mean = &m.Mean
	}
	if m.Count > 1 {
		out.Deviation = &m.Deviation
	}
	return json.Marshal(out)
}

func measure(values []float64) Measure {
	m := Measure{Count: len(values)}
	if len(values) > 0 {
		m.Mean = stat.Mean(values, nil)
	}
	if len(values) > 1 {
		m.Deviation = stat.StdDev(values, nil)
	}
	return m
}

// learnt is a method that was trained.
type learnt struct {
	rows, items []int      // that it was trained on
	loadings    *mat.Dense // a row for each of the items
	early       bool       // it ended before it converged
	score       func(rows []int) (*mat.Dense, error)
}

// Evaluate holds a fifth of the participants out, again and again, learns factors from shares of the others, and tells
//
//   - for each label the area under the receiver operating characteristic of a ridge logistic regression of the label on the
//     scores, trained with balanced weights on those whom the factors were learnt from, its penalty chosen by
//     cross-validation among them, measured on those held out;
//   - the stability: the correlation over the items of each factor's loadings with those learnt from all participants, best
//     match for best match (Lam et al., sections 4.2.4 and 4.2.5), over all factors and repeats.
//
// Several candidates for factors and β are chosen from once, by cross-validation on all participants. Scores of training and
// held-out participants come from the loadings alone, in the same way.
//
// An item that does not vary among those trained on is left out there as if it were not in the file, of the stability too; a
// participant who answered nothing else then counts neither in training nor among those held out.
//
// The smallest share must have two participants, and as many as there are factors; default candidates beyond are not tried.
func Evaluate(ctx context.Context, o EvaluateOptions) (*Evaluation, error) {
	if err := o.checkEvaluation(); err != nil {
		return nil, err
	}
	free := len(o.Factors) == 0
	s, err := o.begin()
	if err != nil {
		return nil, err
	}
	if err := o.checkShares(s, free); err != nil {
		return nil, err
	}
	e := &Evaluation{Items: namesOf(s.Items), Factors: o.Factors[0], Beta: o.Betas[0], Participants: len(s.IDs), Repeats: o.Repeats, HeldOut: heldOut, Labels: []string{}}
	if len(o.Factors)*len(o.Betas) > 1 {
		choice, err := o.choose(ctx, s)
		if err != nil {
			return nil, err
		}
		e.Factors, e.Beta, e.Unconverged = choice.Lowest.Factors, choice.Lowest.Beta, choice.Unconverged
	}
	for _, label := range o.Columns.Labels {
		e.Labels = append(e.Labels, label.Name)
	}
	total := len(o.Methods) * (1 + o.Repeats*len(TrainShares()))
	done := 0
	step := func(m *learnt) {
		if m.early {
			e.Unconverged++
		}
		if done++; o.Progress != nil {
			o.Progress(done, total)
		}
	}
	wholes := make([]*learnt, len(o.Methods)) // first, so that a method that cannot learn says so before hours of others
	for i, method := range o.Methods {
		if wholes[i], err = o.learn(ctx, s, method, s.order, e); err != nil {
			return nil, fmt.Errorf("evaluating %s on all participants: %w", method, err)
		}
		step(wholes[i])
	}
	for i, method := range o.Methods {
		for _, share := range TrainShares() {
			result, err := o.share(ctx, s, wholes[i], e, method, share, step)
			if err != nil {
				return nil, fmt.Errorf("evaluating %s on %.0f %% of the participants, %w", method, 100*share, err)
			}
			e.Shares = append(e.Shares, *result)
		}
	}
	return e, nil
}

// checkEvaluation fills in the defaults.
func (o *EvaluateOptions) checkEvaluation() error {
	if len(o.Methods) == 0 {
		o.Methods = []string{MethodICQF}
	}
	if o.Repeats == 0 {
		o.Repeats = DefaultRepeats
	}
	for i, m := range o.Methods {
		if !slices.Contains(Methods(), m) {
			return fmt.Errorf("%w: method %q is none of %s", ErrOptions, m, strings.Join(Methods(), ", "))
		}
		if slices.Contains(o.Methods[:i], m) {
			return fmt.Errorf("%w: method %q is given twice", ErrOptions, m)
		}
	}
	switch {
	case o.Repeats < 1:
		return fmt.Errorf("%w: %d repeats", ErrOptions, o.Repeats)
	case o.Columns.Visits != nil && len(o.Columns.Labels) > 0:
		return fmt.Errorf("%w: labels of participants with several visits", ErrOptions)
	}
	return nil
}

// checkShares returns an error for a label of one class and for too few participants. Candidates for the number of factors
// that are free end where the smallest share has no room for more.
func (o *EvaluateOptions) checkShares(s *study, free bool) error {
	for l, label := range o.Columns.Labels {
		if !slices.Contains(s.labels[l], 0) || !slices.Contains(s.labels[l], 1) {
			return &Error{File: s.File, Column: label.Name, Err: fmt.Errorf("%w (positive is %q)", ErrOneClass, label.Positive)}
		}
	}
	share, n := TrainShares()[0], len(s.IDs)
	fewest, _ := parts(share, n)
	if free {
		o.Factors = slices.DeleteFunc(o.Factors, func(k int) bool { return k > max(1, fewest) })
	}
	if wanted := max(leastTrained, slices.Max(o.Factors)); fewest < wanted {
		return fmt.Errorf("%w: %q: %.0f %% of %d participants are %d, too few to learn %d factors from: at least %d are wanted",
			ErrOptions, s.File, 100*share, n, fewest, slices.Max(o.Factors), wanted)
	}
	return nil
}

// parts returns how many of n participants are trained on and held out.
func parts(share float64, n int) (train, held int) {
	held = int(math.Round(heldOut * float64(n)))
	return min(int(math.Round(share*float64(n))), n-held), held
}

// share evaluates a method that learns from this share of the participants. Its errors begin with the repeat.
func (o *EvaluateOptions) share(ctx context.Context, s *study, whole *learnt, e *Evaluation, method string, share float64, step func(*learnt)) (*Share, error) {
	n := len(s.order)
	train, held := parts(share, n)
	r := &Share{Method: method, Share: share, Participants: train, AUROC: []Measure{}, ItemsLeftOut: []string{}}
	var stability []float64
	areas, constant := make([][]float64, len(e.Labels)), make([]bool, len(s.Items))
	for repeat := range o.Repeats {
		// Equal repeats hold the same participants out whatever the share and method, and smaller shares lie within larger
		// ones.
		shuffled := slices.Clone(s.order)
		rand.New(rand.NewPCG(o.Seed, uint64(repeat))).Shuffle(n, func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		test, rows := shuffled[:held], shuffled[held:held+train]
		part, err := o.learn(ctx, s, method, rows, e)
		if err != nil {
			return nil, fmt.Errorf("repeat %d: %w", repeat+1, err)
		}
		if part.early {
			r.Unconverged++
		}
		for j := range constant {
			constant[j] = constant[j] || !slices.Contains(part.items, j)
		}
		stability = append(stability, matched(linalg.SelectRows(whole.loadings, part.items), part.loadings)...)
		for l, label := range e.Labels {
			area, ok, err := o.predict(ctx, part, s.labels[l], s.answering(test, part.items))
			if err != nil {
				return nil, fmt.Errorf("repeat %d, label %q: %w", repeat+1, label, err)
			}
			if ok {
				areas[l] = append(areas[l], area)
			}
		}
		step(part)
	}
	r.Stability = measure(stability)
	for _, a := range areas {
		r.AUROC = append(r.AUROC, measure(a))
	}
	for j, out := range constant {
		if out {
			r.ItemsLeftOut = append(r.ItemsLeftOut, s.Items[j].Name)
		}
	}
	return r, nil
}

// learn trains a method on these rows, by the items that vary among them.
func (o *EvaluateOptions) learn(ctx context.Context, s *study, method string, rows []int, e *Evaluation) (*learnt, error) {
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	m := &learnt{items: s.varying(rows)}
	m.rows = s.answering(rows, m.items)
	status, err := solver.NotTerminated, error(nil)
	switch {
	case len(m.items) < e.Factors:
		err = fmt.Errorf("%w: %d factors of %d items", ErrOptions, e.Factors, len(m.items))
	case method == MethodL1:
		status, err = o.learnL1(ctx, s, m, e.Factors)
	case method == MethodFA:
		err = o.learnFA(s, m, e.Factors)
	default:
		status, err = o.learnICQF(ctx, s, m, e)
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w%s", err, s.without(m.items))
	case status == solver.Cancelled:
		return nil, context.Cause(ctx)
	case status == solver.NonFinite:
		return nil, status.Err()
	}
	m.early = m.early || status.Early()
	return m, nil
}

func (o *EvaluateOptions) learnICQF(ctx context.Context, s *study, m *learnt, e *Evaluation) (solver.Status, error) {
	data := s.data(m.rows)
	data.Answers = pickColumns(data.Answers, m.items)
	r, err := icqf.Fit(ctx, data, o.settings(s, e.Factors, e.Beta))
	if err != nil {
		return solver.NotTerminated, err
	}
	m.loadings = r.Loadings
	m.score = func(rows []int) (*mat.Dense, error) {
		return r.Score(s.answersOf(rows, m.items), linalg.SelectRows(s.known, rows))
	}
	return r.Status, nil
}

func (o *EvaluateOptions) learnFA(s *study, m *learnt, factors int) error {
	f, err := factoranalysis.Fit(s.answersOf(m.rows, m.items), factoranalysis.Settings{Factors: factors, Threads: o.Threads})
	if err != nil {
		return err
	}
	m.loadings, m.early = f.Loadings, !f.Converged
	m.score = func(rows []int) (*mat.Dense, error) { return f.Scores(s.answersOf(rows, m.items)) }
	return nil
}

// learnL1 trains the non-negative factorization with ℓ1 penalties.
func (o *EvaluateOptions) learnL1(ctx context.Context, s *study, m *learnt, factors int) (solver.Status, error) {
	method, err := nmf.NewL1(nmf.Auto, nmf.Auto)
	if err != nil {
		return solver.NotTerminated, err
	}
	answers := s.answersOf(m.rows, m.items)
	x := filled(answers, columnMeans(answers))
	r, err := solver.Solve(ctx, x, solver.Settings{Rank: factors, MaxIter: o.MaxIter, RelTol: solver.TolOrOff(o.RelTol), Seed: o.Seed, Threads: o.Threads}, method)
	if err != nil {
		return solver.NotTerminated, err
	}
	// A scorer whose unit is far above every score of the training does what one without upper bound does.
	const far = 100
	unit := max(1, far*mat.Max(r.Scores))
	_, weight := method.Weights(x, factors)
	scorer := icqf.Model{Loadings: &mat.Dense{}, L1: weight * unit, Threads: o.Threads}
	scorer.Loadings.Scale(unit, r.Topics)
	m.loadings = r.Topics
	m.score = func(rows []int) (*mat.Dense, error) { return scorer.Score(s.answersOf(rows, m.items), nil) }
	return r.Status, nil
}

// matched returns the correlations of each factor's loadings with those of its best match, where both vary.
func matched(whole, part *mat.Dense) []float64 {
	_, cosines := align.Topics(centred(whole), centred(part))
	return cosines
}

// centred returns the matrix less the means of its columns: the cosine of two of them is their correlation.
func centred(a *mat.Dense) *mat.Dense { return shifted(a, columnMeans(a)) }

// predict returns the area under the curve on the test rows; ok is false where those trained on are too few of a class, or
// the test rows are of one class.
func (o *EvaluateOptions) predict(ctx context.Context, m *learnt, labels []int8, test []int) (area float64, ok bool, err error) {
	known := func(rows []int) (kept []int, y []bool, positive int) {
		for _, i := range rows {
			if labels[i] != unknown {
				kept, y = append(kept, i), append(y, labels[i] == 1)
				positive += int(labels[i])
			}
		}
		return kept, y, positive
	}
	trainRows, y, positive := known(m.rows)
	testRows, truth, testPositive := known(test)
	if min(positive, len(y)-positive) < ridgeFolds || testPositive == 0 || testPositive == len(truth) {
		return 0, false, nil
	}
	design := func(rows []int) (*elasticnet.Design, error) {
		scores, err := m.score(rows)
		if err != nil {
			return nil, err
		}
		return elasticnet.NewDesign(scores)
	}
	x, err := design(trainRows)
	if err != nil {
		return 0, false, err
	}
	weights := make([]float64, len(y))
	for i, v := range y {
		weights[i] = 1 / float64(positive)
		if !v {
			weights[i] = 1 / float64(len(y)-positive)
		}
	}
	folds, err := eval.StratifiedFolds(y, nil, ridgeFolds, o.Seed)
	if err != nil {
		return 0, false, err
	}
	ridge := elasticnet.Settings{Alpha: 0, Standardize: true, Threads: o.Threads}
	cv, err := elasticnet.CrossValidate(ctx, elasticnet.Problem{Design: x, Y: y, Weights: weights}, folds, ridge)
	if err != nil {
		return 0, false, err
	}
	newcomers, err := design(testRows)
	if err != nil {
		return 0, false, err
	}
	area, _, err = eval.AUROC(truth, probabilities(cv.LinearPredictor(newcomers, cv.IndexMin)), nil)
	if errors.Is(err, eval.ErrOneClass) {
		return 0, false, nil
	}
	return area, err == nil, err
}

// probabilities turns log-odds into probabilities.
func probabilities(logits []float64) []float64 {
	for i, z := range logits {
		logits[i] = 1 / (1 + math.Exp(-z))
	}
	return logits
}
