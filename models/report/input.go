package report

import (
	"fmt"
	"time"

	"github.com/wardcast/wardcast/classifier/bundle"
	"github.com/wardcast/wardcast/classifier/eval"
	"github.com/wardcast/wardcast/models/gate"
)

// Input is all that a report is made from.
type Input struct {
	Manifest *bundle.Manifest
	// Topics, Words and Pieces are the numbers of features that count; Terms is the size of the vocabulary.
	Topics, Words, Pieces, Terms int
	Supervised                   bool     // topics and coefficients were made together
	Heaviest                     []string // words that move predictions most
	// Correction is the number of coefficients in which the model of a complaint differs from that of all complaints,
	// whose other coefficients it shares; nil if it is no such correction.
	Correction *int
	Data       Data
	Evaluation Evaluation
	Classes    *eval.ClassMetrics // of several outcomes; nil for yes and no
	Verdict    *gate.Verdict      // nil if no gate has judged
	Site       *Site              // nil if the site has said nothing
}

// Data says which notes there were.
type Data struct {
	Sources    []string    `json:"sources,omitempty"` // names of files or Kafka topics
	Outcome    string      `json:"outcome,omitempty"` // what counts as admitted, and what is known at the cut-off
	Training   Window      `json:"training"`
	Evaluation Window      `json:"evaluation"` // Notes and Events are set by Build
	Exclusions []Exclusion `json:"exclusions,omitempty"`
	Counts     []Count     `json:"counts,omitempty"`
}

// Count is what else was counted in the notes.
type Count struct {
	Name   string `json:"name"` // "patients with more than one note", …
	Number int    `json:"number"`
}

// Window counts the notes of a period.
type Window struct {
	From     time.Time `json:"from,omitzero"` // earliest arrival, zero if unknown
	To       time.Time `json:"to,omitzero"`
	Notes    int       `json:"notes"`
	Events   int       `json:"events"`             // admissions
	Patients int       `json:"patients,omitempty"` // 0 if unknown
}

// Exclusion counts notes that were left out.
type Exclusion struct {
	Reason string `json:"reason"`
	Notes  int    `json:"notes"`
}

// Kind says which notes a model is measured on.
type Kind string

// The kinds.
const (
	OutOfFold Kind = "out_of_fold" // the training notes, by cross-validation
	Later     Kind = "later"       // notes later than those trained on
)

// Evaluation holds the predictions that a model is measured by.
type Evaluation struct {
	Kind          Kind
	Admitted      []bool
	Probabilities []float64
	Patients      []string // of each note; nil if no patient comes twice
	Groupings     []gate.Grouping
	Shifts        []Shift // since the version before
}

// Shift tells how a figure or a distribution has changed since the version before. What does not apply is nil.
type Shift struct {
	Name   string   `json:"name"` // "share of admissions", "distribution of the probabilities", …
	Before *float64 `json:"before,omitempty"`
	Now    *float64 `json:"now,omitempty"`
	PSI    *float64 `json:"psi,omitempty"`           // population stability index
	Chance *float64 `json:"psi_by_chance,omitempty"` // its mean if nothing had changed
}

// ageBands are the lower bounds of all bands but the first.
var ageBands = []int{18, 45, 65, 80}

// AgeBand returns the band of an age in years: "0–17", "18–44", "45–64", "65–79" or "80+"; "" unless it is one.
func AgeBand(age float64) string {
	if !(age >= 0 && age < 130) {
		return ""
	}
	from := 0
	for _, next := range ageBands {
		if age < float64(next) {
			return fmt.Sprintf("%d–%d", from, next-1)
		}
		from = next
	}
	return fmt.Sprintf("%d+", from)
}
