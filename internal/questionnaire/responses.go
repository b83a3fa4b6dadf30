package questionnaire

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/models"
	"github.com/wardcast/wardcast/solver/icqf"
)

// ErrVisits is returned for a model of several visits, which no single response can be scored by.
var ErrVisits = errors.New("a model of several visits, as of `questionnaire longitudinal`, and a response is one visit")

// Instrument is a questionnaire whose responses are scored by a model. It is safe for concurrent use.
type Instrument struct {
	name      string
	model     *Model
	info      msg.Model
	items     map[string]int // by their names
	confounds map[string]int
	levels    [][]float64 // of each confound as numbers, NaN where one is none
	missing   *layout     // tells which values are missing
	scores    []msg.Score // without the scores themselves
}

// LoadInstrument returns the instrument of this name, scored by the model in the output folder of a fit. Scores name so many
// items of each factor, 0 is all that have a loading. The errors are those of Load, and ErrVisits.
func LoadInstrument(name, dir string, items int) (*Instrument, error) {
	m, err := Load(dir)
	if err != nil {
		return nil, err
	}
	in, err := newInstrument(name, m, items)
	if err != nil {
		return nil, fmt.Errorf("loading the model in %q: %w", dir, err)
	}
	return in, nil
}

func newInstrument(name string, m *Model, items int) (*Instrument, error) {
	if m.Visits != nil {
		return nil, ErrVisits
	}
	missing, err := header{}.roles(&Columns{Missing: m.Missing})
	if err != nil {
		return nil, err
	}
	in := &Instrument{
		name: name, model: m, missing: missing, items: make(map[string]int), confounds: make(map[string]int), levels: make([][]float64, len(m.Confounds)),
		info: msg.Model{Name: name, Version: models.VersionName(m.CreatedAt, m.sha256), Method: m.Summary.Method, SHA256: m.sha256},
	}
	for j, item := range m.Items {
		if item.Range.Low < 0 && !m.FromLow {
			return nil, fmt.Errorf("%w: item %q: %w", ErrModel, item.Name, ErrNegative)
		}
		in.items[item.Name] = j
	}
	for k, c := range m.Confounds {
		in.confounds[c.Name] = k
		for _, level := range c.Levels {
			v, err := number(level)
			if err != nil {
				v = math.NaN()
			}
			in.levels[k] = append(in.levels[k], v)
		}
	}
	for t, factor := range factorNames(m.factors.Loadings) {
		in.scores = append(in.scores, msg.Score{Factor: factor, Items: in.loadings(t, items)})
	}
	return in, nil
}

// loadings returns the items that load on a factor most.
func (in *Instrument) loadings(factor, most int) []msg.Loading {
	all := []msg.Loading{}
	for j, item := range in.model.Items {
		if q := in.model.factors.Loadings.At(j, factor); q > 0 {
			all = append(all, msg.Loading{Item: item.Name, Text: item.Text, Reversed: item.Reversed, Loading: msg.Round(q)})
		}
	}
	slices.SortStableFunc(all, func(a, b msg.Loading) int { return cmp.Compare(b.Loading, a.Loading) })
	if most > 0 {
		all = all[:min(most, len(all))]
	}
	return slices.Clip(all)
}

// Model names the model: by the instrument, by a version as the model store names them, and by the SHA-256 of its SHA256SUMS, which
// vouches for its files.
func (in *Instrument) Model() msg.Model { return in.info }

// Created returns when the model was fitted.
func (in *Instrument) Created() time.Time { return in.model.CreatedAt }

// Scorer returns a scorer of responses to the instrument.
func (in *Instrument) Scorer() *Scorer {
	m := in.model
	return &Scorer{
		Instrument: in, factors: m.factors.NewScorer(), answers: make([]float64, len(m.Items)), given: make([]msg.Confound, len(m.Confounds)),
		known: make([]float64, len(confoundColumns(m.Confounds))), values: make([]float64, len(in.scores)), scores: slices.Clone(in.scores),
	}
}

// Scorer scores one response after the other in the same memory. It is not safe for concurrent use.
type Scorer struct {
	*Instrument
	factors *icqf.Scorer
	answers []float64 // as they count, NaN where there is none
	given   []msg.Confound
	known   []float64 // as encode makes them
	values  []float64
	scores  []msg.Score
	beyond  []string
}

