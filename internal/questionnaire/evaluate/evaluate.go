// Package evaluate measures how well the scores of factors predict labels of held-out participants, and how stable the
// loadings are with fewer training participants.
package evaluate

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/floats"

	"github.com/wardcast/wardcast/classifier/elasticnet"
	"github.com/wardcast/wardcast/classifier/eval"
	"github.com/wardcast/wardcast/internal/lists"
	"github.com/wardcast/wardcast/internal/questionnaire"
	"github.com/wardcast/wardcast/internal/questionnaire/answers"
	"github.com/wardcast/wardcast/internal/questionnaire/fit"
	"github.com/wardcast/wardcast/internal/questionnaire/model"
	"github.com/wardcast/wardcast/internal/table"
	"github.com/wardcast/wardcast/solver"
	"github.com/wardcast/wardcast/solver/linalg"
)

const (
	// leastTrained is the least number of training participants: with one, no item varies.
	leastTrained = 2
	// heldOut is the share of the participants that each repeat holds out.
	heldOut = 0.2
	// ridgeFolds is the number of folds that choose the penalty of the logistic regression within the training part.
	ridgeFolds = 5
)

// TrainShares are the shares of all participants to train on.
func TrainShares() []float64 { return []float64{0.2, 0.4, 0.6, 0.8} }

// Options says what to evaluate.
type Options struct {
	fit.Options
	// Methods are those to compare; empty means model.MethodICQF.
	Methods []string
	// Repeats is the number of splits; 0 means DefaultRepeats.
	Repeats int
}

// DefaultRepeats is the number of splits of the participants.
const DefaultRepeats = 10

// Evaluation is the outcome of Run.
type Evaluation struct {
	Items []string `json:"items"` // names, in the order of the file
	// The candidate of the fits to all participants.
	solver.Candidate
	// Choices are the candidates of the repeats, chosen without the held-out participants; empty if nothing was chosen.
	Choices      []solver.Candidate `json:"choices,omitempty"`
	Participants int                `json:"participants"`
	Repeats      int                `json:"repeats"`
	HeldOut      float64            `json:"held_out"`
	Labels       []string           `json:"labels"` // with their values, as questionnaire.ParseLabels reads them
	Shares       []Share            `json:"shares"`
	Disjoint     []Halves           `json:"disjoint"` // of the methods with factors
	// Unconverged counts the fits that ended at MaxIter, those of the cross-validation and to all participants too.
	Unconverged int `json:"unconverged"`
	// Warnings say why a choice may be wrong, on all participants or, as they then begin, in a repeat.
	Warnings []string `json:"warnings"`
}

// Share is the outcome for a method that was trained on a share of the participants.
type Share struct {
	Method       string  `json:"method"`
	Share        float64 `json:"train_share"`
	Participants int     `json:"participants"`
	// Stability is the correlation with the loadings of all participants, including those trained on.
	Stability Measure   `json:"stability"`
	AUROC     []Measure `json:"auroc"` // in the order of the labels
	// Differences are those of the AUROC less that of the first method on the same split; nil for the first method.
	Differences []Measure `json:"auroc_difference,omitempty"`
	// EmptyFactors counts, over the repeats, the factors whose loadings are all 0, and EmptyInWhole those of the fit to
	// all participants. They have no correlation, and are excluded from the stability.
	EmptyFactors int `json:"empty_factors"`
	EmptyInWhole int `json:"empty_factors_in_whole"`
	// ItemsLeftOut are those that in some repeat did not vary among the participants trained on.
	ItemsLeftOut []string `json:"items_left_out"`
	Unconverged  int      `json:"unconverged"` // fits that ended at MaxIter
}

