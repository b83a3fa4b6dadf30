package classifier

import (
	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/internal/lists"
	"github.com/wardcast/wardcast/textproc"
)

// Direction says how a positive score on a topic moves a prediction.
type Direction string

// The directions. A negative score, from words of negative weight, moves the prediction the other way.
const (
	TowardAdmission Direction = "admission"
	TowardDischarge Direction = "discharge"
	Nowhere         Direction = "none" // the coefficient is 0
)

// Topic is a topic as people read it.
type Topic struct {
	Topic int    `json:"topic"` // from 1, as in predictions
	Label string `json:"label"` // as in predictions
	// Coefficient is what a score of 1 adds to the log-odds of admission. For several classes, each equally probable,
	// it is the mean coefficient of the classes of admission less that of the others; the reference has 0.
	Coefficient float64 `json:"coefficient"`
	// Coefficients are those of each class against the reference, in the model's order; nil for a yes/no model.
	Coefficients []ClassCoefficient `json:"coefficients,omitempty"`
	// Prevalence is the share of training notes that the topic leads, see Prevalence; nil if unknown.
	Prevalence *float64    `json:"prevalence"`
	Direction  Direction   `json:"direction"`
	Terms      []TopicTerm `json:"terms"` // by |weight|
}

// ClassCoefficient is what a score of 1 on a topic adds to the log-odds of a class against the reference.
type ClassCoefficient struct {
	Class       string  `json:"class"`
	Coefficient float64 `json:"coefficient"`
}

// TopicTerm is a term of a topic.
type TopicTerm struct {
	Term    string   `json:"term"`
	Surface []string `json:"surface"` // forms in the notes, the commonest first
	Status  string   `json:"status"`  // affirmed, negated, uncertain, historical or other-person
	Weight  float64  `json:"weight"`  // in the topic, of either sign
}

// Topics returns all topics, each with the n terms of the largest positive and the n of the largest negative weight;
// n ≤ 0 is no limit. The cost is that of sorting the weights.
func (m *Model) Topics(n int) []Topic {
	topics := make([]Topic, m.rank)
	for t := range topics {
		b, of := m.coefficients(t)
		topic := Topic{
			Topic: t + 1, Label: m.labels[t], Coefficient: msg.Round(b), Coefficients: of,
			Direction: direction(b), Terms: []TopicTerm{},
		}
		if m.parts.Prevalence != nil {
			topic.Prevalence = &m.parts.Prevalence[t]
		}
		var positive, negative int
		for _, w := range m.weights(t) {
			count := &positive
			if w.weight < 0 {
				count = &negative
			}
			if *count++; n <= 0 || *count <= n {
				term := m.terms[w.column]
				status, _ := textproc.StatusOf(term.Text)
				topic.Terms = append(topic.Terms, TopicTerm{
					Term: term.Text, Surface: term.Surface, Status: status.String(), Weight: msg.Round(w.weight),
				})
			}
		}
		topics[t] = topic
	}
	return topics
}

// coefficients returns the coefficient of topic t toward admission, and those of the classes.
func (m *Model) coefficients(t int) (float64, []ClassCoefficient) {
	heads := m.parts.Heads
	if m.parts.Classes == nil {
		return heads[0].Beta[t], nil
	}
	var of []ClassCoefficient
	var sums, counts [2]float64 // of the classes that do not, and do, mean admission
	for c, name := range m.parts.Classes {
		side := 0
		if m.parts.Admission[c] {
			side = 1
		}
		counts[side]++
		if c > 0 {
			sums[side] += heads[c-1].Beta[t]
			of = append(of, ClassCoefficient{name, msg.Round(heads[c-1].Beta[t])})
		}
	}
	return sums[1]/counts[1] - sums[0]/counts[0], of
}

func direction(coefficient float64) Direction {
	switch {
	case coefficient > 0:
		return TowardAdmission
	case coefficient < 0:
		return TowardDischarge
	}
	return Nowhere
}

// Prevalence returns for each of k topics the share of n notes that it leads: those whose score, divided by the length
// of the topic, is positive and larger than on any other, ties to the first. Scores are n×k, topics p×k. The shares sum
// to at most 1: no topic leads a note without a positive score.
func Prevalence(scores, topics *mat.Dense) []float64 {
	n, k := scores.Dims()
	lengths := lists.Make(k, func(t int) float64 { return mat.Norm(topics.ColView(t), 2) })
	share := make([]float64, k)
	for i := range n {
		lead, largest := -1, 0.0
		for t, z := range scores.RawRowView(i) {
			if z /= lengths[t]; z > largest {
				lead, largest = t, z
			}
		}
		if lead >= 0 {
			share[lead]++
		}
	}
	for t := range share {
		share[t] /= float64(n)
	}
	return share
}
