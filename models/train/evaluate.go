package train

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/wardcast/wardcast/classifier"
	"github.com/wardcast/wardcast/classifier/eval"
	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/internal/folds"
	"github.com/wardcast/wardcast/internal/lists"
	"github.com/wardcast/wardcast/solver/methods"
	"github.com/wardcast/wardcast/textproc"
)

// Majority predicts the commoner outcome for every note, with its share of the training notes as probability.
const Majority Method = "majority"

// Configuration is one way to make a model, as it is compared with others.
type Configuration struct {
	Method    Method             `json:"method"`
	Words     bool               `json:"words"` // next to the topics
	Rank      int                `json:"rank"`  // 0 without topics
	Weighting textproc.Weighting `json:"weighting,omitempty"`
}

const wordsSuffix = "+words" // marks configurations with words next to their topics: "sonmf+words"

// Configurations returns one configuration for each method, weighting and rank: a method without topics once for each
// weighting, Majority once, and a method of binary rows with these alone. Without weightings each method has its own.
//
// Errors: a method without a usable weighting or, if it has topics, a rank; a rank below 1; a repeated configuration.
func Configurations(names []string, weightings []textproc.Weighting, ranks []int) ([]Configuration, error) {
	for _, k := range ranks {
		if k < 1 {
			return nil, fmt.Errorf("%w: rank %d is less than 1", ErrSettings, k)
		}
	}
	var all []Configuration
	for _, name := range names {
		base, words := strings.CutSuffix(name, wordsSuffix)
		c := Configuration{Method: Method(base), Words: words}
		if c.Method == Majority && !words {
			all = append(all, c)
			continue
		}
		if !c.Method.known() || words && (c.Method == BagOfWords || c.Method.Supervised()) {
			return nil, fmt.Errorf("%w: method %q is not one of %s, %s; those with topics but %s may end in %s",
				ErrSettings, name, Majority, strings.Join(Methods(), ", "),
				strings.Join(methods.Supervised(), " and "), wordsSuffix)
		}
		rows, err := c.Method.rows(weightings)
		if err != nil {
			return nil, err
		}
		for _, c.Weighting = range rows {
			if c.Method == BagOfWords {
				all = append(all, c)
				continue
			}
			if len(ranks) == 0 {
				return nil, fmt.Errorf("%w: method %q needs a rank", ErrSettings, name)
			}
			for _, c.Rank = range ranks {
				all = append(all, c)
			}
			c.Rank = 0
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%w: nothing to compare", ErrSettings)
	}
	for i, c := range all {
		if slices.Contains(all[:i], c) {
			return nil, fmt.Errorf("%w: %s, %s, rank %d would be compared with itself", ErrSettings, c,
				c.Weighting, c.Rank)
		}
	}
	return all, nil
}

// String names the configuration as Configurations reads it.
func (c Configuration) String() string {
	if c.Words {
		return string(c.Method) + wordsSuffix
	}
	return string(c.Method)
}

func (c Configuration) settings(s Settings) (Settings, error) {
	s.Method, s.Words, s.Rank, s.Ranks, s.Text.Weighting = c.Method, c.Words, max(c.Rank, 1), nil, c.Weighting
	if c.Method != L1NMF {
		s.L1Topics, s.L1Scores = nil, nil
	}
	if c.Method.Supervised() {
		s.FreeAux, s.OneSE = false, false
	} else {
		s.Xi, s.Ridge, s.ClassWeights = nil, nil, ""
	}
	return s, s.check()
}

// CheckClasses returns an error if a configuration cannot predict so many classes, 0 for yes and no.
func CheckClasses(configurations []Configuration, classes int, s Settings) error {
	for _, c := range configurations {
		if c.Method == Majority {
			continue
		}
		s, err := c.settings(s)
		if err != nil {
			return err
		}
		if err := s.checkClasses(classes); err != nil {
			return err
		}
	}
	return nil
}

// Evaluation is what a configuration reached on one group of notes: means over the repeats. Each repeat measures all
// folds together, so that a model that only knows the prevalence loses where the prevalence of folds differs.
type Evaluation struct {
	Complaint string `json:"complaint"` // "" for the model of all complaints
	Configuration
	Name                 string         `json:"name"`
	Notes                int            `json:"notes"` // tested in each repeat
	Positives            int            `json:"positives"`
	Repeats              int            `json:"repeats"`
	Accuracy             float64        `json:"accuracy"` // at thresholds chosen on training data
	AccuracySD           float64        `json:"accuracy_sd"`
	AUROC                float64        `json:"auroc"`
	AUROCSD              float64        `json:"auroc_sd"` // over the repeats
	AUROCInterval        *eval.Interval `json:"auroc_95"` // DeLong's, of the first repeat
	AUPRC                float64        `json:"auprc"`
	Brier                float64        `json:"brier"`
	BrierScaled          float64        `json:"brier_scaled"`
	LogLoss              float64        `json:"log_loss"`
	CalibrationIntercept *float64       `json:"calibration_intercept"`
	CalibrationSlope     *float64       `json:"calibration_slope"`
	ObservedExpected     *float64       `json:"observed_expected"`
	// Classes are the measures of several outcomes, nil for yes and no; intervals and numbers of notes are those of the
	// first repeat. All other measures are for admission.
	Classes *eval.ClassMetrics `json:"classes,omitempty"`
}

// Comparison says what is compared, and on which splits.
type Comparison struct {
	Configurations []Configuration
	Repeats        Repeats
	Settings       Settings // shared by all; weights of l1-nmf and of supervised methods apply to these only
	Progress       Progress // may be nil
}

// answers holds the predictions of one configuration in one repeat by row, whatever the order of the splits.
type answers struct {
	predictions
	right  []bool // at the split's threshold
	tested []bool
	ranks  []int // that were used
}

func newAnswers(d *Data) *answers {
	n := len(d.Rows)
	return &answers{
		predictions: newPredictions(n, len(d.Classes)), right: make([]bool, n), tested: make([]bool, n),
		ranks: make([]int, n),
	}
}

// measure returns the metrics of all tested rows together, and the share of right decisions on admission.
func (a *answers) measure(d *Data) (o Outcome, accuracy float64, err error) {
	tested := lists.Where(len(a.tested), func(i int) bool { return a.tested[i] })
	of := d.subset(tested)
	if _, err := o.measure(&of, a.subset(tested)); err != nil {
		return o, 0, err
	}
	if o.Metrics.AUROC == nil {
		return o, 0, fmt.Errorf("measuring predictions: %w", eval.ErrOneClass)
	}
	return o, float64(eval.Positives(a.right)) / float64(len(tested)), nil
}

// Evaluate trains every configuration on the training rows of every split and predicts the test rows as a stream would.
// The Rank of an Evaluation is the least that was used: a split may have fewer notes or terms than topics.
func Evaluate(ctx context.Context, d Data, c Comparison) ([]Evaluation, error) {
	if err := CheckClasses(c.Configurations, len(d.Classes), c.Settings); err != nil {
		return nil, err
	}
	got := make([][]*answers, len(c.Configurations)) // by configuration, then repeat
	total := 0
	for i := range got {
		got[i] = make([]*answers, len(c.Repeats))
		for r := range c.Repeats {
			got[i][r] = newAnswers(&d)
			total += len(c.Repeats[r])
		}
	}
	var done atomic.Int64
	work, ctx := errgroup.WithContext(ctx)
	work.SetLimit(runtime.GOMAXPROCS(0))
	for r, splits := range c.Repeats {
		for _, split := range splits {
			work.Go(func() error {
				if err := ctx.Err(); err != nil {
					return err // before the texts of thousands of splits are read
				}
				on := d.subset(split.Train)
				settings := c.Settings
				settings.Text.MinDF, settings.Text.MinCommon = settings.minDF(len(on.Rows))
				t := &trial{
					data: on, train: newRows(on), test: lists.Take(d.Rows, split.Test),
					texts: map[trialText]*text{},
				}
				for i, configuration := range c.Configurations {
					p, rank, err := t.run(ctx, configuration, settings)
					if err != nil {
						return fmt.Errorf("%s, %s, rank %d: %w", configuration, configuration.Weighting,
							configuration.Rank, err)
					}
					a := got[i][r]
					for at, row := range split.Test {
						a.admission[row], a.tested[row], a.ranks[row] = p.admission[at], true, rank
						a.right[row] = (p.admission[at] >= p.threshold) == d.Rows[row].Positive
						if p.classes != nil {
							a.classes.SetRow(row, p.classes.RawRowView(at))
						}
					}
					if c.Progress != nil {
						c.Progress(int(done.Add(1)), total)
					}
				}
				return nil
			})
		}
	}
	if err := work.Wait(); err != nil {
		return nil, err
	}
	evaluations := make([]Evaluation, len(c.Configurations))
	for i := range evaluations {
		if err := evaluations[i].summarize(c.Configurations[i], &d, got[i]); err != nil {
			return nil, err
		}
	}
	return evaluations, nil
}

func (e *Evaluation) summarize(c Configuration, d *Data, repeats []*answers) error {
	e.Configuration, e.Name, e.Repeats = c, c.String(), len(repeats)
	accuracy, metrics := make([]float64, len(repeats)), make([]*eval.Metrics, len(repeats))
	for r, a := range repeats {
		o, right, err := a.measure(d)
		if err != nil {
			return err
		}
		accuracy[r], metrics[r] = right, o.Metrics
		for i, tested := range a.tested {
			if tested {
				e.Rank = min(e.Rank, a.ranks[i])
			}
		}
		if r == 0 {
			e.Classes, e.Notes, e.Positives, e.AUROCInterval = o.Classes, o.Metrics.N, o.Metrics.Positives,
				o.Metrics.AUROCInterval
		} else {
			addClasses(e.Classes, o.Classes)
		}
	}
	for _, measure := range classMeasures(e.Classes) {
		*measure /= float64(len(repeats))
	}
	known := func(measure func(m *eval.Metrics) *float64) (values []float64) {
		for _, m := range metrics {
			if v := measure(m); v != nil {
				values = append(values, *v)
			}
		}
		return values
	}
	e.Accuracy, e.AccuracySD = meanSD(accuracy)
	e.AUROC, e.AUROCSD = meanSD(known(func(m *eval.Metrics) *float64 { return m.AUROC }))
	e.AUPRC, _ = meanSD(known(func(m *eval.Metrics) *float64 { return m.AUPRC }))
	e.Brier, _ = meanSD(known(func(m *eval.Metrics) *float64 { return &m.Brier }))
	e.BrierScaled, _ = meanSD(known(func(m *eval.Metrics) *float64 { return m.BrierScaled }))
	e.LogLoss, _ = meanSD(known(func(m *eval.Metrics) *float64 { return &m.LogLoss }))
	e.CalibrationIntercept = mean(known(func(m *eval.Metrics) *float64 { return m.CalibrationIntercept }))
	e.CalibrationSlope = mean(known(func(m *eval.Metrics) *float64 { return m.CalibrationSlope }))
	e.ObservedExpected = mean(known(func(m *eval.Metrics) *float64 { return m.ObservedExpected }))
	return nil
}

// classMeasures returns the measures of classes of which means are taken, none of nil.
func classMeasures(m *eval.ClassMetrics) []*float64 {
	if m == nil {
		return nil
	}
	all := []*float64{&m.Accuracy, &m.BalancedAccuracy, &m.LogLoss, &m.Brier, m.AUROC}
	for c := range m.Classes {
		all = append(all, m.Classes[c].AUROC)
	}
	return slices.DeleteFunc(all, func(v *float64) bool { return v == nil })
}

// addClasses adds the measures of one more repeat. Its rows are the same, and so the same measures are undefined.
func addClasses(to, more *eval.ClassMetrics) {
	added := classMeasures(more)
	for i, measure := range classMeasures(to) {
		*measure += *added[i]
	}
	if to != nil {
		for c, row := range more.Confusion {
			for predicted, n := range row {
				to.Confusion[c][predicted] += n
			}
		}
	}
}

// trial is one split. What several configurations share is computed once.
type trial struct {
	data  Data // trained on
	train *rows
	test  []Row
	texts map[trialText]*text
}

// trialText is a text, with topics if the configuration has a method. Words is cleared: topics do not need it.
type trialText struct {
	Configuration
	withWords bool // which changes what topics are made of
	many      bool // see Settings.many
}

func (t *trial) run(ctx context.Context, c Configuration, s Settings) (p predictions, rank int, err error) {
	if c.Method == Majority {
		return t.majority(), 0, nil
	}
	if s, err = c.settings(s); err != nil {
		return p, 0, err
	}
	fitted, err := t.fit(ctx, c, s)
	if err != nil {
		return p, 0, err
	}
	if fitted.Topics != nil {
		_, rank = fitted.Topics.Dims()
	}
	p, err = t.predict(fitted)
	return p, rank, err
}

// majority predicts the shares of the training rows for every note.
func (t *trial) majority() predictions {
	shares := make([]float64, t.train.kappa()+1)
	for _, class := range t.train.classes {
		shares[class] += 1 / float64(len(t.train.classes))
	}
	p := newPredictions(len(t.test), len(t.train.names))
	p.threshold = 0.5
	share := float64(Positives(t.train.all)) / float64(len(t.train.all))
	for i := range p.admission {
		p.admission[i] = share
		if p.classes != nil {
			p.classes.SetRow(i, shares)
		}
	}
	return p
}

// fit trains a model. Topics that do not know the labels are shared by configurations with and without words.
func (t *trial) fit(ctx context.Context, c Configuration, s Settings) (*Fitted, error) {
	key := trialText{Configuration{Weighting: c.Weighting}, s.words(), s.many(len(t.train.all))}
	tx := t.texts[key]
	if tx == nil {
		var err error
		if tx, err = readTexts(ctx, t.train, s); err != nil {
			return nil, err
		}
		t.texts[key] = tx
	}
	if c.Method.Supervised() {
		return supervise(ctx, t.train, tx, &s, &t.data)
	}
	c.Words = false
	key.Configuration = c
	with := t.texts[key]
	if with == nil {
		var err error
		if with, err = tx.factorize(ctx, &s, nil); err != nil {
			return nil, err
		}
		t.texts[key] = with
	}
	return head(ctx, t.train, with, &s)
}

func (t *trial) predict(fitted *Fitted) (predictions, error) {
	p := newPredictions(len(t.test), len(fitted.Classes))
	p.threshold = fitted.Threshold
	model, err := classifier.New(fitted.Parts)
	if err != nil {
		return p, err
	}
	scorer := model.Scorer(classifier.Options{Intake: t.data.Intake})
	var said msg.Prediction
	for i, row := range t.test {
		aux := row.Aux
		if len(t.train.columns) > len(aux) {
			aux = append(slices.Clip(aux), classifier.Complaint(row.Complaint))
		}
		if p.classes == nil {
			p.admission[i] = scorer.Probability(row.Text, aux)
			continue
		}
		scorer.Score(row.Text, aux, &said)
		p.admission[i] = said.Admission()
		for c := range said.Classes {
			p.classes.Set(i, c, said.Classes[c].Probability)
		}
	}
	return p, nil
}

func meanSD(v []float64) (m, sd float64) {
	for _, x := range v {
		m += x / float64(len(v))
	}
	for _, x := range v {
		sd += (x - m) * (x - m)
	}
	if len(v) > 1 {
		sd = math.Sqrt(sd / float64(len(v)-1))
	}
	return m, sd
}

func mean(v []float64) *float64 {
	if len(v) == 0 {
		return nil
	}
	m, _ := meanSD(v)
	return &m
}

// Split holds the rows that models are trained on and those that they are tested on. No patient is in both.
type Split struct{ Train, Test []int }

// Repeats holds for each repetition the splits that together test every row once.
type Repeats [][]Split

// CrossValidation returns k stratified folds for each repetition, which never split a patient.
func CrossValidation(all []Row, k, repeats int, seed uint64) (Repeats, error) {
	type outcome struct {
		class    int
		admitted bool
	}
	outcomes := lists.Map(all, func(r Row) outcome { return outcome{r.Class, r.Positive} })
	out := make(Repeats, repeats)
	for r := range out {
		of, err := eval.StratifiedFolds(outcomes, patients(all), k, seed+uint64(r))
		if err != nil {
			return nil, fmt.Errorf("choosing folds: %w", err)
		}
		out[r] = make([]Split, k)
		for f := range out[r] {
			out[r][f].Train, out[r][f].Test = folds.Split(of, f)
		}
	}
	return out, nil
}

// Holdout returns one split that trains on the rows that inTraining selects and tests on the others, except those whose
// patient is trained on; dropped counts these. It is an error if either part is empty.
func Holdout(all []Row, inTraining func(i int) bool) (_ Repeats, dropped int, err error) {
	var split Split
	who, trained := patients(all), map[string]bool{}
	for i, patient := range who {
		if inTraining(i) {
			split.Train = append(split.Train, i)
			trained[patient] = true
		}
	}
	for i, patient := range who {
		switch {
		case inTraining(i):
		case trained[patient]:
			dropped++
		default:
			split.Test = append(split.Test, i)
		}
	}
	if len(split.Train) == 0 || len(split.Test) == 0 {
		return nil, dropped, fmt.Errorf("%w: no notes to train on, or no notes to test on", ErrSettings)
	}
	return Repeats{{split}}, dropped, nil
}