// Run repeatedly holds out a fifth of the participants, learns factors from shares of the others, and measures
//
//   - for each label, the area under the receiver operating characteristic of a ridge logistic regression of the label
//     on the scores. The regression learns, with balanced weights, from the participants that the factors were learnt
//     from; its penalty is chosen by cross-validation among them; the area is measured on those held out. Methods are
//     compared with the first on the same splits;
//   - the stability with the whole: the correlation over the items of each factor's loadings with those learnt from all
//     participants, best match for best match (Lam et al., sections 4.2.4 and 4.2.5), over all factors and repeats.
//     All participants include those trained on, so it grows with the share, and says little about a new sample;
//   - the stability of disjoint halves: the same, and Tucker's congruence, of the loadings of two halves of the
//     participants, at the candidate of all participants. Each half is equivalent to a new sample of its size.
//
// Factors of fa and pca have arbitrary signs: they are matched by the absolute value of the congruence, and a match of
// negative congruence is turned.
//
// If there are several candidates for factors and β, fit.Options.Choose chooses among them: from all participants for
// the loadings that the stability compares with, and in each repeat from those who are not held out, so that the area
// does not depend on the latter. Scores of training and held-out participants come from the loadings alone, in the same
// way.
//
// An item that does not vary among the training participants is left out there as if it were not in the file, and is
// excluded from the stability. A participant who answered only such items is neither trained on nor held out.
//
// The smallest share must have two participants, and as many as factors; larger default candidates are not tried.
func Run(ctx context.Context, o Options) (*Evaluation, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	free := len(o.Factors) == 0
	o.Compared = o.Methods
	s, err := o.Begin(ctx)
	if err != nil {
		return nil, err
	}
	if err := o.checkShares(s, free); err != nil {
		return nil, err
	}
	e := &Evaluation{
		Items: questionnaire.Names(s.Items), Candidate: solver.Candidate{Factors: o.Factors[0], Beta: o.Betas[0]},
		Participants: len(s.IDs), Repeats: o.Repeats, HeldOut: heldOut, Disjoint: []Halves{}, Warnings: []string{},
		Labels: lists.Map(o.Columns.Labels, questionnaire.Label.String),
	}
	p := progress{report: o.Progress}
	for _, method := range o.Methods {
		p.fits += 1 + o.Repeats*len(TrainShares())
		if HasFactors(method) {
			p.fits += 2 * o.Repeats
		}
	}
	o.Progress = p.set
	if len(o.Factors)*len(o.Betas) > 1 {
		if err := o.choose(ctx, s, e, &p); err != nil {
			return nil, err
		}
	}
	step := func(m *trained) {
		if m.early {
			e.Unconverged++
		}
		p.done++
		p.fits--
		p.set(0, 0)
	}
	wholes := make([]*trained, len(o.Methods)) // first, so that a method that cannot learn fails at the start
	for i, method := range o.Methods {
		if wholes[i], err = o.learn(ctx, s, method, s.Order, e.Candidate); err != nil {
			return nil, fmt.Errorf("evaluating %s on all participants: %w", method, err)
		}
		step(wholes[i])
	}
	first := make([][][]float64, len(TrainShares())) // the areas of the first method, by share, label and repeat
	for i, method := range o.Methods {
		for at, share := range TrainShares() {
			result, areas, err := o.share(ctx, s, wholes[i], e, method, share, step)
			switch {
			case err != nil:
				return nil, fmt.Errorf("evaluating %s on %.0f %% of the participants, %w", method, 100*share, err)
			case i == 0:
				first[at] = areas
			default:
				result.Differences = differences(areas, first[at], ratio(share, len(s.Order)))
			}
			e.Shares = append(e.Shares, *result)
		}
		if HasFactors(method) {
			result, err := o.halves(ctx, s, e, method, step)
			if err != nil {
				return nil, fmt.Errorf("evaluating %s on halves of the participants, %w", method, err)
			}
			e.Disjoint = append(e.Disjoint, *result)
		}
	}
	return e, nil
}

// Compared returns the outcomes of the largest share for all methods that were compared with the first one.
func (e *Evaluation) Compared() []Share {
	most := e.Shares[len(e.Shares)-1].Share
	return slices.DeleteFunc(slices.Clone(e.Shares),
		func(s Share) bool { return s.Share != most || len(s.Differences) == 0 })
}

// choose fills in the candidate and the choices of the repeats.
func (o *Options) choose(ctx context.Context, s *fit.Study, e *Evaluation, p *progress) error {
	p.rounds = 1 + o.Repeats
	add := func(c *fit.Chosen, where string) {
		e.Unconverged += c.Unconverged
		own := slices.DeleteFunc(c.Warnings, func(w string) bool { return slices.Contains(e.Warnings, w) })
		e.Warnings = lists.Union(e.Warnings, lists.Map(own, func(w string) string { return where + w }))
		p.done += c.Fits
		p.rounds--
	}
	choice, err := o.Choose(ctx, s)
	if err != nil {
		return err
	}
	e.Candidate = choice.Fitted
	add(choice, "")
	for repeat := range o.Repeats {
		if choice, err = o.chooseInside(ctx, s, repeat); err != nil {
			return fmt.Errorf("choosing in repeat %d: %w", repeat+1, err)
		}
		e.Choices = append(e.Choices, choice.Fitted)
		add(choice, "in a repeat: ")
	}
	return nil
}

// FactorsInside returns the number of factors, and in brackets those that the repeats chose if they differ.
func (e *Evaluation) FactorsInside() string {
	inside := strconv.Itoa(e.Factors)
	if len(e.Choices) == 0 {
		return inside
	}
	factors := lists.Map(e.Choices, func(c solver.Candidate) int { return c.Factors })
	if least, most := slices.Min(factors), slices.Max(factors); least < e.Factors || most > e.Factors {
		inside += fmt.Sprintf(" (%d to %d)", least, most)
	}
	return inside
}

