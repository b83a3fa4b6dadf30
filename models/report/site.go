package report

import (
	"errors"
	"fmt"
	"io"

	"go.yaml.in/yaml/v3"
)

// Site is what only the site can say of its models, in one YAML file. Empty fields are shown as missing.
type Site struct {
	Owner              string `yaml:"owner" json:"owner,omitempty"` // who answers for its use
	Contact            string `yaml:"contact" json:"contact,omitempty"`
	Developer          string `yaml:"developer" json:"developer,omitempty"` // who trains it
	ReleaseStage       string `yaml:"release_stage" json:"release_stage,omitempty"`
	Availability       string `yaml:"availability" json:"availability,omitempty"`
	EHR                string `yaml:"ehr" json:"ehr,omitempty"`
	RegulatoryApproval string `yaml:"regulatory_approval" json:"regulatory_approval,omitempty"`
	IntendedUse        string `yaml:"intended_use" json:"intended_use,omitempty"`
	IntendedUsers      string `yaml:"intended_users" json:"intended_users,omitempty"`
	TargetPopulation   string `yaml:"target_population" json:"target_population,omitempty"`
	// what counts as admitted, if the data do not say
	Outcome           string   `yaml:"outcome" json:"outcome,omitempty"`
	OutOfScope        string   `yaml:"out_of_scope" json:"out_of_scope,omitempty"`
	KnownBiases       string   `yaml:"known_biases" json:"known_biases,omitempty"`
	ClinicalRiskLevel string   `yaml:"clinical_risk_level" json:"clinical_risk_level,omitempty"`
	Hazards           []Hazard `yaml:"hazards" json:"hazards,omitempty"`
	BiasMitigation    string   `yaml:"bias_mitigation" json:"bias_mitigation,omitempty"`
	MonitoringPlan    string   `yaml:"monitoring_plan" json:"monitoring_plan,omitempty"`
	Maintenance       string   `yaml:"maintenance" json:"maintenance,omitempty"`
	Security          string   `yaml:"security" json:"security,omitempty"`
	Funding           string   `yaml:"funding" json:"funding,omitempty"`
	ThirdParties      string   `yaml:"third_parties" json:"third_parties,omitempty"`
	Stakeholders      string   `yaml:"stakeholders" json:"stakeholders,omitempty"`
	// why the threshold is what it is
	ThresholdReason string   `yaml:"threshold_reason" json:"threshold_reason,omitempty"`
	ReviewedBy      string   `yaml:"reviewed_by" json:"reviewed_by,omitempty"`
	ReviewedOn      string   `yaml:"reviewed_on" json:"reviewed_on,omitempty"`
	Resources       []string `yaml:"resources" json:"resources,omitempty"`
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

// ReadSite reads the YAML of a site. An unknown key is an error that names its line. An empty file is a site that has
// said nothing.
func ReadSite(r io.Reader) (*Site, error) {
	s := &Site{}
	limited := &io.LimitedReader{R: r, N: siteLimit + 1}
	d := yaml.NewDecoder(limited)
	d.KnownFields(true)
	if err := d.Decode(s); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("reading the site's fields: %w", err)
	}
	if limited.N <= 0 {
		return nil, fmt.Errorf("reading the site's fields: more than %d bytes", siteLimit)
	}
	for i, h := range s.Hazards {
		if h.Hazard == "" {
			return nil, fmt.Errorf("reading the site's fields: hazards: entry %d has no hazard", i+1)
		}
	}
	return s, nil
}
