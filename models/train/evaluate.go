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
	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/classifier"
	"github.com/wardcast/wardcast/classifier/eval"
	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/textproc"
)

// Majority is the candidate that calls every note by the commoner outcome and gives its training share as
// probability.
const Majority Method = "majority"

// Candidate is one way to make a model, as it is compared with others.
type Candidate struct {
	Method    Method             `json:"method"`
	Words     bool               `json:"words"` // beside topics
	Rank      int                `json:"rank"`  // 0 without topics
	Weighting textproc.Weighting `json:"weighting,omitempty"`
}

// wordsSuffix marks candidates with words beside their topics: "sonmf+words".
const wordsSuffix = "+words"

// Candidates returns one candidate for each method, weighting and rank. A method without topics stands once
// for each weighting, Majority once. Without weightings each method has the rows of Method.Weighting; with some, one
// that needs binary rows has these alone, and it is an error if they are not among them; so it is if a rank is less than
// 1, or none is there for a method with topics, or a candidate would stand twice.
func Candidates(methods []string, weightings []textproc.Weighting, ranks []int) ([]Candidate, error) {
	for _, k := range ranks {
		if k < 1 {
			return nil, fmt.Errorf("%w: rank %d is less than 1", ErrSettings, k)
		}
	}
	var all []Candidate
	for _, name := range methods {
		base, words := strings.CutSuffix(name, wordsSuffix)
		c := Candidate{Method: Method(base), Words: words}
		if c.Method == Majority && !words {
			all = append(all, c)
			continue
		}
		if !c.Method.known() || words && (c.Method == BagOfWords || c.Method.Supervised()) {
			return nil, fmt.Errorf("%w: method %q is none of %s, %s, those with topics but %s also with %s", ErrSettings, name, Majority, strings.Join(Methods(), ", "), supervisedNames(" and "), wordsSuffix)
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
				return nil, fmt.Errorf("%w: method %q has no rank to be compared at", ErrSettings, name)
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
	seen := map[Candidate]bool{}
	for _, c := range all {
		if seen[c] {
			return nil, fmt.Errorf("%w: %s, %s, rank %d would be compared with itself", ErrSettings, c, c.Weighting, c.Rank)
		}
		seen[c] = true
	}
	return all, nil
}

// String names the candidate as Candidates reads it.
func (c Candidate) String() string {
	if c.Words {
		return string(c.Method) + wordsSuffix
	}
	return string(c.Method)
}

// settings returns those of the candidate where it is compared under s.
func (c Candidate) settings(s Settings) (Settings, error) {
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

// CheckClasses returns an error for candidates that several classes have no use for, 0 for yes and no.
func CheckClasses(candidates []Candidate, classes int, s Settings) error {
	for _, c := range candidates {
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

// Score is what a candidate reached on one group of notes: means over the repeats, in each of which the predictions
// of all folds are measured together. Folds of unlike prevalence so count against a candidate that only knows it.
type Score struct {
	Complaint string `json:"complaint"` // "" for the model of all complaints
	Candidate
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
	// Classes are the measures of several outcomes, nil for yes and no; its intervals and numbers of notes are those of the
	// first repeat. All others are of admission.
	Classes *eval.ClassMetrics `json:"classes,omitempty"`
}

// Comparison is what is compared, and on which splits.
type Comparison struct {
	Candidates []Candidate
	Repeats    Repeats
	Settings   Settings // what the candidates share; weights of l1-nmf and of supervised methods are theirs
	Progress   Progress // may be nil
}

// answers is what one candidate said in one repetition, by row: splits that end in any order leave the same.
type answers struct {
	predictions
	right  []bool // called rightly at the split's threshold
	tested []bool
	ranks  []int // that were used, by row
}

func newAnswers(d *Data) *answers {
	n := len(d.Rows)
	a := &answers{right: make([]bool, n), tested: make([]bool, n), ranks: make([]int, n)}
	a.admission = make([]float64, n)
	if d.Classes != nil {
		a.classes = mat.NewDense(n, len(d.Classes), nil)
	}
	return a
}

// measure returns the metrics of all tested rows together, whichever model answered them, and the share that was
// called rightly: whether admitted.
func (a *answers) measure(d *Data) (o Outcome, accuracy float64, err error) {
	var tested []int
	right := 0
	for i := range a.tested {
		if a.tested[i] {
			tested = append(tested, i)
		}
		if a.right[i] {
			right++
		}
	}
	of := d.subset(tested)
	if _, err := o.measure(&of, a.subset(tested)); err != nil {
		return o, 0, err
	}
	if o.Metrics.AUROC == nil {
		return o, 0, fmt.Errorf("measuring predictions: %w", eval.ErrOneClass)
	}
	return o, float64(right) / float64(len(tested)), nil
}

// Evaluate trains every candidate on the training rows of every split and scores the test rows with the
// models, exactly as a stream would be. The scores do not depend on GOMAXPROCS. The Rank of a score is the least that was
// used, less than the candidate's where a split has fewer notes or terms.
func Evaluate(ctx context.Context, d Data, c Comparison) ([]Score, error) {
	if err := CheckClasses(c.Candidates, len(d.Classes), c.Settings); err != nil {
		return nil, err
	}
	got := make([][]*answers, len(c.Candidates)) // by candidate, repeat
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
					return err // not each of thousands of splits has its texts read first
				}
				t, err := newTrial(d, split, c.Settings.Text.MinDF)
				if err != nil {
					return err
				}
				for i, candidate := range c.Candidates {
					p, rank, err := t.run(ctx, candidate, c.Settings)
					if err != nil {
						return fmt.Errorf("%s, %s, rank %d: %w", candidate, candidate.Weighting, candidate.Rank, err)
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
	scores := make([]Score, len(c.Candidates))
	for i := range scores {
		if err := scores[i].summarize(c.Candidates[i], &d, got[i]); err != nil {
			return nil, err
		}
	}
	return scores, nil
}

// summarize sets the means over the repetitions.
func (s *Score) summarize(c Candidate, d *Data, repeats []*answers) error {
	s.Candidate, s.Name, s.Repeats = c, c.String(), len(repeats)
	var accuracy, auroc, auprc, brier, scaled, loss, intercept, slope, ratio []float64
	for r, a := range repeats {
		o, right, err := a.measure(d)
		if err != nil {
			return err
		}
		m := o.Metrics
		for i, tested := range a.tested {
			if tested {
				s.Rank = min(s.Rank, a.ranks[i])
			}
		}
		if r == 0 {
			s.Classes = o.Classes
			s.Notes, s.Positives, s.AUROCInterval = m.N, m.Positives, m.AUROCInterval
		}
		if r > 0 && o.Classes != nil {
			addClasses(s.Classes, o.Classes)
		}
		accuracy, auroc, auprc = append(accuracy, right), append(auroc, *m.AUROC), append(auprc, *m.AUPRC)
		brier, scaled, loss = append(brier, m.Brier), append(scaled, *m.BrierScaled), append(loss, m.LogLoss)
		intercept, slope, ratio = appendKnown(intercept, m.CalibrationIntercept), appendKnown(slope, m.CalibrationSlope), appendKnown(ratio, m.ObservedExpected)
	}
	if s.Classes != nil {
		divideClasses(s.Classes, len(repeats))
	}
	s.Accuracy, s.AccuracySD = meanSD(accuracy)
	s.AUROC, s.AUROCSD = meanSD(auroc)
	s.AUPRC, _ = meanSD(auprc)
	s.Brier, _ = meanSD(brier)
	s.BrierScaled, _ = meanSD(scaled)
	s.LogLoss, _ = meanSD(loss)
	s.CalibrationIntercept, s.CalibrationSlope, s.ObservedExpected = mean(intercept), mean(slope), mean(ratio)
	return nil
}

// addClasses adds the measures of one more repeat, of the same rows and so with the same measures undefined.
func addClasses(to, more *eval.ClassMetrics) {
	to.Accuracy += more.Accuracy
	to.BalancedAccuracy += more.BalancedAccuracy
	to.LogLoss += more.LogLoss
	to.Brier += more.Brier
	if to.AUROC != nil {
		*to.AUROC += *more.AUROC
	}
	for c := range to.Classes {
		if to.Classes[c].AUROC != nil {
			*to.Classes[c].AUROC += *more.Classes[c].AUROC
		}
		for called, n := range more.Confusion[c] {
			to.Confusion[c][called] += n
		}
	}
}

// divideClasses makes means of sums; the confusion stays that of all repeats.
func divideClasses(m *eval.ClassMetrics, repeats int) {
	by := float64(repeats)
	m.Accuracy /= by
	m.BalancedAccuracy /= by
	m.LogLoss /= by
	m.Brier /= by
	if m.AUROC != nil {
		*m.AUROC /= by
	}
	for c := range m.Classes {
		if m.Classes[c].AUROC != nil {
			*m.Classes[c].AUROC /= by
		}
	}
}

func appendKnown(list []float64, v *float64) []float64 {
	if v == nil {
		return list
	}
	return append(list, *v)
}

// trial is one split: what its candidates share is computed once.
type trial struct {
	data   Data // trained on
	train  *rows
	test   []Row
	texts  map[textproc.Weighting]*text
	topics map[Candidate]*text // Words cleared: topics do not depend on it
}

func newTrial(d Data, split Split, minVisits int) (*trial, error) {
	test := take(d.Rows, split.Test)
	d.Rows = take(d.Rows, split.Train)
	train, err := newRows(d, minVisits)
	if err != nil {
		return nil, err
	}
	return &trial{data: d, train: train, test: test, texts: map[textproc.Weighting]*text{}, topics: map[Candidate]*text{}}, nil
}

// run returns the candidate's predictions of the test rows and the number of topics that it used.
func (t *trial) run(ctx context.Context, c Candidate, s Settings) (p predictions, rank int, err error) {
	if c.Method == Majority {
		return t.majority(), 0, nil
	}
	if s, err = c.settings(s); err != nil {
		return p, 0, err
	}
	tx := t.texts[c.Weighting]
	if tx == nil {
		if tx, err = vectorize(t.train, s.Text); err != nil {
			return p, 0, err
		}
		t.texts[c.Weighting] = tx
	}
	fitted, err := t.fit(ctx, tx, c, &s)
	if err != nil {
		return p, 0, err
	}
	if fitted.Topics != nil {
		_, rank = fitted.Topics.Dims()
	}
	p, err = t.score(fitted)
	return p, rank, err
}

// majority gives every note the shares of the training rows.
func (t *trial) majority() predictions {
	shares := make([]float64, t.train.kappa()+1)
	for _, class := range t.train.classes {
		shares[class] += 1 / float64(len(t.train.classes))
	}
	p := predictions{admission: make([]float64, len(t.test)), threshold: 0.5}
	share := float64(positives(t.train.all)) / float64(len(t.train.all))
	for i := range p.admission {
		p.admission[i] = share
	}
	if t.train.names != nil {
		p.classes = mat.NewDense(len(t.test), len(shares), nil)
		for i := range t.test {
			p.classes.SetRow(i, shares)
		}
	}
	return p
}

// fit trains a candidate that has settings. Topics that do not know the labels are shared by candidates with and without
// words.
func (t *trial) fit(ctx context.Context, tx *text, c Candidate, s *Settings) (*Fitted, error) {
	if c.Method.Supervised() {
		return supervise(ctx, t.train, tx, s, &t.data)
	}
	c.Words = false
	with := t.topics[c]
	if with == nil {
		var err error
		if with, err = tx.factorize(ctx, s, nil); err != nil {
			return nil, err
		}
		t.topics[c] = with
	}
	return head(ctx, t.train, with, s)
}

// score returns what a model says of the test rows.
func (t *trial) score(fitted *Fitted) (predictions, error) {
	p := predictions{admission: make([]float64, len(t.test)), threshold: fitted.Threshold}
	if fitted.Classes != nil {
		p.classes = mat.NewDense(len(t.test), len(fitted.Classes), nil)
	}
	model, err := classifier.New(fitted.Parts)
	if err != nil {
		return p, err
	}
	scorer := model.Scorer(classifier.Options{})
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
