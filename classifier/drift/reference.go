package drift

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/wardcast/wardcast/internal/lists"
)

// Note is what a note looks like to the model that scores it.
type Note struct {
	Score         float64 // calibrated probability of admission, in [0,1]
	Topic         int     // as MainTopic returns it
	Known, Tokens int     // of its tokens, those that the model knows, and all
	Unknown       []Level // holds what each categorical column has, in the order of Reference.Levels
	// Added is what each topic added to the log-odds, then all topics together, then the single words; nil if unknown.
	Added []float64
}

// Level is what a note has in a categorical column.
type Level uint8

// The levels.
const (
	Missing Level = iota // no value, which is neither known nor unknown
	Known
	Unknown // a value that training had too seldom, or not at all
)

// Reference is what the notes of a training window look like to the model that was trained on them.
type Reference struct {
	Scores *Histogram     `json:"scores"`
	Topics []float64      `json:"topics"` // notes by main topic, the last place for those without
	Known  Rate           `json:"known_terms"`
	Levels []ColumnLevels `json:"levels,omitempty"`
	// Added is how far what Note.Added lists moved the notes; nil if unknown.
	Added []Added `json:"added,omitempty"`
}

// Added is how far a part of the model moved the log-odds of notes, whichever way: all notes together, and one at most.
type Added struct {
	Sum  float64 `json:"sum"`
	Most float64 `json:"most"`
}

func (a *Added) add(moved Added) {
	a.Sum += moved.Sum
	a.Most = max(a.Most, moved.Most)
}

// InEvaluation is the field of a version's evaluation.json that holds its reference.
const InEvaluation = "reference"

// ReadReference returns the reference of an evaluation, nil if it has none.
func ReadReference(evaluation []byte) (*Reference, error) {
	var e struct {
		Reference *Reference `json:"reference"` // InEvaluation
	}
	if err := json.Unmarshal(evaluation, &e); err != nil {
		return nil, fmt.Errorf("reading the reference in an evaluation: %w", err)
	}
	return e.Reference, nil
}

// ColumnLevels counts the unknown levels of one categorical column.
type ColumnLevels struct {
	Column  string `json:"column"`
	Unknown Rate   `json:"unknown"` // of the values that are there
}

// Check returns an error that wraps ErrArgument unless the reference has so many topics and these categorical columns.
func (r *Reference) Check(topics int, columns []string) error {
	names := lists.Map(r.Levels, func(l ColumnLevels) string { return l.Column })
	switch {
	case r.Scores == nil || len(r.Scores.Counts) != len(r.Scores.Edges)+1 || !slices.IsSorted(r.Scores.Edges):
		return fmt.Errorf("%w: malformed histogram of scores", ErrArgument)
	case len(r.Topics) != topics+1:
		return fmt.Errorf("%w: %d counts for %d topics", ErrArgument, len(r.Topics), topics)
	case r.Added != nil && len(r.Added) != topics+2:
		return fmt.Errorf("%w: what %d parts added, of %d topics", ErrArgument, len(r.Added), topics)
	case !slices.Equal(names, columns):
		return fmt.Errorf("%w: levels of %q for the columns %q", ErrArgument, names, columns)
	}
	if _, err := total(r.Scores.Counts); err != nil {
		return err
	}
	_, err := total(r.Topics)
	return err
}

// MapScores changes the bins to those of scores that an increasing function maps, as a recalibration does.
func (r *Reference) MapScores(f func(float64) float64) {
	scores := *r.Scores
	scores.Edges = lists.Map(scores.Edges, f)
	r.Scores = &scores
}

// Empty returns a reference of the same bins, topics and columns without counts, for another period.
func (r *Reference) Empty() *Reference {
	e := &Reference{
		Scores: r.Scores.Empty(), Topics: make([]float64, len(r.Topics)), Levels: slices.Clone(r.Levels),
		Added: slices.Clone(r.Added),
	}
	clear(e.Added)
	for i := range e.Levels {
		e.Levels[i].Unknown = Rate{}
	}
	return e
}

// Add counts a note, in O(log bins + columns) without allocating. A topic beyond the last counts as none.
func (r *Reference) Add(n *Note) {
	r.Scores.Add(n.Score)
	r.Topics[min(n.Topic, len(r.Topics)-1)]++
	r.Known.Add(n.Known, n.Tokens)
	for i, level := range n.Unknown {
		switch level {
		case Known:
			r.Levels[i].Unknown.Add(0, 1)
		case Unknown:
			r.Levels[i].Unknown.Add(1, 1)
		}
	}
	for i := range min(len(r.Added), len(n.Added)) {
		v := math.Abs(n.Added[i])
		r.Added[i].add(Added{v, v})
	}
}

// Merge adds the counts of a period of the same reference.
func (r *Reference) Merge(other *Reference) {
	floats.Add(r.Scores.Counts, other.Scores.Counts)
	r.Scores.Invalid += other.Scores.Invalid
	floats.Add(r.Topics, other.Topics)
	r.Known.Add(other.Known.Hits, other.Known.Of)
	for i, l := range other.Levels {
		r.Levels[i].Unknown.Add(l.Unknown.Hits, l.Unknown.Of)
	}
	for i, a := range other.Added {
		r.Added[i].add(a)
	}
}

// Notes returns the number of notes counted.
func (r *Reference) Notes() float64 { return floats.Sum(r.Topics) }

// Shifts is how a period differs from its reference.
type Shifts struct {
	Scores, Topics Shift
}

// Against returns the stability indices of the scores and the main topics of r against a reference with the same bins.
// A period without notes is an error, as for PSI.
func (r *Reference) Against(reference *Reference) (Shifts, error) {
	scores, err := PSI(reference.Scores.Counts, r.Scores.Counts)
	if err != nil {
		return Shifts{}, fmt.Errorf("comparing scores: %w", err)
	}
	topics, err := common(reference.Topics, r.Topics)
	if err != nil {
		return Shifts{}, fmt.Errorf("comparing topics: %w", err)
	}
	return Shifts{scores, topics}, nil
}

// leastShare is the share of the reference below which categories are taken together: many rare ones are mostly chance.
const leastShare = 0.02

// common is PSI with the categories below leastShare of the reference as one.
func common(reference, current []float64) (Shift, error) {
	n, err := total(reference)
	if err != nil {
		return Shift{}, err
	}
	var x, y []float64
	var rareX, rareY float64
	for t := range reference {
		if reference[t] < leastShare*n {
			rareX, rareY = rareX+reference[t], rareY+current[t]
			continue
		}
		x, y = append(x, reference[t]), append(y, current[t])
	}
	if len(x) < len(reference) {
		x, y = append(x, rareX), append(y, rareY)
	}
	return PSI(x, y)
}
