package classifier

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/wardcast/wardcast/classifier/bundle"
	"github.com/wardcast/wardcast/classifier/drift"
	"github.com/wardcast/wardcast/classifier/intake"
	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/textproc"
)

// NoKnownTerms is why a prediction abstains if the model knows no word of the note.
const NoKnownTerms = "no_known_terms"

// Other is the label of the entry that holds everything beyond a limit.
const Other = "(other)"

// Limits caps how many topics, terms of a topic, single words and parts of the note an explanation names; the others
// become one entry named Other. 0 is no limit. Help is that of flags.
type Limits struct {
	Topics   int `help:"Topics that an explanation names. One entry sums the others; 0 names all." default:"${topics}"`
	Terms    int `help:"Terms that an explanation names for each topic. One entry sums the others; 0 names all." default:"${terms}"`
	Words    int `help:"Single words that an explanation names. One entry sums the others; 0 names all." default:"${words}"`
	Evidence int `help:"Parts of the note that an explanation points at. One entry sums the others; 0 names all." default:"${evidence}"`
}

// Pieces is the term of the entry among the words that sums what the pieces of the note's words add.
const Pieces = "(pieces of words)"

// Options says how a note is read and its prediction explained.
type Options struct {
	Limits
	Intake *intake.Intake // which values of a note count; nil is intake.Standard
	Class  string         // the one of several outcomes to explain; "" and unknown names mean the most probable one
}

// Scorer scores notes with one model in one goroutine. It allocates nothing once its buffers have grown.
type Scorer struct {
	model               *Model
	limits              Limits
	class               int // to explain, -1 for the most probable one
	text                *textproc.Transformer
	scores              []float64 // k
	columns             *intake.Columns
	values              []msg.Value // of the auxiliary columns, as the model reads them
	aux                 []float64   // features
	logOdds             []float64   // κ, against the reference
	probabilities       []float64   // κ+1
	topics              []float64   // contributions of the topics
	terms               []float64   // contributions of the row's terms to one topic, or of single words
	topicRank, termRank ranking
	pieces              float64       // what the pieces of words add
	added               []float64     // as drift.Note has it
	known, tokens       int           // of the note that was read
	levels              []drift.Level // of the categorical columns
	parts               []textproc.Part
	positions           []int
}

// Scorer returns a scorer for one goroutine.
func (m *Model) Scorer(o Options) *Scorer {
	kappa := len(m.parts.Heads)
	if o.Intake == nil {
		o.Intake = intake.Standard()
	}
	return &Scorer{
		columns: o.Intake.Columns(m.parts.Aux), values: make([]msg.Value, len(m.parts.Aux)),
		model: m, limits: o.Limits, class: slices.Index(m.parts.Classes, o.Class),
		text:   m.parts.Vectorizer.Transformer(),
		scores: make([]float64, m.rank), aux: make([]float64, len(m.parts.Heads[0].Gamma)),
		topics: make([]float64, m.rank), added: make([]float64, m.rank+2), logOdds: make([]float64, kappa),
		probabilities: make([]float64, kappa+1),
	}
}

// Probability returns the calibrated probability of admission in [0, 1] without its explanation. aux holds one value
// per auxiliary column. The cost is the text's length plus (known terms)·k.
func (s *Scorer) Probability(text string, aux []msg.Value) float64 {
	parts := &s.model.parts
	logit, row := s.read(text, aux)
	if parts.Classes == nil {
		return Calibrate(&parts.Calibration, logit)
	}
	s.calibrate(logit, row)
	var sum float64
	for c, p := range s.probabilities {
		if parts.Admission[c] {
			sum += p
		}
	}
	return min(sum, 1)
}

// read reads a note. It returns the log-odds of the first head and the row of the text, valid until the next call.
func (s *Scorer) read(text string, aux []msg.Value) (float64, textproc.Row) {
	row := s.text.Row(text)
	s.known, s.tokens = row.Known, row.Tokens
	at := 0
	for i := range s.model.parts.Aux {
		column := &s.model.parts.Aux[i]
		width := len(column.Mean)
		s.values[i] = s.columns.Value(i, aux[i])
		if s.values[i] == (msg.Value{}) {
			s.values[i] = s.columns.Value(i, Said(s.text, column.Name))
		}
		FeaturesTo(s.aux[at:at+width], column, s.values[i])
		at += width
	}
	return s.logOdd(&s.model.parts.Heads[0], row), row
}

