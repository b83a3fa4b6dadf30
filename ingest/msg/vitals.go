package msg

import (
	_ "embed"
	"encoding/json"

	"github.com/wardcast/wardcast/internal/lists"
)

// Vitals are the measurements at triage, as they came: package intake decides which values count. A new one requires a
// field here, its name in Number, and an entry of vitals.json.
type Vitals struct {
	SBP   Optional `json:"sbp,omitzero"`
	DBP   Optional `json:"dbp,omitzero"`
	HR    Optional `json:"hr,omitzero"`
	RR    Optional `json:"rr,omitzero"`
	TempC Optional `json:"temp_c,omitzero"`
	SpO2  Optional `json:"spo2,omitzero"`
}

// Vital describes a vital sign.
type Vital struct {
	Name         string // in a note; the field is called vitals.NAME elsewhere
	Words        string // that it stands for
	Title, Short string // on pages
	Unit         string
	Suffix       string // of a value on a page; "" if it is usually omitted
	Example      string // as in "Write beats a minute, such as 96."
	// Range holds all values measured in living patients of any age. It excludes codes for missing values (999, 0, −1),
	// fractions instead of percent, and degrees Fahrenheit.
	Range [2]float64
	Why   string // the range is this one
	// Alarm are the greatest low and the least high value to which NEWS2 gives 3 points, the maximum; 0 for none (Royal
	// College of Physicians, National Early Warning Score 2, 2017, chart 1, oxygen scale 1).
	Alarm [2]float64
}

// VitalSigns returns the vital signs, in their usual order.
func VitalSigns() []Vital { return vitalSigns }

//go:embed vitals.json
var vitalsFile []byte

var vitalSigns = func() (all []Vital) {
	if err := json.Unmarshal(vitalsFile, &all); err != nil {
		panic(err)
	}
	return all
}()

// In returns the vital sign of a note, absent or not.
func (s *Vital) In(n *Note) *Optional { return n.Vitals.Number(s.Name) }

// Out reports whether NEWS2 gives a value 3 points.
func (s *Vital) Out(v float64) bool {
	return s.Alarm[0] > 0 && v <= s.Alarm[0] || s.Alarm[1] > 0 && v >= s.Alarm[1]
}

// VitalNames returns the names of the vitals.
func VitalNames() []string { return lists.Map(vitalSigns, func(v Vital) string { return v.Name }) }

// Number returns the vital of this name, nil if it is not one of VitalNames.
func (v *Vitals) Number(name string) *Optional {
	switch name {
	case "sbp":
		return &v.SBP
	case "dbp":
		return &v.DBP
	case "hr":
		return &v.HR
	case "rr":
		return &v.RR
	case "temp_c":
		return &v.TempC
	case "spo2":
		return &v.SpO2
	}
	return nil
}
