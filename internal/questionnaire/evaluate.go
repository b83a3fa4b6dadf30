package questionnaire

import (
	"context"
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
	Remarks      `json:"-"`
}

// Share is the outcome of a method that was trained on a share of the participants.
type Share struct {
	Method       string    `json:"method"`
	Share        float64   `json:"train_share"`
	Participants int       `json:"participants"`
	Stability    Measure   `json:"stability"`
	AUROC        []Measure `json:"auroc"` // in the order of the labels
}

// Measure is a mean with the standard deviation about it.
type Measure struct {
	Count     int     `json:"count"` // of values where it is defined
	Mean      float64 `json:"mean"`
	Deviation float64 `json:"standard_deviation"`
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
	loadings *mat.Dense // p×k
	score    func(rows []int) (*mat.Dense, error)
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
func Evaluate(ctx context.Context, o EvaluateOptions) (*Evaluation, error) {
	if len(o.Methods) == 0 {
		o.Methods = []string{MethodICQF}
	}
	if o.Repeats == 0 {
		o.Repeats = DefaultRepeats
	}
	for _, m := range o.Methods {
		if !slices.Contains(Methods(), m) {
			return nil, fmt.Errorf("%w: method %q is none of %s", ErrOptions, m, strings.Join(Methods(), ", "))
		}
	}
	if o.Repeats < 1 {
		return nil, fmt.Errorf("%w: %d repeats", ErrOptions, o.Repeats)
	}
	s, end, err := o.begin()
	if err != nil {
		return nil, err
	}
	defer end()
	for l, label := range o.Columns.Labels {
		if !slices.Contains(s.labels[l], 0) || !slices.Contains(s.labels[l], 1) {
			return nil, &Error{File: s.File, Column: label.Name, Err: fmt.Errorf("%w (positive is %q)", ErrOneClass, label.Positive)}
		}
	}
	e := &Evaluation{Items: namesOf(s.Items), Factors: o.Factors[0], Beta: o.Betas[0], Participants: len(s.IDs), Repeats: o.Repeats, HeldOut: heldOut, Labels: []string{}, Remarks: s.Remarks}
	if len(o.Factors)*len(o.Betas) > 1 {
		choice, err := o.choose(ctx, s)
		if err != nil {
			return nil, err
		}
		e.Factors, e.Beta = choice.Lowest.Factors, choice.Lowest.Beta
	}
	for _, label := range o.Columns.Labels {
		e.Labels = append(e.Labels, label.Name)
	}
	total := len(o.Methods) * (1 + o.Repeats*len(TrainShares()))
	done := 0
	step := func() {
		if done++; o.Progress != nil {
			o.Progress(done, total)
		}
	}
	for _, method := range o.Methods {
		whole, err := o.learn(ctx, s, method, s.order, e)
		if err != nil {
			return nil, err
		}
		step()
		for _, share := range TrainShares() {
			result, err := o.share(ctx, s, whole, e, method, share, step)
			if err != nil {
				return nil, fmt.Errorf("evaluating %s on %v of the participants: %w", method, share, err)
			}
			e.Shares = append(e.Shares, *result)
		}
	}
	return e, nil
}

// share evaluates a method that learns from this share of the participants.
func (o *EvaluateOptions) share(ctx context.Context, s *study, whole *learnt, e *Evaluation, method string, share float64, step func()) (*Share, error) {
	n := len(s.order)
	train := int(math.Round(share * float64(n)))
	held := int(math.Round(heldOut * float64(n)))
	r := &Share{Method: method, Share: share, Participants: min(train, n-held)}
	if r.Participants < 1 || held < 1 {
		return nil, fmt.Errorf("%w: of %d participants %d would be learnt from and %d held out", ErrOptions, n, r.Participants, held)
	}
	var stability []float64
	areas := make([][]float64, len(e.Labels))
	for repeat := range o.Repeats {
		// Equal repeats hold the same participants out whatever the share and method, and smaller shares lie within larger
		// ones.
		shuffled := slices.Clone(s.order)
		rand.New(rand.NewPCG(o.Seed, uint64(repeat))).Shuffle(n, func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		test, rows := shuffled[:held], shuffled[held:held+r.Participants]
		part, err := o.learn(ctx, s, method, rows, e)
		if err != nil {
			return nil, err
		}
		stability = append(stability, matched(whole.loadings, part.loadings)...)
		for l := range e.Labels {
			area, ok, err := o.predict(ctx, part, s.labels[l], rows, test)
			if err != nil {
				return nil, err
			}
			if ok {
				areas[l] = append(areas[l], area)
			}
		}
		step()
	}
	r.Stability, r.AUROC = measure(stability), []Measure{}
	for _, a := range areas {
		r.AUROC = append(r.AUROC, measure(a))
	}
	return r, nil
}

// learn trains a method on these rows.
func (o *EvaluateOptions) learn(ctx context.Context, s *study, method string, rows []int, e *Evaluation) (*learnt, error) {
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	data := s.data(rows)
	switch method {
	case MethodL1:
		return o.learnL1(ctx, s, data.Answers, e.Factors)
	case MethodFA:
		m, err := factoranalysis.Fit(data.Answers, factoranalysis.Settings{Factors: e.Factors})
		if err != nil {
			return nil, err
		}
		return &learnt{m.Loadings, func(rows []int) (*mat.Dense, error) { return m.Scores(pickRows(s.Answers, rows)) }}, nil
	}
	m, err := icqf.Fit(ctx, data, o.settings(s, e.Factors, e.Beta))
	if err != nil {
		return nil, err
	}
	return &learnt{m.Loadings, func(rows []int) (*mat.Dense, error) {
		return m.Score(pickRows(s.Answers, rows), pickRows(s.known, rows))
	}}, nil
}

// learnL1 trains the non-negative factorization with ℓ1 penalties.
func (o *EvaluateOptions) learnL1(ctx context.Context, s *study, answers *mat.Dense, factors int) (*learnt, error) {
	method, err := nmf.NewL1(nmf.Auto, nmf.Auto)
	if err != nil {
		return nil, err
	}
	x := linalg.Dense{Dense: filled(answers)}
	r, err := solver.Solve(ctx, x, solver.Settings{Rank: factors, MaxIter: o.MaxIter, RelTol: o.RelTol, Seed: o.Seed}, method)
	if err != nil {
		return nil, err
	}
	// A scorer whose unit is far above every score of the training does what one without upper bound does.
	const far = 100
	unit := max(1, far*mat.Max(r.Scores))
	_, weight := method.Weights(x, factors)
	m := icqf.Model{Loadings: &mat.Dense{}, L1: weight * unit}
	m.Loadings.Scale(unit, r.Topics)
	return &learnt{r.Topics, func(rows []int) (*mat.Dense, error) { return m.Score(pickRows(s.Answers, rows), nil) }}, nil
}

// filled returns the answers with the mean of the item in place of each missing one.
func filled(answers *mat.Dense) *mat.Dense {
	out := mat.DenseCopyOf(answers)
	n, p := out.Dims()
	for j := range p {
		var sum, seen float64
		for i := range n {
			if v := out.At(i, j); !math.IsNaN(v) {
				sum, seen = sum+v, seen+1
			}
		}
		for i := range n {
			if math.IsNaN(out.At(i, j)) {
				out.Set(i, j, sum/max(seen, 1))
			}
		}
	}
	return out
}

// matched returns the correlations of each factor's loadings with those of its best match, where both vary.
func matched(whole, part *mat.Dense) []float64 {
	_, cosines := align.Topics(centred(whole), centred(part))
	return cosines
}

// centred returns the matrix less the means of its columns: the cosine of two of them is their correlation.
func centred(a *mat.Dense) *mat.Dense { return shifted(a, columnMeans(a)) }

// predict returns the area under the curve on the test rows; ok is false where the training rows of a class are too few, or
// the test rows are of one class.
func (o *EvaluateOptions) predict(ctx context.Context, m *learnt, labels []int8, train, test []int) (area float64, ok bool, err error) {
	known := func(rows []int) (kept []int, y []bool, positive int) {
		for _, i := range rows {
			if labels[i] != unknown {
				kept, y = append(kept, i), append(y, labels[i] == 1)
				positive += int(labels[i])
			}
		}
		return kept, y, positive
	}
	trainRows, y, positive := known(train)
	testRows, truth, testPositive := known(test)
	if min(positive, len(y)-positive) < ridgeFolds || testPositive == 0 || testPositive == len(truth) {
		return 0, false, nil
	}
	design := func(rows []int) (*elasticnet.Design, error) {
		scores, err := m.score(rows)
		if err != nil {
			return nil, err
		}
		return elasticnet.NewDesign(linalg.Dense{Dense: scores})
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
	ridge := elasticnet.Settings{Alpha: 0, Standardize: true}
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
