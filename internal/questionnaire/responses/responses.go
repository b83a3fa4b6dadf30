// Package responses scores the responses to a questionnaire one by one, as messages arrive. It links only the code for
// scoring, not for reading files, fitting or drawing.
package responses

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/internal/questionnaire"
	"github.com/wardcast/wardcast/internal/questionnaire/model"
	"github.com/wardcast/wardcast/solver/icqf"
	"github.com/wardcast/wardcast/solver/linalg/eap"
)

// ErrVisits is returned for a model of several visits: a single response cannot be scored by it.
var ErrVisits = errors.New("a model of several visits, from `questionnaire longitudinal`, but a response is one visit")

// ErrUnbounded is returned for a model of factor analysis.
var ErrUnbounded = errors.New("a model of factor analysis, from `questionnaire fit --method fa`, which scores " +
	"no responses from messages")

// Instrument is a questionnaire whose responses are scored by a model. It is safe for concurrent use.
type Instrument struct {
	Model *model.Model
	// the name of the model in the scores: instrument, version, method and the SHA-256 of its SHA256SUMS
	Info msg.Model

	items     map[string]int // by their names
	confounds map[string]int
	levels    [][]float64 // of each confound as numbers, NaN for a level that is not a number
	missing   *questionnaire.Missing
	scores    []msg.Score // without the scores themselves
}

// New returns the instrument of this name, scored by a loaded model that version names. Scores name that many items for
// each factor, 0 all with a loading. The error is ErrVisits, ErrUnbounded, or wraps model.ErrModel.
func New(name, version string, m *model.Model, items int) (*Instrument, error) {
	if m.Visits != nil {
		return nil, ErrVisits
	}
	if m.FA != nil && m.FA.Graded == nil {
		return nil, ErrUnbounded
	}
	in := &Instrument{
		Model: m, Info: msg.Model{Name: name, Version: version, Method: m.Summary.Method, SHA256: m.SHA256},
		items: make(map[string]int), confounds: make(map[string]int), levels: make([][]float64, len(m.Confounds)),
		missing: questionnaire.NewMissing(m.Missing),
	}
	for j, item := range m.Items {
		if item.Range.Low < 0 && !m.FromLow {
			return nil, fmt.Errorf("%w: item %q: %w", model.ErrModel, item.Name, questionnaire.ErrNegative)
		}
		in.items[item.Name] = j
	}
	for k, c := range m.Confounds {
		in.confounds[c.Name] = k
		for _, level := range c.Levels {
			v, err := questionnaire.Number(level)
			if err != nil {
				v = math.NaN()
			}
			in.levels[k] = append(in.levels[k], v)
		}
	}
	for t, factor := range model.FactorNames(m.Loadings()) {
		in.scores = append(in.scores, msg.Score{Factor: factor, Items: in.loadings(t, items)})
	}
	return in, nil
}

// loadings returns the items with the largest loadings on a factor.
func (in *Instrument) loadings(factor, most int) []msg.Loading {
	all := []msg.Loading{}
	for j, item := range in.Model.Items {
		if q := in.Model.Loadings().At(j, factor); q > 0 || q < 0 && in.Model.FA != nil {
			all = append(all,
				msg.Loading{Item: item.Name, Text: item.Text, Reversed: item.Reversed, Loading: msg.Round(q)})
		}
	}
	slices.SortStableFunc(all, func(a, b msg.Loading) int {
		return cmp.Compare(math.Abs(b.Loading), math.Abs(a.Loading))
	})
	if most > 0 {
		all = all[:min(most, len(all))]
	}
	return slices.Clip(all)
}

// Scorer returns a scorer of responses to the instrument.
func (in *Instrument) Scorer() *Scorer {
	m := in.Model
	sc := &Scorer{
		Instrument: in, answers: make([]float64, len(m.Items)),
		given: make([]msg.Confound, len(m.Confounds)),
		known: make([]float64, len(questionnaire.Columns(m.Confounds))), values: make([]float64, len(in.scores)),
		scores: slices.Clone(in.scores),
	}
	if m.FA != nil {
		sc.graded, sc.errs = m.FA.Graded.NewScorer(), make([]float64, len(in.scores))
	} else {
		sc.factors = m.ICQF.NewScorer()
	}
	return sc
}

// Scorer scores one response after the other in the same memory. It is not safe for concurrent use.
type Scorer struct {
	*Instrument
	factors *icqf.Scorer
	graded  *eap.Scorer // in place of factors
	answers []float64   // as they are scored, NaN for a missing one
	given   []msg.Confound
	known   []float64 // the columns of questionnaire.Columns
	values  []float64
	errs    []float64 // with graded
	scores  []msg.Score
	beyond  []string
}