// logOdd returns the log-odds by a head for the note that was read.
func (s *Scorer) logOdd(h *Head, row textproc.Row) float64 {
	logit := h.Intercept + dot(h.Gamma, s.aux)
	for c, j := range row.Columns {
		logit += h.columns[j] * row.Values[c]
	}
	if h.Grams != nil {
		s.pieces = s.text.PieceSum(h.Grams)
		logit += s.pieces
	}
	return logit
}

// calibrate computes log-odds and probabilities of all classes for the note that was read; first is the first head's.
func (s *Scorer) calibrate(first float64, row textproc.Row) {
	s.logOdds[0] = first
	for c := 1; c < len(s.logOdds); c++ {
		s.logOdds[c] = s.logOdd(&s.model.parts.Heads[c], row)
	}
	CalibrateTo(s.probabilities, &s.model.parts.Calibration, s.logOdds)
}

// Score fills in p, whose slices it reuses, except for the note's own fields and the time. Warnings are those of levels
// that the model does not know. aux holds one value per auxiliary column. Entries are ordered by |contribution|, ties
// by topic or column; of equally probable classes the first is explained.
func (s *Scorer) Score(text string, aux []msg.Value, p *msg.Prediction) {
	parts := &s.model.parts
	logit, row := s.read(text, aux)
	p.Model = parts.Info
	h := &parts.Heads[0]
	if parts.Classes == nil {
		p.Class, p.Against, p.Classes, p.AdmissionProbability = "", "", p.Classes[:0], msg.Optional{}
		p.Logit, p.Probability = msg.Round(logit), msg.Round(Calibrate(&parts.Calibration, logit))
	} else {
		s.calibrate(logit, row)
		h = s.chooseClass(p)
		if h.Grams != nil {
			s.pieces = s.text.PieceSum(h.Grams)
		}
	}
	p.Intercept, p.Threshold = msg.Round(h.Intercept), parts.Threshold
	p.KnownTermShare = 0
	if row.Tokens > 0 {
		p.KnownTermShare = msg.Round(float64(row.Known) / float64(row.Tokens))
	}
	p.Decision = msg.Discharge
	if p.Admission() >= p.Threshold {
		p.Decision = msg.Admit
	}
	p.Abstained, p.AbstainReason = false, ""
	if row.Known == 0 {
		p.Abstained, p.AbstainReason = true, NoKnownTerms
	}
	s.explainTopics(h, row, p)
	s.explainWords(h, row, p)
	s.explainAux(h, p)
	s.warn(p)
	s.explainPlaces(h, text, row, p)
}

// warn names the categorical columns whose level the model does not know, and the numeric ones that hold a text.
func (s *Scorer) warn(p *msg.Prediction) {
	s.levels, p.Warnings = s.levels[:0], p.Warnings[:0]
	for i := range s.model.parts.Aux {
		c := &s.model.parts.Aux[i]
		if c.Kind != bundle.Categorical {
			if _, text := s.values[i].Text(); text {
				p.Warnings = append(p.Warnings, msg.Warning{Field: c.Name, Code: msg.ValueNotNumber})
			}
			continue
		}
		level := levelIn(c, s.values[i])
		s.levels = append(s.levels, level)
		switch {
		case level != drift.Unknown:
		case c.Name == bundle.ComplaintColumn:
			p.Warnings = append(p.Warnings, msg.Warning{Field: c.Name, Code: msg.ValueUnknownComplaint})
		default:
			p.Warnings = append(p.Warnings, msg.Warning{Field: c.Name, Code: msg.ValueUnknownLevel})
		}
	}
}

// Reading returns what the note that was scored last, by Score, looks like to the model, for a comparison with its
// training. p is that of the call. The lists are valid until the next call.
func (s *Scorer) Reading(p *msg.Prediction) drift.Note {
	note := drift.Note{
		Score: p.Admission(), Topic: drift.MainTopic(s.scores), Known: s.known, Tokens: s.tokens, Unknown: s.levels,
	}
	if s.model.parts.Classes == nil { // of several classes each note is explained for another one
		note.Added = s.added
	}
	return note
}