// progress adds up the fits. A future cross-validation is assumed to have as many as the current one.
type progress struct {
	report func(done, total int) // may be nil
	done   int                   // fits that have ended
	rounds int                   // cross-validations that have not ended
	fits   int                   // that follow them
}

func (p *progress) set(done, total int) {
	if p.report != nil {
		p.report(p.done+done, p.done+p.rounds*total+p.fits)
	}
}

// check fills in the defaults. Only icqf has β, and without a method with factors their number need not be chosen.
func (o *Options) check() error {
	if len(o.Methods) == 0 {
		o.Methods = []string{model.MethodICQF}
	}
	o.Repeats = cmp.Or(o.Repeats, DefaultRepeats)
	for i, m := range o.Methods {
		if !slices.Contains(Methods(), m) {
			return questionnaire.Optionf("method %q must be one of %s", m, strings.Join(Methods(), ", "))
		}
		if slices.Contains(o.Methods[:i], m) {
			return questionnaire.Optionf("method %q is given twice", m)
		}
	}
	switch {
	case o.Repeats < 1:
		return questionnaire.Optionf("%d repeats", o.Repeats)
	case o.Columns.Visits != nil && len(o.Columns.Labels) > 0:
		return questionnaire.Optionf("labels cannot be predicted for participants with several visits")
	}
	if slices.Contains(o.Methods, model.MethodFA) {
		if err := o.CheckCorrelation(); err != nil {
			return err
		}
	}
	switch o.Method = Chooser(o.Methods); {
	case o.Method != model.MethodICQF:
		o.Betas = nil
	case !slices.Contains(o.Methods, model.MethodICQF):
		o.Betas = []float64{0}
	}
	if !slices.ContainsFunc(o.Methods, HasFactors) {
		o.Factors = []int{1}
	}
	return nil
}

// checkShares returns an error for a label with one class and for too few participants. If the candidates for the
// number of factors are free, it drops those that the smallest share has too few participants for.
func (o *Options) checkShares(s *fit.Study, free bool) error {
	for l, label := range o.Columns.Labels {
		if !slices.Contains(s.Labels[l], 0) || !slices.Contains(s.Labels[l], 1) {
			values := fmt.Sprintf("positive is %q; --labels %s=VALUE names another value", label.Positive, label.Name)
			if label.Negative != "" {
				values = fmt.Sprintf("positive is %q, negative %q", label.Positive, label.Negative)
			}
			return &table.Error{File: s.File, Column: label.Name, Err: fmt.Errorf("%w (%s)",
				questionnaire.ErrOneClass, values)}
		}
	}
	share, n := TrainShares()[0], len(s.IDs)
	fewest, _ := parts(share, n)
	if free {
		o.MostFactors = min(o.MostFactors, max(1, fewest))
		o.Factors = slices.DeleteFunc(o.Factors, func(k int) bool { return k > o.MostFactors })
	}
	if p := len(s.Items); slices.Contains(o.Methods, model.MethodFA) && slices.Max(o.Factors) >= p {
		return questionnaire.Optionf("%q: %d factors for %d items, at most %d by %s", s.File,
			slices.Max(o.Factors), p, p-1, model.MethodFA)
	}
	if wanted := max(leastTrained, slices.Max(o.Factors)); fewest < wanted {
		return questionnaire.Optionf("%q: %.0f %% of %d participants are %d, too few to learn %d factors from: at "+
			"least %d are needed", s.File, 100*share, n, fewest, slices.Max(o.Factors), wanted)
	}
	return nil
}

// parts returns how many of n participants to train on and to hold out.
func parts(share float64, n int) (train, held int) {
	held = int(math.Round(heldOut * float64(n)))
	return min(int(math.Round(share*float64(n))), n-held), held
}

// ratio returns how many of n participants are held out for one who is trained on.
func ratio(share float64, n int) float64 {
	train, held := parts(share, n)
	return float64(held) / float64(train)
}