// Score writes the scores of a response into s. They are those of fit.Score for a row with the same answers and
// confounds, to the last bit. Items are found by their names; answers to other items are ignored. An item without an
// answer is missing, and so is a code of missing entries. A number is the level of a categorical confound that reads as
// that number. s holds strings of r, and shares its lists with the scorer until the next response. Score allocates
// nothing in the steady state.
//
// The error is a *msg.Error that names the model's item or confound: WrongType and OutOfRange; NoAnswers if no item of
// the model is answered; MissingField, WrongType and UnknownLevel of a confound. Fields that the model does not use may
// have any type.
func (sc *Scorer) Score(r *msg.Response, scoredAt string, s *msg.Scores) error {
	answered, unknown, err := sc.read(r.Answers)
	if err == nil {
		err = sc.encode(r.Confounds)
	}
	if err != nil {
		return err
	}
	if sc.graded != nil {
		sc.graded.ScoreTo(sc.values, sc.errs, sc.answers)
	} else if err := sc.factors.ScoreTo(sc.values, sc.answers, sc.known); err != nil {
		return fmt.Errorf("scoring a response: %w", err)
	}
	for t, v := range sc.values {
		sc.scores[t].Score = v
		if sc.graded != nil {
			sc.scores[t].StandardError = sc.errs[t]
		}
	}
	*s = msg.Scores{
		ResponseID: r.ResponseID, ParticipantID: r.ParticipantID, Instrument: sc.Info.Name, AnsweredAt: r.AnsweredAt,
		ScoredAt: scoredAt,
		Model:    sc.Info, Scores: sc.scores, Answered: answered, Items: len(sc.answers), UnknownItems: unknown,
		Beyond: sc.beyond,
	}
	return nil
}

// read fills in the answers. It returns the number of items with an answer, and of answers to unknown items.
func (sc *Scorer) read(answers []msg.Answer) (answered, unknown int, err error) {
	for j := range sc.answers {
		sc.answers[j] = math.NaN()
	}
	for i := range answers {
		a := &answers[i]
		j, ok := sc.items[a.Item]
		switch {
		case ok && a.Mistyped:
			sc.answers[j] = math.Inf(1) // which JSON cannot hold
		case ok && a.Value.Set && !sc.missing.Number(a.Value.Value):
			sc.answers[j] = a.Value.Value
		case ok:
			sc.answers[j] = math.NaN() // the last answer to an item counts
		case a.Value.Set || a.Mistyped:
			unknown++
		}
	}
	for j, v := range sc.answers {
		if v != v {
			continue
		}
		item := &sc.Model.Items[j]
		if math.IsInf(v, 0) {
			return 0, 0, &msg.Error{Reason: msg.WrongType, Field: "answers." + item.Name}
		}
		if !item.Range.Holds(v) {
			return 0, 0, &msg.Error{Reason: msg.OutOfRange, Field: "answers." + item.Name}
		}
		sc.answers[j] = item.Orient(v, sc.Model.FromLow)
		answered++
	}
	if answered == 0 {
		return 0, 0, &msg.Error{Reason: msg.NoAnswers, Field: "answers"}
	}
	return answered, unknown, nil
}

// encode fills in the known columns.
func (sc *Scorer) encode(confounds []msg.Confound) error {
	clear(sc.given)
	clear(sc.known)
	sc.beyond = sc.beyond[:0]
	for i := range confounds {
		if k, ok := sc.confounds[confounds[i].Name]; ok {
			sc.given[k] = confounds[i]
		}
	}
	rest := sc.known
	for k := range sc.Model.Confounds {
		c := &sc.Model.Confounds[k]
		refuse := func(why msg.Reason) error { return &msg.Error{Reason: why, Field: "confounds." + c.Name} }
		v, isNumber := sc.given[k].Value.Number()
		level, isText := sc.given[k].Value.Text()
		level = strings.TrimSpace(level)
		switch {
		case sc.given[k].Mistyped:
			return refuse(msg.WrongType)
		case !isNumber && !isText, isNumber && sc.missing.Number(v), isText && sc.missing.Cell(level):
			return refuse(msg.MissingField)
		case c.Kind == questionnaire.Numeric && isText:
			return refuse(msg.WrongType)
		case c.Kind == questionnaire.Numeric:
			if c.EncodeTo(rest, v) {
				sc.beyond = append(sc.beyond, c.Name)
			}
		default:
			at := slices.Index(sc.levels[k], v)
			if isText {
				at = slices.Index(c.Levels, level)
			}
			if at < 0 {
				return refuse(msg.UnknownLevel)
			}
			rest[at] = 1
		}
		rest = rest[c.Width():]
	}
	if len(sc.known) > 0 {
		rest[0] = 1 // the intercept
	}
	return nil
}
