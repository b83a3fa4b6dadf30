package fit

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
	"github.com/wardcast/wardcast/internal/notes"
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
// 1, or a candidate would stand twice.
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
		if !c.Method.known() || c.Method == BagOfWords && words {
			return nil, fmt.Errorf("%w: method %q is none of %s, %s, those with topics also with %s", ErrSettings, name, Majority, strings.Join(Methods(), ", "), wordsSuffix)
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
	s.Method, s.Words, s.Rank, s.Text.Weighting = c.Method, c.Words, max(c.Rank, 1), c.Weighting
	if c.Method != L1NMF {
		s.L1Topics, s.L1Scores = nil, nil
	}
	return s, s.check()
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
}

// Comparison is what is compared, and on which splits.
type Comparison struct {
	Candidates []Candidate
	Repeats    Repeats
	Settings   Settings // what the candidates share; the weights of l1-nmf are its own
	Progress   Progress // may be nil
}

// answers is what one candidate said in one repetition, by row: splits that end in any order leave the same.
type answers struct {
	p      []float64
	right  []bool // called rightly at the split's threshold
	tested []bool
}

func newAnswers(n int) *answers {
	return &answers{p: make([]float64, n), right: make([]bool, n), tested: make([]bool, n)}
}

// measure returns the metrics of all tested rows together, whichever model answered them, and the share that was
// called rightly.
func (a *answers) measure(all []notes.Row) (m eval.Metrics, accuracy float64, err error) {
	var y []bool
	var p []float64
	var visits []string
	right := 0
	for i, tested := range a.tested {
		if !tested {
			continue
		}
		y, p, visits = append(y, all[i].Positive), append(p, a.p[i]), append(visits, visit(all, i))
		if a.right[i] {
			right++
		}
	}
	if m, err = eval.Measure(y, p, 0.5, visits); err != nil {
		return m, 0, fmt.Errorf("measuring predictions: %w", err)
	}
	if m.AUROC == nil {
		return m, 0, fmt.Errorf("measuring predictions: %w", eval.ErrOneClass)
	}
	return m, float64(right) / float64(m.N), nil
}

// Evaluate trains every candidate on the training rows of every split and scores the test rows with the
// models, exactly as a stream would be. The scores do not depend on GOMAXPROCS.
func Evaluate(ctx context.Context, d Data, c Comparison) ([]Score, error) {
	got := make([][]*answers, len(c.Candidates)) // by candidate, repeat
	total := 0
	for i := range got {
		got[i] = make([]*answers, len(c.Repeats))
		for r := range c.Repeats {
			got[i][r] = newAnswers(len(d.Rows))
			total += len(c.Repeats[r])
		}
	}
	var done atomic.Int64
	work, ctx := errgroup.WithContext(ctx)
	work.SetLimit(runtime.GOMAXPROCS(0))
	for r, splits := range c.Repeats {
		for _, split := range splits {
			work.Go(func() error {
				t, err := newTrial(d, split, c.Settings.Text.MinDF)
				if err != nil {
					return err
				}
				for i, candidate := range c.Candidates {
					p, threshold, err := t.run(ctx, candidate, c.Settings)
					if err != nil {
						return fmt.Errorf("%s, %s, rank %d: %w", candidate, candidate.Weighting, candidate.Rank, err)
					}
					a := got[i][r]
					for at, row := range split.Test {
						a.p[row], a.tested[row] = p[at], true
						a.right[row] = (p[at] >= threshold) == d.Rows[row].Positive
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
		if err := scores[i].summarize(c.Candidates[i], d.Rows, got[i]); err != nil {
			return nil, err
		}
	}
	return scores, nil
}

// summarize sets the means over the repetitions.
func (s *Score) summarize(c Candidate, all []notes.Row, repeats []*answers) error {
	s.Candidate, s.Name, s.Repeats = c, c.String(), len(repeats)
	var accuracy, auroc, auprc, brier, scaled, loss, intercept, slope, ratio []float64
	for r, a := range repeats {
		m, right, err := a.measure(all)
		if err != nil {
			return err
		}
		if r == 0 {
			s.Notes, s.Positives, s.AUROCInterval = m.N, m.Positives, m.AUROCInterval
		}
		accuracy, auroc, auprc = append(accuracy, right), append(auroc, *m.AUROC), append(auprc, *m.AUPRC)
		brier, scaled, loss = append(brier, m.Brier), append(scaled, *m.BrierScaled), append(loss, m.LogLoss)
		intercept, slope, ratio = appendKnown(intercept, m.CalibrationIntercept), appendKnown(slope, m.CalibrationSlope), appendKnown(ratio, m.ObservedExpected)
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

func appendKnown(list []float64, v *float64) []float64 {
	if v == nil {
		return list
	}
	return append(list, *v)
}

// trial is one split: what its candidates share is computed once.
type trial struct {
	train  *rows
	test   []notes.Row
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
	return &trial{train: train, test: test, texts: map[textproc.Weighting]*text{}, topics: map[Candidate]*text{}}, nil
}

// run returns the candidate's probabilities of the test rows and its threshold.
func (t *trial) run(ctx context.Context, c Candidate, s Settings) ([]float64, float64, error) {
	p := make([]float64, len(t.test))
	if c.Method == Majority {
		share := float64(positives(t.train.all)) / float64(len(t.train.all))
		for i := range p {
			p[i] = share
		}
		return p, 0.5, nil
	}
	s, err := c.settings(s)
	if err != nil {
		return nil, 0, err
	}
	tx := t.texts[c.Weighting]
	if tx == nil {
		if tx, err = vectorize(t.train, s.Text); err != nil {
			return nil, 0, err
		}
		t.texts[c.Weighting] = tx
	}
	key := c
	key.Words = false
	if known := t.topics[key]; known != nil {
		tx = known
	} else {
		if tx, err = tx.factorize(ctx, &s, nil); err != nil {
			return nil, 0, err
		}
		t.topics[key] = tx
	}
	fitted, err := head(ctx, t.train, tx, &s)
	if err != nil {
		return nil, 0, err
	}
	model, err := classifier.New(fitted.Parts)
	if err != nil {
		return nil, 0, err
	}
	scorer := model.Scorer(classifier.Options{})
	for i, row := range t.test {
		aux := row.Aux
		if len(t.train.columns) > len(aux) {
			aux = append(slices.Clip(aux), classifier.Complaint(row.Complaint))
		}
		p[i] = scorer.Probability(row.Text, aux)
	}
	return p, fitted.Threshold, nil
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