// Score writes the scores of a response into s: those that Model.Score gives a row of the same answers and confounds, to the last
// bit. Items are found by their names, whatever else was answered; an item that is not there is missing, and so is a code of
// missing entries. A number is the level of a categorical confound that reads as that number. s holds strings of r, and shares
// its lists with the scorer until the next response. It allocates nothing in the steady state.
//
// The error is a *msg.Error that names the model's item or confound: WrongType and OutOfRange; NoAnswers where no item of the
// model is answered; MissingField, WrongType and UnknownLevel of a confound. What the model has not may be of any type.
func (sc *Scorer) Score(r *msg.Response, scoredAt string, s *msg.Scores) error {
	answered, unknown, err := sc.read(r.Answers)
	if err == nil {
		err = sc.encode(r.Confounds)
	}
	if err != nil {
		return err
	}
	if err := sc.factors.ScoreTo(sc.values, sc.answers, sc.known); err != nil {
		return fmt.Errorf("scoring a response: %w", err)
	}
	for t, v := range sc.values {
		sc.scores[t].Score = v
	}
	*s = msg.Scores{
		ResponseID: r.ResponseID, ParticipantID: r.ParticipantID, Instrument: sc.name, AnsweredAt: r.AnsweredAt, ScoredAt: scoredAt,
		Model: sc.info, Scores: sc.scores, Answered: answered, Items: len(sc.answers), UnknownItems: unknown, Beyond: sc.beyond,
	}
	return nil
}

// read fills in the answers. It returns how many items have one, and how many answers are to no item.
func (sc *Scorer) read(answers []msg.Answer) (answered, unknown int, err error) {
	for j := range sc.answers {
		sc.answers[j] = math.NaN()
	}
	for i := range answers {
		a := &answers[i]
		j, ok := sc.items[a.Item]
		switch {
		case ok && a.Mistyped:
			sc.answers[j] = math.Inf(1) // which no JSON holds
		case ok && a.Value.Set && !slices.Contains(sc.missing.codes, a.Value.Value):
			sc.answers[j] = a.Value.Value
		case ok:
			sc.answers[j] = math.NaN() // the last of several holds
		case a.Value.Set || a.Mistyped:
			unknown++
		}
	}
	for j, v := range sc.answers {
		if v != v {
			continue
		}
		item := &sc.model.Items[j]
		if math.IsInf(v, 0) {
			return 0, 0, &msg.Error{Reason: msg.WrongType, Field: "answers." + item.Name}
		}
		if v < item.Range.Low || v > item.Range.High {
			return 0, 0, &msg.Error{Reason: msg.OutOfRange, Field: "answers." + item.Name}
		}
		sc.answers[j] = item.orient(v, sc.model.FromLow)
		answered++
	}
	if answered == 0 {
		return 0, 0, &msg.Error{Reason: msg.NoAnswers, Field: "answers"}
	}
	return answered, unknown, nil
}

// encode fills in the known columns as Table.encode does.
func (sc *Scorer) encode(confounds []msg.Confound) error {
	clear(sc.given)
	clear(sc.known)
	sc.beyond = sc.beyond[:0]
	for i := range confounds {
		if k, ok := sc.confounds[confounds[i].Name]; ok {
			sc.given[k] = confounds[i]
		}
	}
	column := 0
	for k := range sc.model.Confounds {
		c := &sc.model.Confounds[k]
		refuse := func(why msg.Reason) error { return &msg.Error{Reason: why, Field: "confounds." + c.Name} }
		v, isNumber := sc.given[k].Value.Number()
		level, isText := sc.given[k].Value.Text()
		level = strings.TrimSpace(level)
		switch {
		case sc.given[k].Mistyped:
			return refuse(msg.WrongType)
		case !isNumber && !isText, isNumber && slices.Contains(sc.missing.codes, v), isText && sc.missing.empty(level):
			return refuse(msg.MissingField)
		case c.Kind == models.Numeric && isText:
			return refuse(msg.WrongType)
		case c.Kind == models.Numeric:
			a, cut := c.share(v)
			if cut {
				sc.beyond = append(sc.beyond, c.Name)
			}
			sc.known[column], sc.known[column+1] = 1-a, a
			column += 2
			continue
		}
		at := slices.Index(sc.levels[k], v)
		if isText {
			at = slices.Index(c.Levels, level)
		}
		if at < 0 {
			return refuse(msg.UnknownLevel)
		}
		sc.known[column+at] = 1
		column += len(c.Levels)
	}
	if len(sc.known) > 0 {
		sc.known[column] = 1 // the intercept
	}
	return nil
}