func (o *Options) shuffled(s *fit.Study, repeat int) []int {
	rows := slices.Clone(s.Order)
	rand.New(rand.NewPCG(o.Seed, uint64(repeat))).Shuffle(len(rows),
		func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
	return rows
}

// split returns the participants who are held out in a repeat, and the others, of whom each share takes the first.
func (o *Options) split(s *fit.Study, repeat int) (test, others []int) {
	shuffled := o.shuffled(s, repeat)
	_, held := parts(1, len(shuffled))
	return shuffled[:held], shuffled[held:]
}

// Chooser returns the method that chooses for all of these: icqf if given, else the first that a fit can use, else
// icqf.
func Chooser(methods []string) string {
	fits := func(m string) bool { return slices.Contains(learners(), m) }
	if at := slices.IndexFunc(methods, fits); at >= 0 && !slices.Contains(methods, model.MethodICQF) {
		return methods[at]
	}
	return model.MethodICQF
}

// chooseInside chooses among the candidates without the participants who are held out in the repeat.
func (o *Options) chooseInside(ctx context.Context, s *fit.Study, repeat int) (*fit.Chosen, error) {
	test, _ := o.split(s, repeat)
	inside := *s
	inside.Order = slices.DeleteFunc(slices.Clone(s.Order), func(i int) bool { return slices.Contains(test, i) })
	return o.Choose(ctx, &inside)
}

// share evaluates a method on a share of the participants. areas holds the AUROC of each label and repeat, or NaN.
func (o *Options) share(ctx context.Context, s *fit.Study, whole *trained, e *Evaluation, method string, share float64,
	step func(*trained),
) (r *Share, areas [][]float64, err error) {
	train, _ := parts(share, len(s.Order))
	r = &Share{Method: method, Share: share, Participants: train}
	var stability []float64
	var out []int
	areas = make([][]float64, len(e.Labels))
	for repeat := range o.Repeats {
		test, others := o.split(s, repeat)
		candidate := e.Candidate
		if len(e.Choices) > 0 {
			candidate = e.Choices[repeat]
		}
		part, err := o.learn(ctx, s, method, others[:train], candidate)
		if err != nil {
			return nil, nil, fmt.Errorf("repeat %d: %w", repeat+1, err)
		}
		if part.early {
			r.Unconverged++
		}
		out = lists.Union(out, s.Except(part.items))
		if HasFactors(method) {
			m := compare(whole, part, signed(method))
			stability, r.EmptyInWhole, r.EmptyFactors = append(stability, m.correlations...), m.empty[0],
				r.EmptyFactors+m.empty[1]
		}
		for l, label := range e.Labels {
			area, err := o.predict(ctx, part, s.Labels[l], s.Answering(test, part.items))
			if err != nil {
				return nil, nil, fmt.Errorf("repeat %d, label %q: %w", repeat+1, label, err)
			}
			areas[l] = append(areas[l], area)
		}
		step(part)
	}
	slices.Sort(out)
	r.Stability, r.ItemsLeftOut = measure(stability), s.Names(out)
	r.AUROC = lists.Map(areas, func(a []float64) Measure { return resampled(a, ratio(share, len(s.Order)), 0) })
	return r, areas, nil
}

// differences measures, for each label, the areas of a method less those of the first one.
func differences(areas, first [][]float64, ratio float64) []Measure {
	all := make([]Measure, len(areas))
	for l, values := range areas {
		less := slices.Clone(values)
		floats.Sub(less, first[l])
		all[l] = resampled(less, ratio, -1)
	}
	return all
}

// predict returns the area under the curve on the test rows, NaN if there are too few of a class.
func (o *Options) predict(ctx context.Context, m *trained, labels []int8, test []int) (area float64, err error) {
	known := func(rows []int) (kept []int, y []bool, positive int) {
		for _, i := range rows {
			if labels[i] != answers.Unknown {
				kept, y = append(kept, i), append(y, labels[i] == 1)
				positive += int(labels[i])
			}
		}
		return kept, y, positive
	}
	trainRows, y, positive := known(m.rows)
	testRows, truth, testPositive := known(test)
	if min(positive, len(y)-positive) < ridgeFolds || testPositive == 0 || testPositive == len(truth) {
		return math.NaN(), nil
	}
	design := func(rows []int) (*elasticnet.Design, error) {
		features, err := m.features(rows)
		if err != nil {
			return nil, err
		}
		return elasticnet.NewDesign(linalg.Dense{Dense: features})
	}
	x, err := design(trainRows)
	if err != nil {
		return 0, err
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
		return 0, err
	}
	// The best penalty for many items can be far below the last of glmnet's; for scores it is found sooner.
	ridge := elasticnet.Settings{Alpha: 0, Standardize: true, Turn: true, Threads: o.Threads}
	cv, err := elasticnet.CrossValidate(ctx, elasticnet.Problem{Design: x, Y: y, Weights: weights}, folds, ridge)
	if err != nil {
		return 0, err
	}
	newcomers, err := design(testRows)
	if err != nil {
		return 0, err
	}
	p := cv.LinearPredictor(newcomers, cv.IndexMin)
	for i, logit := range p {
		p[i] = linalg.Sigmoid(logit)
	}
	area, _, err = eval.AUROC(truth, p, nil)
	return area, err
}
