// Package gate decides whether a newly trained model, the challenger, replaces the one that is served, the champion. It
// only computes: it reads and writes nothing.
//
// Both models predict the same notes. The challenger has learned from none of them, nor has the champion unless
// Notes.Seen says so. The rule looks at proper scores alone, never at accuracy or F1, which reward predictions that are
// not probabilities (Van Calster et al. 2025, Lancet Digit. Health). Notes of one patient count as one observation in
// every interval.
//
//  1. A challenger that knows nothing is refused, also without a champion: its log loss is not below that of predicting
//     the share of admissions among these very notes, by at least 1.645 standard errors. So is one that learned from
//     fewer notes of an outcome than Notes.Learned demands.
//  2. Without a champion, one that knows something is promoted.
//  3. A champion whose intercept and slope, fitted across folds of the later notes, lower its log loss by at least
//     Settings.RecalibrationGain standard errors is recalibrated, unless the challenger passes 4 and is better even so,
//     or the champion may have learned from the notes or cannot be recalibrated.
//  4. A challenger is promoted if its log loss is not higher than the champion's by more than Settings.Margin standard
//     errors of the paired difference, no subgroup is clearly worse off, and it is calibrated, or else clearly better
//     than the champion.
//
// The rule stands in decide.go, and for readers in docs/safety.md. docs/results.md has a simulation of how often it is
// wrong.
package gate

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/wardcast/wardcast/classifier/eval"
	"github.com/wardcast/wardcast/internal/folds"
)

// Decision is what becomes of the challenger and the champion.
type Decision string

// The decisions.
const (
	Promote     Decision = "promote"     // the challenger becomes the champion
	Recalibrate Decision = "recalibrate" // the champion stays, with another intercept and slope
	Refuse      Decision = "refuse"      // the champion stays as it is
)

// Notes are those that both models are judged on. The challenger has learned from none of them.
type Notes struct {
	Admitted   []bool
	Patients   []string  // of each note; nil if no patient comes twice
	Challenger []float64 // probabilities
	Champion   []float64 // nil if there is none
	// Seen says that the champion may have learned from the notes. That flatters it: a challenger that is better all
	// the same is promoted, but the champion is not recalibrated, and a refusal says that the comparison was not fair.
	Seen      bool
	Fixed     bool // the champion cannot be recalibrated, as one of several outcomes
	Groupings []Grouping
	Learned   *Learned // counts the notes that the challenger was trained on; nil where they are enough
}

// Learned counts notes of training.
type Learned struct {
	Admissions, Others int
	Least              int // of each, to be enough
}

// Grouping sorts the notes by complaint, age band, sex, site or acuity.
type Grouping struct {
	Name  string
	Level []string // of each note; "" is unknown and belongs to no subgroup
}

// Subgroups returns the levels by number and name, each with its notes.
func (g *Grouping) Subgroups() iter.Seq2[string, []int] {
	notes := map[string][]int{}
	for i, level := range g.Level {
		if level != "" {
			notes[level] = append(notes[level], i)
		}
	}
	levels := slices.SortedFunc(maps.Keys(notes), func(a, b string) int {
		return cmp.Or(cmp.Compare(first(a), first(b)), strings.Compare(a, b))
	})
	return func(yield func(string, []int) bool) {
		for _, level := range levels {
			if !yield(level, notes[level]) {
				return
			}
		}
	}
}

// first returns the number that a level begins with, so that 5–17 comes before 18–44: -1 for "under …", and more than
// any for a level without one.
func first(level string) int {
	if strings.HasPrefix(level, "under ") {
		return -1
	}
	rest := strings.TrimLeft(level, "0123456789")
	n, err := strconv.Atoi(level[:len(level)-len(rest)])
	if err != nil {
		return math.MaxInt
	}
	return n
}

// Settings are those of the rule.
type Settings struct {
	// Margin is the number of standard errors of the paired difference by which the challenger's log loss may exceed
	// the champion's. A negative margin demands a challenger that is better by so much.
	Margin float64 `yaml:"margin" json:"margin"`
	// RecalibrationGain is the number of standard errors by which a recalibration must lower the champion's log loss.
	RecalibrationGain float64 `yaml:"recalibration_gain" json:"recalibration_gain"`
	// Error is the chance, at most, of calling a challenger clearly worse in a subgroup, or clearly better, wrongly.
	Error float64 `yaml:"error" json:"error"`
	// MinEvents is the least number of admissions, and of other notes, to replace a champion or judge a subgroup.
	MinEvents int `yaml:"min_events" json:"min_events"`
	// Calibration bounds the calibration slope and the ratio of observed to expected admissions of a challenger that is
	// not clearly better: their 95 % intervals must reach into it.
	Calibration eval.Interval `yaml:"calibration" json:"calibration"`
}

// Default returns the settings that docs/results.md gives reasons for.
func Default() Settings {
	return Settings{
		RecalibrationGain: 1.645, Error: 0.05, MinEvents: 20, Calibration: eval.Interval{Low: 0.8, High: 1.25},
	}
}