// chooseClass fills in the probabilities of all classes and the log-odds of the one to explain, and returns its head.
// The reference is explained against the most probable other class, by the head of that class with the sign turned.
func (s *Scorer) chooseClass(p *msg.Prediction) *Head {
	m := s.model
	p.Classes = p.Classes[:0]
	var admission float64
	for c, q := range s.probabilities {
		q = msg.Round(q)
		p.Classes = append(p.Classes, msg.Class{Class: m.parts.Classes[c], Probability: q})
		if m.parts.Admission[c] {
			admission += q
		}
	}
	p.AdmissionProbability = msg.Some(min(msg.Round(admission), 1))
	class, against := s.class, 0
	if class < 0 {
		class = floats.MaxIdx(s.probabilities)
	}
	var h *Head
	if class > 0 {
		h = &m.parts.Heads[class-1]
		p.Logit = msg.Round(s.logOdds[class-1])
	} else {
		against = 1 + floats.MaxIdx(s.probabilities[1:])
		h = &m.turned[against-1]
		p.Logit = msg.Round(0 - s.logOdds[against-1])
	}
	p.Class, p.Against, p.Probability = m.parts.Classes[class], m.parts.Classes[against], p.Classes[class].Probability
	return h
}

func (s *Scorer) explainTopics(h *Head, row textproc.Row, p *msg.Prediction) {
	m := s.model
	beta := h.Beta
	p.Topics = p.Topics[:0]
	clear(s.scores)
	for c, j := range row.Columns {
		floats.AddScaled(s.scores, row.Values[c], m.topics[int(j)*m.rank:][:m.rank])
	}
	for t, b := range beta {
		s.topics[t] = b * s.scores[t]
	}
	copy(s.added, s.topics)
	s.added[m.rank], s.added[m.rank+1] = floats.Sum(s.topics), 0
	shown, rest, more := s.topicRank.largest(s.topics, s.limits.Topics)
	for _, t := range shown {
		topic := next(&p.Topics)
		topic.Topic, topic.Label = t+1, m.labels[t]
		topic.Score, topic.Coefficient, topic.Contribution = msg.Round(s.scores[t]), msg.Round(beta[t]),
			msg.Round(s.topics[t])
		s.terms = s.terms[:0]
		for c, j := range row.Columns {
			s.terms = append(s.terms, beta[t]*m.topics[int(j)*m.rank+t]*row.Values[c])
		}
		topic.Terms = topic.Terms[:0]
		shown, rest, more := s.termRank.largest(s.terms, s.limits.Terms)
		for _, c := range shown {
			j := row.Columns[c]
			topic.Terms = append(topic.Terms, msg.Term{
				Term: m.terms[j].Text, Surface: m.terms[j].Surface,
				Weight: msg.Round(m.topics[int(j)*m.rank+t]), Contribution: msg.Round(s.terms[c]), Head: m.heads[j],
			})
		}
		if more {
			topic.Terms = append(topic.Terms, msg.Term{Term: Other, Contribution: rest})
		}
	}
	if more {
		topic := next(&p.Topics)
		*topic = msg.Topic{Label: Other, Contribution: rest, Terms: append(topic.Terms[:0],
			msg.Term{Term: Other, Contribution: rest})}
	}
}

// next appends an entry to a list and keeps the memory of the one that was there.
func next[T any](list *[]T) *T {
	if n := len(*list); n < cap(*list) {
		*list = (*list)[:n+1]
	} else {
		*list = append(*list, *new(T))
	}
	return &(*list)[len(*list)-1]
}

func (s *Scorer) explainWords(h *Head, row textproc.Row, p *msg.Prediction) {
	m := s.model
	if h.Words == nil && h.Grams == nil {
		p.Words = nil
		return
	}
	if p.Words = p.Words[:0]; p.Words == nil {
		p.Words = []msg.Word{}
	}
	s.terms = s.terms[:0]
	if h.Words != nil {
		for c, j := range row.Columns {
			s.terms = append(s.terms, h.Words[j]*row.Values[c])
		}
	}
	words := len(s.terms)
	if h.Grams != nil {
		s.terms = append(s.terms, s.pieces)
	}
	s.added[m.rank+1] = floats.Sum(s.terms)
	shown, rest, more := s.termRank.largest(s.terms, s.limits.Words)
	for _, c := range shown {
		word := msg.Word{Term: Pieces, Contribution: msg.Round(s.terms[c])}
		if c < words {
			j := row.Columns[c]
			word.Term, word.Surface, word.Head = m.terms[j].Text, m.terms[j].Surface, m.heads[j]
		}
		p.Words = append(p.Words, word)
	}
	if more {
		p.Words = append(p.Words, msg.Word{Term: Other, Contribution: rest})
	}
}

