package msg

// Vitals are the measurements at triage, as they came: package intake decides which values count. A new one requires a
// field here and a row of vitalSigns.
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
	of    func(*Vitals) *Optional
}

// VitalSigns returns the vital signs, in their usual order.
func VitalSigns() []Vital { return vitalSigns[:] }

var vitalSigns = [...]Vital{
	{
		Name: "sbp", Words: "systolic blood pressure", Title: "Systolic BP", Short: "Systolic BP",
		Unit: "mmHg", Example: "mmHg, such as 138",
		Range: [2]float64{30, 320}, Alarm: [2]float64{90, 220},
		Why: "no cuff measures less; the highest hypertensive crises stay below",
		of:  func(v *Vitals) *Optional { return &v.SBP },
	}, {
		Name: "dbp", Words: "diastolic blood pressure", Title: "Diastolic BP", Short: "Diastolic BP",
		Unit: "mmHg", Example: "mmHg, such as 74",
		Range: [2]float64{10, 220},
		Why:   "the same",
		of:    func(v *Vitals) *Optional { return &v.DBP },
	}, {
		Name: "hr", Words: "heart rate", Title: "Heart rate", Short: "HR",
		Unit: "1/min", Example: "beats a minute, such as 96",
		Range: [2]float64{15, 300}, Alarm: [2]float64{40, 131},
		Why: "the slowest escape rhythms; atrial flutter that is conducted 1:1",
		of:  func(v *Vitals) *Optional { return &v.HR },
	}, {
		Name: "rr", Words: "respiratory rate", Title: "Respiratory rate", Short: "RR",
		Unit: "1/min", Example: "breaths a minute, such as 18",
		Range: [2]float64{2, 120}, Alarm: [2]float64{8, 25},
		Why: "agonal breathing; a newborn in distress",
		of:  func(v *Vitals) *Optional { return &v.RR },
	}, {
		Name: "temp_c", Words: "body temperature", Title: "Temperature", Short: "Temp",
		Unit: "°C", Suffix: " °C", Example: "degrees, such as 36.8",
		Range: [2]float64{24, 46.5}, Alarm: [2]float64{35, 0},
		Why: "colder patients show no vital signs (Durrer 2003, stage IV); survived after a heat stroke (Slovis 1982)",
		of:  func(v *Vitals) *Optional { return &v.TempC },
	}, {
		Name: "spo2", Words: "oxygen saturation", Title: "SpO₂", Short: "SpO₂",
		Unit: "%", Suffix: " %", Example: "percent, such as 97",
		Range: [2]float64{30, 100}, Alarm: [2]float64{91, 0},
		Why: "the lowest value of climbers near the top of Everest was 34 (Grocott 2009)",
		of:  func(v *Vitals) *Optional { return &v.SpO2 },
	},
}

// In returns the vital sign of a note, absent or not.
func (s *Vital) In(n *Note) *Optional { return s.of(&n.Vitals) }

// Out reports whether NEWS2 gives a value 3 points.
func (s *Vital) Out(v float64) bool {
	return s.Alarm[0] > 0 && v <= s.Alarm[0] || s.Alarm[1] > 0 && v >= s.Alarm[1]
}

// VitalNames returns the names of the vitals.
func VitalNames() (names []string) {
	for i := range vitalSigns {
		names = append(names, vitalSigns[i].Name)
	}
	return names
}

// Number returns the vital of this name, nil if it is not one of VitalNames.
func (v *Vitals) Number(name string) *Optional {
	for i := range vitalSigns {
		if vitalSigns[i].Name == name {
			return vitalSigns[i].of(v)
		}
	}
	return nil
}
