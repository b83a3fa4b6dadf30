package classifier

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/classifier/bundle"
	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/internal/lists"
	"github.com/wardcast/wardcast/textproc"
)

var (
	// ErrModel is returned for parts of a model that do not fit together.
	ErrModel = errors.New("malformed model")
	// ErrVersion is returned for a model whose columns mean something else, because it read notes in another way.
	ErrVersion = errors.New("made by another version of wardcast")
)

// Parts is all that a model is made of.
type Parts struct {
	Info       msg.Model            // name, version, method and hash, copied into every prediction
	Vectorizer *textproc.Vectorizer // p terms
	Topics     *mat.Dense           // F, p×k; nil for a model of words alone
	Prevalence []float64            // k, as returned by Prevalence; nil if unknown
	Aux        []bundle.AuxColumn
	// Heads give the log-odds of each class against the reference: one head for each class except the reference, in the
	// order of Classes. A yes/no model has one head, for admission.
	Heads       []Head
	Classes     []string // the names of the κ+1 outcomes, the reference first; nil for a yes/no model
	Admission   []bool   // for each class whether it means a bed; nil for a yes/no model
	Calibration bundle.Calibration
	Threshold   float64 // a note is "admit" from this probability of admission on
}

// Head is the linear function of a note that gives the log-odds of one class against the reference.
type Head struct {
	Beta      []float64 // k, on the scale of the scores
	Words     []float64 // p, mostly 0; nil, in all heads, for a model of topics alone
	Grams     []float64 // one per piece of words; nil, in all heads, for a model without
	Gamma     []float64 // one per auxiliary feature, on the scale of the centred features
	Intercept float64

	columns []float64 // what a value of 1 in each column adds, through topics and words; set by New
}

// Model scores notes. It is immutable and safe for concurrent use.
type Model struct {
	parts  Parts
	terms  []textproc.Term
	rank   int
	topics []float64 // F by rows: topics[j*rank+t]
	labels []string  // of topics
	heads  []string  // of terms, as predictions write them
	turned []Head    // those of parts with the sign turned: of the reference against each class, nil for yes/no
}

// Vectorizer returns what turns notes into rows.
func (m *Model) Vectorizer() *textproc.Vectorizer { return m.parts.Vectorizer }

const labelTerms = 3 // how many terms name a topic

// New checks that the parts fit together and returns their model. It keeps them.
func New(parts Parts) (*Model, error) {
	if parts.Vectorizer == nil {
		return nil, fmt.Errorf("%w: no vectorizer", ErrModel)
	}
	m := &Model{parts: parts, terms: parts.Vectorizer.Vocabulary()}
	p := len(m.terms)
	if parts.Topics != nil {
		rows, k := parts.Topics.Dims()
		if rows != p {
			return nil, fmt.Errorf("%w: topics of %d terms for a vocabulary of %d", ErrModel, rows, p)
		}
		m.rank, m.topics = k, mat.DenseCopyOf(parts.Topics).RawMatrix().Data
		m.parts.Topics = nil // held once
	}
	width := 0
	for i := range parts.Aux {
		if err := checkAux(&parts.Aux[i]); err != nil {
			return nil, err
		}
		width += len(parts.Aux[i].Mean)
	}
	switch {
	case parts.Prevalence != nil && len(parts.Prevalence) != m.rank:
		return nil, fmt.Errorf("%w: prevalence of %d topics, must be %d", ErrModel, len(parts.Prevalence), m.rank)
	case !(parts.Threshold >= 0 && parts.Threshold <= 1):
		return nil, fmt.Errorf("%w: threshold %v", ErrModel, parts.Threshold)
	}
	if err := parts.checkClasses(); err != nil {
		return nil, err
	}
	for i := range parts.Heads {
		if err := parts.checkHead(i, m.rank, p, width); err != nil {
			return nil, err
		}
		parts.Heads[i].columns = m.effects(&parts.Heads[i])
	}
	if err := cmp.Or(finite("topics", m.topics), finite("prevalence", parts.Prevalence)); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrModel, err)
	}
	if err := checkCalibration(&parts.Calibration, len(parts.Heads)); err != nil {
		return nil, err
	}
	m.heads = make([]string, p)
	for j, t := range m.terms {
		m.heads[j] = msg.TermHead(t.Text, t.Surface)
	}
	if parts.Classes != nil {
		for _, h := range parts.Heads {
			m.turned = append(m.turned, Head{
				Beta: turned(h.Beta), Words: turned(h.Words), Grams: turned(h.Grams),
				Gamma: turned(h.Gamma), Intercept: 0 - h.Intercept, columns: turned(h.columns),
			})
		}
	}
	m.labels = lists.Make(m.rank, m.label)
	return m, nil
}

// checkClasses returns an error that wraps ErrModel unless there is one head for each class except the reference, and
// every class has a name and a mark of admission.
func (p *Parts) checkClasses() error {
	if p.Classes == nil && p.Admission == nil {
		if len(p.Heads) != 1 {
			return fmt.Errorf("%w: %d heads in a yes/no model, must be 1", ErrModel, len(p.Heads))
		}
		return nil
	}
	if n := len(p.Classes); len(p.Heads) != n-1 || len(p.Admission) != n {
		return fmt.Errorf("%w: %d heads and %d marks of admission for %d classes", ErrModel, len(p.Heads),
			len(p.Admission), n)
	}
	if err := bundle.CheckAdmission(p.Classes, p.admissionClasses()); err != nil {
		return fmt.Errorf("%w: %w", ErrModel, err)
	}
	return nil
}

func (p *Parts) admissionClasses() []string {
	return lists.Take(p.Classes, lists.Where(len(p.Admission), func(c int) bool { return p.Admission[c] }))
}