// explainPlaces fills in what each part of the note adds to the log-odds of h.
func (s *Scorer) explainPlaces(h *Head, text string, row textproc.Row, p *msg.Prediction) {
	s.terms = s.terms[:0]
	for c, j := range row.Columns {
		s.terms = append(s.terms, h.columns[j]*row.Values[c])
	}
	var other float64
	s.parts, other = s.text.Parts(s.parts, s.terms)
	s.terms = s.terms[:0]
	for i := range s.parts {
		s.terms = append(s.terms, s.parts[i].Contribution)
	}
	s.terms = append(s.terms, other)
	shown, rest, more := s.termRank.largest(s.terms, s.limits.Evidence)
	s.positions = s.positions[:0]
	for _, part := range s.parts {
		s.positions = append(s.positions, part.Start, part.End)
	}
	textproc.CodePoints(text, s.positions)
	for i := range s.parts { // a denied finding that counts nothing stands last, where there is room
		if s.parts[i].Contribution == 0 && (s.limits.Evidence <= 0 || len(shown) < s.limits.Evidence) {
			shown = append(shown, i)
		}
	}
	s.termRank = shown
	p.Evidence = p.Evidence[:0]
	for _, i := range shown {
		e := next(&p.Evidence)
		if i == len(s.parts) {
			*e = msg.Evidence{Other: msg.OtherWords, Contribution: msg.Round(other), Terms: e.Terms[:0]}
			continue
		}
		part := &s.parts[i]
		*e = msg.Evidence{
			Start: s.positions[2*i], End: s.positions[2*i+1], Status: part.Status.String(),
			Contribution: msg.Round(part.Contribution), Terms: append(e.Terms[:0], part.Terms...),
		}
		if part.Printable {
			e.Text = text[part.Start:part.End]
		}
	}
	if more {
		p.Evidence = append(p.Evidence, msg.Evidence{Contribution: rest})
	}
}

func (s *Scorer) explainAux(h *Head, p *msg.Prediction) {
	p.Aux = p.Aux[:0]
	at := 0
	for i := range s.model.parts.Aux {
		c := &s.model.parts.Aux[i]
		width := len(c.Mean)
		p.Aux = append(p.Aux, msg.Aux{
			Name: c.Name, Value: s.values[i], Contribution: msg.Round(dot(h.Gamma[at:at+width], s.aux[at:at+width])),
		})
		at += width
	}
}

const maxInsertions = 32 // the limit up to which entries are inserted one by one

// ranking is memory for choosing the largest of some contributions.
type ranking []int

// largest returns the positions of the values to show, largest |value| first, ties by position, and the rounded sum of
// the others; more reports whether any of these is not 0. If only one value is left over, it is shown itself. limit 0
// is no limit. The cost is one pass and a few insertions, or a sort for a large limit.
func (r *ranking) largest(values []float64, limit int) (shown []int, rest float64, more bool) {
	nonzero, total := 0, 0.0
	for _, v := range values {
		if v != 0 {
			nonzero++
		}
		total += v
	}
	if limit <= 0 || nonzero <= limit+1 {
		limit = nonzero
	}
	shown = (*r)[:0]
	if limit > maxInsertions {
		for i, v := range values {
			if v != 0 {
				shown = append(shown, i)
			}
		}
		slices.SortStableFunc(shown,
			func(a, b int) int { return cmp.Compare(math.Abs(values[b]), math.Abs(values[a])) })
	} else {
		least := 0.0 // size of the last one shown, once the limit is reached
		for i, v := range values {
			size := math.Abs(v)
			if size <= least {
				continue
			}
			if len(shown) < limit {
				shown = append(shown, i)
			}
			at := len(shown) - 1
			for ; at > 0 && size > math.Abs(values[shown[at-1]]); at-- {
				shown[at] = shown[at-1]
			}
			shown[at] = i
			if len(shown) == limit {
				least = math.Abs(values[shown[limit-1]])
			}
		}
	}
	*r = shown
	shown = shown[:limit]
	for _, i := range shown {
		total -= values[i]
	}
	return shown, msg.Round(total), nonzero > limit
}

func dot(a, b []float64) float64 {
	var sum float64
	for i, v := range a {
		sum += v * b[i]
	}
	return sum
}