// ErrSettings is wrapped by errors of settings out of range.
var ErrSettings = errors.New("settings of the gate out of range")

// Check returns an error that wraps ErrSettings and names the setting.
func (s *Settings) Check() error {
	var problem string
	switch c := s.Calibration; {
	case math.IsNaN(s.Margin) || math.IsInf(s.Margin, 0):
		problem = fmt.Sprintf("margin %v is not a number", s.Margin)
	case !(s.RecalibrationGain >= 0):
		problem = fmt.Sprintf("recalibration_gain %v is less than 0", s.RecalibrationGain)
	case !(s.Error > 0 && s.Error < 0.5):
		problem = fmt.Sprintf("error %v is not between 0 and 0.5", s.Error)
	case s.MinEvents < 2:
		problem = fmt.Sprintf("min_events %d is less than 2", s.MinEvents)
	case !(c.Low > 0 && c.Low < 1 && c.High > 1):
		problem = fmt.Sprintf("calibration %v to %v does not hold 1", c.Low, c.High)
	}
	if problem == "" {
		return nil
	}
	return fmt.Errorf("%w: %s", ErrSettings, problem)
}

// Verdict is a decision with all that it rests on. The JSON names are stable.
type Verdict struct {
	Decision Decision `json:"decision"`
	Reason   string   `json:"reason"` // one sentence
	Figures  Figures  `json:"figures"`
}

// Figures are the measures on the later notes.
type Figures struct {
	Settings     Settings         `json:"settings"`
	BaseLogLoss  float64          `json:"base_rate_log_loss"` // of predicting the share of admissions for every note
	Challenger   *eval.Assessment `json:"challenger"`
	Champion     *eval.Assessment `json:"champion,omitempty"`
	Difference   *eval.Difference `json:"difference,omitempty"`   // the challenger less the champion
	Recalibrated *Recalibrated    `json:"recalibrated,omitempty"` // nil if there is no such fit
	Subgroups    []Subgroup       `json:"subgroups,omitempty"`
	Worst        *Subgroup        `json:"worst_subgroup,omitempty"` // with the most evidence against the challenger
}

// Recalibrated is the champion with another intercept and slope, measured with maps from notes of other patients.
type Recalibrated struct {
	eval.Recalibration                  // fitted on all later notes, to be served
	Probabilities      []float64        `json:"-"` // of the notes, cross-fitted
	Assessment         *eval.Assessment `json:"assessment"`
	Gain               eval.Estimate    `json:"log_loss_less_champion"`
	Challenger         eval.Estimate    `json:"log_loss_less_challenger"`
}

// Subgroup holds the notes of one level, with at least Settings.MinEvents admissions and as many other notes.
type Subgroup struct {
	Grouping string        `json:"grouping"`
	Level    string        `json:"level"`
	Notes    int           `json:"notes"`
	Events   int           `json:"events"`
	LogLoss  eval.Estimate `json:"log_loss_difference"` // challenger less champion
}

// Judge decides by the rule of the package's comment. Settings out of range, lists of different lengths and values that
// are not probabilities are errors; data on which nothing can be judged is a refusal. Equal input gives an equal
// verdict. The cost is O(n log n) for each subgroup.
func Judge(n Notes, s Settings) (*Verdict, error) {
	if err := s.Check(); err != nil {
		return nil, err
	}
	if err := n.check(); err != nil {
		return nil, err
	}
	events := eval.Positives(n.Admitted)
	least := 1
	if n.Champion != nil {
		least = s.MinEvents
	}
	v := &Verdict{Figures: Figures{Settings: s}}
	if others := len(n.Admitted) - events; min(events, others) < least || n.patients() < 2 {
		v.refuse("cannot be judged: %d held-out notes with %d admissions; log loss and AUROC need at least %d "+
			"admissions, as many other notes, and 2 patients", len(n.Admitted), events, least)
		return v, nil
	}
	if err := v.Figures.measure(&n, s); err != nil {
		return nil, err
	}
	v.decide(&n, s)
	return v, nil
}

func (n *Notes) check() error {
	if err := eval.Check(n.Admitted, n.Challenger, n.Patients); err != nil {
		return fmt.Errorf("the challenger: %w", err)
	}
	if n.Champion != nil {
		if err := eval.Check(n.Admitted, n.Champion, n.Patients); err != nil {
			return fmt.Errorf("the champion: %w", err)
		}
	}
	for _, g := range n.Groupings {
		if len(g.Level) != len(n.Admitted) {
			return fmt.Errorf("%w: %d outcomes, %d levels of %q", eval.ErrShape, len(n.Admitted), len(g.Level), g.Name)
		}
	}
	return nil
}

func (n *Notes) patients() int {
	if n.Patients == nil {
		return len(n.Admitted)
	}
	return folds.Distinct(n.Patients)
}
