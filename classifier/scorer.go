package classifier

import (
	"math"

	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/textproc"
)

// NoKnownTerms is the reason of an abstained prediction of a note in which the model knows no word. Its
// probability comes from the intercept and the auxiliary values alone.
const NoKnownTerms = "no_known_terms"

// Other is the label of the entry that holds what a limit left out.
const Other = "(other)"

// Limits caps how many entries of an explanation are sent; the contribution of the others is sent as one
// entry named Other, so that the sums stay exact. 0 is no limit.
type Limits struct {
	Topics int // topics of a prediction
	Terms  int // terms of a topic
	Words  int // single words of a prediction
}

// Scorer scores notes with one model in one goroutine. It allocates nothing once its buffers have grown.
type Scorer struct {
	model  *Model
	limits Limits
	text   *textproc.Transformer
	scores []float64 // k
	aux    []float64 // features
	order  []int     // of topics
	terms  []msg.Term
	ranked []msg.Term
}

// Scorer returns a scorer for one goroutine.
func (m *Model) Scorer(limits Limits) *Scorer {
	return &Scorer{model: m, limits: limits, text: m.parts.Vectorizer.Transformer(), scores: make([]float64, m.rank), aux: make([]float64, len(m.parts.Gamma)), order: make([]int, m.rank)}
}

// Probability returns the calibrated probability in [0, 1] without its explanation. aux holds one value per
// auxiliary column. The cost is the text's length plus (known terms)·k.
func (s *Scorer) Probability(text string, aux []msg.Value) float64 {
	logit, _ := s.logit(text, aux)
	return Calibrate(&s.model.parts.Calibration, logit)
}

// logit computes scores and features and returns their logit and the text's row, valid until the next call.
func (s *Scorer) logit(text string, aux []msg.Value) (float64, textproc.Row) {
	m := s.model
	row := s.text.Row(text)
	clear(s.scores)
	logit := m.parts.Intercept
	for c, j := range row.Columns {
		x := row.Values[c]
		weights := m.topics[int(j)*m.rank : int(j)*m.rank+m.rank]
		scores := s.scores[:len(weights)]
		for t, w := range weights {
			scores[t] += x * w
		}
		if m.parts.Words != nil {
			logit += m.parts.Words[j] * x
		}
	}
	for t, b := range m.parts.Beta {
		logit += b * s.scores[t]
	}
	at := 0
	for i := range m.parts.Aux {
		column := &m.parts.Aux[i]
		width := len(column.Mean)
		features := s.aux[at : at+width]
		FeaturesTo(features, column, aux[i])
		logit += dot(m.parts.Gamma[at:at+width], features)
		at += width
	}
	return logit, row
}

// Score fills in everything of p that the model knows: all but the note's own fields and the time. It reuses
// the slices of p. aux holds one value per auxiliary column. Entries are ordered by |contribution|, ties by
// topic or column.
func (s *Scorer) Score(text string, aux []msg.Value, p *msg.Prediction) {
	m := s.model
	logit, row := s.logit(text, aux)
	p.Model = m.parts.Info
	p.Logit, p.Intercept = logit, m.parts.Intercept
	p.Probability, p.Threshold = Calibrate(&m.parts.Calibration, logit), m.parts.Threshold
	p.KnownTermShare = 0
	if row.Tokens > 0 {
		p.KnownTermShare = float64(row.Known) / float64(row.Tokens)
	}
	p.Decision = msg.NotAdmit
	if p.Probability >= p.Threshold {
		p.Decision = msg.Admit
	}
	p.Abstained, p.AbstainReason = false, ""
	if row.Known == 0 {
		p.Abstained, p.AbstainReason = true, NoKnownTerms
	}
	s.explainTopics(row, p)
	s.explainWords(row, p)
	s.explainAux(aux, p)
}

