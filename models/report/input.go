package report

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/wardcast/wardcast/internal/files"
	"github.com/wardcast/wardcast/models/gate"
)

// Data says which notes there were.
type Data struct {
	Sources    []string    `json:"sources,omitempty"` // names of files or Kafka topics
	Outcome    string      `json:"outcome,omitempty"` // what counts as admitted, and what is known at the cut-off
	Training   Window      `json:"training"`
	Evaluation Window      `json:"evaluation"` // Notes and Events are set by Build
	Exclusions []Exclusion `json:"exclusions,omitempty"`
	Counts     []Count     `json:"counts,omitempty"`
	Nurse      []Beside    `json:"nurse,omitempty"` // whose estimates of admission the training notes hold
}

// Beside is how well somebody, or a model, tells who of the patients with a nurse's estimate is admitted.
type Beside struct {
	Who      string  `json:"who"`
	Notes    int     `json:"notes"`
	AUROC    float64 `json:"auroc"`
	Accuracy float64 `json:"accuracy"` // of calling from 50 % on, the nurse's threshold
}

// System says that a report is about all models that are served together, each note predicted by the one that scores
// it.
type System struct {
	Own  []string `json:"own_models"`     // the models of single complaints; the model of all scores every other note
	Seen bool     `json:"seen,omitempty"` // some models may have learned from these notes
}

// Count is what else was counted in the notes.
type Count struct {
	Name   string `json:"name"`   // "patients with more than one note", …
	Number *int   `json:"number"` // nil if it is unknown
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
	// Latest is the last of the training notes, predicted with coefficients from the earlier ones; the rest is from
	// all.
	Latest Kind = "latest"
)

// Evaluation holds the predictions that a model is measured by.
type Evaluation struct {
	Kind          Kind
	Admitted      []bool
	Probabilities []float64
	Thresholds    []float64 // of each note; nil for that of the manifest
	Patients      []string  // of each note; nil if no patient comes twice
	Groupings     []gate.Grouping
	System        *System // nil if the report is about one model
	Shifts        []Shift // since the version before
	// Style is the share of words that are no finding among the three largest parts of explanations; nil if unknown.
	Style *float64
}

// Shift is the change of a figure or a distribution since the version before. What does not apply is nil.
type Shift struct {
	Name   string   `json:"name"` // "share of admissions", "distribution of the probabilities", …
	Before *float64 `json:"before,omitempty"`
	Now    *float64 `json:"now,omitempty"`
	PSI    *float64 `json:"psi,omitempty"`           // population stability index
	Chance *float64 `json:"psi_by_chance,omitempty"` // its mean if nothing had changed
}

// ageBands are the lower bounds of all bands but the first two.
var ageBands = []int{5, 18, 45, 65, 80}

// AgeBand returns the band of an age in years: "under 1", "1–4", "5–17", "18–44", "45–64", "65–79" or "80+"; "" for
// what is no age.
func AgeBand(age float64) string {
	if !(age >= 0 && age < 130) {
		return ""
	}
	if age < 1 {
		return "under 1"
	}
	from := 1
	for _, next := range ageBands {
		if age < float64(next) {
			return fmt.Sprintf("%d–%d", from, next-1)
		}
		from = next
	}
	return fmt.Sprintf("%d+", from)
}

// Site is what only the site can say of its models, in one YAML file. Empty fields are shown as missing.
type Site struct {
	Owner              string   `yaml:"owner" json:"owner,omitempty"` // who answers for its use
	Contact            string   `yaml:"contact" json:"contact,omitempty"`
	Developer          string   `yaml:"developer" json:"developer,omitempty"` // who trains it
	ReleaseStage       string   `yaml:"release_stage" json:"release_stage,omitempty"`
	Availability       string   `yaml:"availability" json:"availability,omitempty"`
	EHR                string   `yaml:"ehr" json:"ehr,omitempty"`
	RegulatoryApproval string   `yaml:"regulatory_approval" json:"regulatory_approval,omitempty"`
	IntendedUse        string   `yaml:"intended_use" json:"intended_use,omitempty"`
	IntendedUsers      string   `yaml:"intended_users" json:"intended_users,omitempty"`
	TargetPopulation   string   `yaml:"target_population" json:"target_population,omitempty"`
	Outcome            string   `yaml:"outcome" json:"outcome,omitempty"` // if the data do not name one
	OutOfScope         string   `yaml:"out_of_scope" json:"out_of_scope,omitempty"`
	KnownBiases        string   `yaml:"known_biases" json:"known_biases,omitempty"`
	ClinicalRiskLevel  string   `yaml:"clinical_risk_level" json:"clinical_risk_level,omitempty"`
	Hazards            []Hazard `yaml:"hazards" json:"hazards,omitempty"`
	BiasMitigation     string   `yaml:"bias_mitigation" json:"bias_mitigation,omitempty"`
	MonitoringPlan     string   `yaml:"monitoring_plan" json:"monitoring_plan,omitempty"`
	Maintenance        string   `yaml:"maintenance" json:"maintenance,omitempty"`
	Security           string   `yaml:"security" json:"security,omitempty"`
	Funding            string   `yaml:"funding" json:"funding,omitempty"`
	ThirdParties       string   `yaml:"third_parties" json:"third_parties,omitempty"`
	Stakeholders       string   `yaml:"stakeholders" json:"stakeholders,omitempty"`
	ThresholdReason    string   `yaml:"threshold_reason" json:"threshold_reason,omitempty"` // why it is what it is
	ReviewedBy         string   `yaml:"reviewed_by" json:"reviewed_by,omitempty"`
	ReviewedOn         string   `yaml:"reviewed_on" json:"reviewed_on,omitempty"`
	// ExplanationsReadBy says who has read explanations of predictions, how many, and with which competence and
	// licence.
	ExplanationsReadBy string   `yaml:"explanations_read_by" json:"explanations_read_by,omitempty"`
	Resources          []string `yaml:"resources" json:"resources,omitempty"`
}

// Hazard is one line of the hazard log.
type Hazard struct {
	Hazard  string `yaml:"hazard" json:"hazard"`
	Cause   string `yaml:"cause" json:"cause,omitempty"`
	Harm    string `yaml:"harm" json:"harm,omitempty"`
	Risk    string `yaml:"risk" json:"risk,omitempty"`       // severity and likelihood, on the site's own scale
	Control string `yaml:"control" json:"control,omitempty"` // what keeps the risk low
}

const siteLimit = 1 << 20 // the largest size in bytes of a site's file

// ReadSite reads the site's statements about its models from a file of YAML; path may be "". An empty file is an empty
// Site. An unknown key is an error that names its line.
func ReadSite(path string) (*Site, error) {
	if path == "" {
		return nil, nil
	}
	text, err := files.Read(path, siteLimit)
	if err != nil {
		return nil, fmt.Errorf("reading the site's statements: %w", err)
	}
	s := &Site{}
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	if err := d.Decode(s); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("reading %s: reading the site's fields: %w", path, err)
	}
	for i, h := range s.Hazards {
		if h.Hazard == "" {
			return nil, fmt.Errorf("reading %s: reading the site's fields: hazards: entry %d has no hazard", path, i+1)
		}
	}
	return s, nil
}
