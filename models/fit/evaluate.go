package fit

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

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
// for each weighting, Majority once.
func Candidates(methods []string, weightings []textproc.Weighting, ranks []int) ([]Candidate, error) {
	var all []Candidate
	for _, name := range methods {
		base, words := strings.CutSuffix(name, wordsSuffix)
		c := Candidate{Method: Method(base), Words: words}
		switch c.Method {
		case Majority:
			all = append(all, c)
			continue
		case BagOfWords, SONMF, SVD:
		default:
			return nil, fmt.Errorf("%w: method %q is none of %s, %s, %s, %s, the last two also with %s", ErrSettings, name, Majority, BagOfWords, SONMF, SVD, wordsSuffix)
		}
		for _, c.Weighting = range weightings {
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
	return all, nil
}

// String names the candidate as Candidates reads it.
func (c Candidate) String() string {
	if c.Words && c.Method != BagOfWords {
		return string(c.Method) + wordsSuffix
	}
	return string(c.Method)
}

// Score is what a candidate reached on one group of notes: means over the repeats.
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
	Seconds              float64        `json:"seconds"` // to train one model
}

// Split is the rows that models are trained on and those that they are tested on. No visit is in both.
type Split struct{ Train, Test []int }

// Repeats is for each repetition the splits that together test every row once.
type Repeats [][]Split

// CrossValidation returns repeated stratified folds that never part a visit.
func CrossValidation(all []notes.Row, folds, repeats int, seed uint64) (Repeats, error) {
	visits := make([]string, len(all))
	for i := range all {
		visits[i] = visit(all, i)
	}
	out := make(Repeats, repeats)
	for r := range out {
		fold, err := eval.StratifiedFolds(labels(all), visits, folds, seed+uint64(r))
		if err != nil {
			return nil, fmt.Errorf("choosing folds: %w", err)
		}
		out[r] = make([]Split, folds)
		for i, f := range fold {
			for g := range out[r] {
				if g == f {
					out[r][g].Test = append(out[r][g].Test, i)
				} else {
					out[r][g].Train = append(out[r][g].Train, i)
				}
			}
		}
	}
	return out, nil
}

// Comparison is what is compared, and on which splits.
type Comparison struct {
	Candidates []Candidate
	Repeats    Repeats
	Settings   Settings // what the candidates share
	Progress   Progress // may be nil
}

// Evaluate trains every candidate on the training rows of every split and scores the test rows with the
// models, exactly as a stream would be.
func Evaluate(ctx context.Context, d Data, c Comparison) ([]Score, error) {
	all, repeats, candidates, progress := d.Rows, c.Repeats, c.Candidates, c.Progress
	type answers struct {
		mu      sync.Mutex
		y       []bool
		p       []float64
		visits  []string
		correct int
		seconds float64
	}
	got := make([][]answers, len(candidates)) // by candidate, repeat
	total := 0
	for i := range got {
		got[i] = make([]answers, len(repeats))
	}
	for _, r := range repeats {
		total += len(r) * len(candidates)
	}
	var done atomic.Int64
	work, ctx := errgroup.WithContext(ctx)
	work.SetLimit(runtime.GOMAXPROCS(0))
	for r, splits := range repeats {
		for _, split := range splits {
			work.Go(func() error {
				t, err := newTrial(d, split)
				if err != nil {
					return err
				}
				for i, candidate := range candidates {
					began := time.Now()
					p, threshold, err := t.run(ctx, candidate, c.Settings)
					if err != nil {
						return fmt.Errorf("%s, %s, rank %d: %w", candidate, candidate.Weighting, candidate.Rank, err)
					}
					a := &got[i][r]
					a.mu.Lock()
					a.seconds += time.Since(began).Seconds() / float64(len(splits))
					for at, row := range split.Test {
						a.y, a.p, a.visits = append(a.y, all[row].Positive), append(a.p, p[at]), append(a.visits, visit(all, row))
						if (p[at] >= threshold) == all[row].Positive {
							a.correct++
						}
					}
					a.mu.Unlock()
					if progress != nil {
						progress(int(done.Add(1)), total)
					}
				}
				return nil
			})
		}
	}
	if err := work.Wait(); err != nil {
		return nil, err
	}
	scores := make([]Score, len(candidates))
	for i := range scores {
		sc := &scores[i]
		sc.Candidate, sc.Name, sc.Repeats = candidates[i], candidates[i].String(), len(repeats)
		var accuracies, aurocs, intercepts, slopes, ratios []float64
		share := 1 / float64(len(repeats))
		for r := range repeats {
			a := &got[i][r]
			m, err := eval.Measure(a.y, a.p, 0.5, a.visits)
			if err != nil {
				return nil, fmt.Errorf("measuring predictions: %w", err)
			}
			if m.AUROC == nil {
				return nil, fmt.Errorf("measuring predictions: %w", eval.ErrOneClass)
			}
			if r == 0 {
				sc.Notes, sc.Positives, sc.AUROCInterval = m.N, m.Positives, m.AUROCInterval
			}
			accuracies, aurocs = append(accuracies, float64(a.correct)/float64(m.N)), append(aurocs, *m.AUROC)
			sc.AUPRC += share * *m.AUPRC
			sc.Brier += share * m.Brier
			sc.BrierScaled += share * *m.BrierScaled
			sc.LogLoss += share * m.LogLoss
			sc.Seconds += share * a.seconds
			for list, v := range map[*[]float64]*float64{&intercepts: m.CalibrationIntercept, &slopes: m.CalibrationSlope, &ratios: m.ObservedExpected} {
				if v != nil {
					*list = append(*list, *v)
				}
			}
		}
		sc.Accuracy, sc.AccuracySD = meanSD(accuracies)
		sc.AUROC, sc.AUROCSD = meanSD(aurocs)
		sc.CalibrationIntercept, sc.CalibrationSlope, sc.ObservedExpected = mean(intercepts), mean(slopes), mean(ratios)
	}
	return scores, nil
}

// trial is one split: what its candidates share is computed once.
type trial struct {
	train  *rows
	test   []notes.Row
	texts  map[textproc.Weighting]*text
	topics map[Candidate]*text // Words cleared: topics do not depend on it
}

func newTrial(d Data, split Split) (*trial, error) {
	test := take(d.Rows, split.Test)
	d.Rows = take(d.Rows, split.Train)
	train, err := newRows(d)
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
	s.Method, s.Words, s.Rank, s.Text.Weighting = c.Method, c.Words, max(c.Rank, 1), c.Weighting
	if err := s.check(); err != nil {
		return nil, 0, err
	}
	var err error
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
		if tx, err = tx.factorize(ctx, c.Method, c.Rank, s.Seed); err != nil {
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
	scorer := model.Scorer(classifier.Limits{})
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