func (s *Scorer) explainTopics(row textproc.Row, p *msg.Prediction) {
	m := s.model
	beta := m.parts.Beta
	p.Topics = p.Topics[:0]
	s.order = s.order[:0]
	for t := range beta {
		if beta[t]*s.scores[t] != 0 {
			s.order = append(s.order, t)
		}
	}
	shown := cut(s.limits.Topics, len(s.order))
	selectLargest(s.order, shown, func(t int) float64 { return math.Abs(beta[t] * s.scores[t]) })
	for _, t := range s.order[:shown] {
		topic := s.nextTopic(p)
		topic.Topic, topic.Label = t+1, m.labels[t]
		topic.Score, topic.Coefficient, topic.Contribution = s.scores[t], beta[t], beta[t]*s.scores[t]
		s.terms = s.terms[:0]
		for c, j := range row.Columns {
			if w := m.topics[int(j)*m.rank+t]; w != 0 {
				s.terms = append(s.terms, msg.Term{Term: m.terms[j].Text, Surface: m.terms[j].Surface, Weight: w, Contribution: beta[t] * w * row.Values[c]})
			}
		}
		topic.Terms = s.limit(topic.Terms, s.limits.Terms)
	}
	if rest := s.order[shown:]; len(rest) > 0 {
		topic := s.nextTopic(p)
		*topic = msg.Topic{Label: Other, Terms: topic.Terms[:0]}
		for _, t := range rest {
			topic.Contribution += beta[t] * s.scores[t]
		}
	}
}

// nextTopic appends a topic to p.Topics, with the terms' memory of the one that stood there before.
func (s *Scorer) nextTopic(p *msg.Prediction) *msg.Topic {
	if n := len(p.Topics); n < cap(p.Topics) {
		p.Topics = p.Topics[:n+1]
	} else {
		p.Topics = append(p.Topics, msg.Topic{})
	}
	return &p.Topics[len(p.Topics)-1]
}

// limit appends to dst[:0] the largest n of s.terms and the sum of the others.
func (s *Scorer) limit(dst []msg.Term, n int) []msg.Term {
	shown := cut(n, len(s.terms))
	selectLargest(s.terms, shown, func(t msg.Term) float64 { return math.Abs(t.Contribution) })
	dst = append(dst[:0], s.terms[:shown]...)
	if rest := s.terms[shown:]; len(rest) > 0 {
		other := msg.Term{Term: Other}
		for i := range rest {
			other.Contribution += rest[i].Contribution
		}
		dst = append(dst, other)
	}
	return dst
}

func (s *Scorer) explainWords(row textproc.Row, p *msg.Prediction) {
	m := s.model
	if m.parts.Words == nil {
		p.Words = nil
		return
	}
	if p.Words = p.Words[:0]; p.Words == nil {
		p.Words = []msg.Word{}
	}
	s.terms = s.terms[:0]
	for c, j := range row.Columns {
		if w := m.parts.Words[j]; w != 0 {
			s.terms = append(s.terms, msg.Term{Term: m.terms[j].Text, Surface: m.terms[j].Surface, Contribution: w * row.Values[c]})
		}
	}
	s.ranked = s.limit(s.ranked, s.limits.Words)
	for _, t := range s.ranked {
		p.Words = append(p.Words, msg.Word{Term: t.Term, Surface: t.Surface, Contribution: t.Contribution})
	}
}

func (s *Scorer) explainAux(aux []msg.Value, p *msg.Prediction) {
	p.Aux = p.Aux[:0]
	at := 0
	for i := range s.model.parts.Aux {
		c := &s.model.parts.Aux[i]
		width := len(c.Mean)
		p.Aux = append(p.Aux, msg.Aux{Name: c.Name, Value: aux[i], Contribution: dot(s.model.parts.Gamma[at:at+width], s.aux[at:at+width])})
		at += width
	}
}

// cut returns how many of n entries a limit shows: a remainder of one entry is shown as itself.
func cut(limit, n int) int {
	if limit <= 0 || n <= limit+1 {
		return n
	}
	return limit
}

// selectLargest moves the n largest values to the front, largest first, ties in their order. The cost is
// n·len(values), for the small n of an explanation.
func selectLargest[T any](values []T, n int, size func(T) float64) {
	for i := range n {
		best := i
		for at := i + 1; at < len(values); at++ {
			if size(values[at]) > size(values[best]) {
				best = at
			}
		}
		// Rotating instead of swapping keeps the order of ties.
		v := values[best]
		copy(values[i+1:best+1], values[i:best])
		values[i] = v
	}
}

func dot(a, b []float64) float64 {
	var sum float64
	for i, v := range a {
		sum += v * b[i]
	}
	return sum
}