// checkHead returns an error that wraps ErrModel for a head that does not fit k topics, p terms and q auxiliary
// features, or holds a value that is not finite.
func (p *Parts) checkHead(at, k, terms, q int) error {
	h := &p.Heads[at]
	switch {
	case len(h.Beta) != k:
		return fmt.Errorf("%w: %d coefficients for %d topics in head %d", ErrModel, len(h.Beta), k, at)
	case h.Words != nil && len(h.Words) != terms:
		return fmt.Errorf("%w: %d word coefficients for a vocabulary of %d in head %d", ErrModel,
			len(h.Words), terms, at)
	case h.Grams != nil && len(h.Grams) != len(p.Vectorizer.Pieces()):
		return fmt.Errorf("%w: %d coefficients for %d pieces of words in head %d", ErrModel, len(h.Grams),
			len(p.Vectorizer.Pieces()), at)
	case (h.Grams == nil) != (p.Heads[0].Grams == nil):
		return fmt.Errorf("%w: coefficients of pieces of words in some heads only", ErrModel)
	case (h.Words == nil) != (p.Heads[0].Words == nil):
		return fmt.Errorf("%w: word coefficients in some heads only", ErrModel)
	case len(h.Gamma) != q:
		return fmt.Errorf("%w: %d auxiliary coefficients for %d features in head %d", ErrModel, len(h.Gamma), q, at)
	}
	if err := cmp.Or(finite("coefficients", h.Beta), finite("word coefficients", h.Words),
		finite("coefficients of pieces of words", h.Grams), finite("auxiliary coefficients", h.Gamma),
		finite("intercept", []float64{h.Intercept})); err != nil {
		return fmt.Errorf("%w: head %d: %w", ErrModel, at, err)
	}
	return nil
}

// effects returns what a value of 1 in each column adds to the log-odds of a head.
func (m *Model) effects(h *Head) []float64 {
	all := make([]float64, len(m.terms))
	for j := range all {
		all[j] = dot(h.Beta, m.topics[j*m.rank:][:m.rank])
		if h.Words != nil {
			all[j] += h.Words[j]
		}
	}
	return all
}

// Words returns the n words that move the log-odds most, in topics and by themselves, of either sign, the strongest
// first; for several classes those of the first class against the reference. Words without an effect are omitted.
func (m *Model) Words(n int) []string {
	effects := m.effects(&m.parts.Heads[0])
	columns := lists.Where(len(effects), func(j int) bool { return effects[j] != 0 })
	slices.SortStableFunc(columns,
		func(a, b int) int { return cmp.Compare(math.Abs(effects[b]), math.Abs(effects[a])) })
	return lists.Map(columns[:min(n, len(columns))], m.parts.Vectorizer.Label)
}

func turned(values []float64) []float64 {
	if values == nil {
		return nil
	}
	negative := make([]float64, len(values))
	for i, v := range values {
		negative[i] = 0 - v // which is never -0
	}
	return negative
}

// finite returns an error for the first value that is NaN or infinite.
func finite(name string, values []float64) error {
	for i, v := range values {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Errorf("%s hold %v at %d", name, v, i)
		}
	}
	return nil
}

// label names topic t by the words of largest positive weight, because its direction, its prevalence and a positive
// score belong to that end; the two ends of a topic of mixed signs mean different things. Only a topic without positive
// weights is named by the words of the other end.
func (m *Model) label(t int) string {
	all := m.weights(t)
	mixed := slices.ContainsFunc(all, func(w termWeight) bool { return w.weight > 0 })
	var words []string
	for _, w := range all {
		if mixed && w.weight < 0 {
			continue
		}
		word := m.parts.Vectorizer.Label(w.column)
		// Two terms may be typed the same way.
		if !slices.Contains(words, word) {
			words = append(words, word)
		}
		if len(words) == labelTerms {
			break
		}
	}
	return strings.Join(words, ", ")
}

type termWeight struct {
	column int
	weight float64
}

// weights returns the terms of topic t whose weight is not 0, largest |weight| first, ties by column.
func (m *Model) weights(t int) []termWeight {
	var all []termWeight
	for j := range m.terms {
		if w := m.topics[j*m.rank+t]; w != 0 {
			all = append(all, termWeight{j, w})
		}
	}
	slices.SortStableFunc(all, func(a, b termWeight) int { return cmp.Compare(math.Abs(b.weight), math.Abs(a.weight)) })
	return all
}

// Parts returns what the model is made of. Nothing of it may be modified.
func (m *Model) Parts() Parts {
	p := m.parts
	if m.rank > 0 {
		p.Topics = mat.NewDense(len(m.terms), m.rank, m.topics)
	}
	return p
}

// Info returns the model's name, version, method and hash.
func (m *Model) Info() msg.Model { return m.parts.Info }

// Calibration returns the map from log-odds to probability. It must not be changed.
func (m *Model) Calibration() *bundle.Calibration { return &m.parts.Calibration }

// Classes returns the names of the outcomes, the reference first; nil for a yes/no model.
func (m *Model) Classes() []string { return m.parts.Classes }

// Rank returns the number of topics.
func (m *Model) Rank() int { return m.rank }

// Categorical returns the names of the categorical columns, in the order of Aux.
func (m *Model) Categorical() []string {
	var names []string
	for _, c := range m.parts.Aux {
		if c.Kind == bundle.Categorical {
			names = append(names, c.Name)
		}
	}
	return names
}

// Aux returns the auxiliary columns in the order in which Score takes their values.
func (m *Model) Aux() []bundle.AuxColumn { return m.parts.Aux }
