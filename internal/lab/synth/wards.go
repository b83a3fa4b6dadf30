package synth

import (
	"math/rand/v2"

	"github.com/wardcast/wardcast/ingest/msg"
)

// childhood is the age below which everybody is admitted to PAED.
const childhood = 16

// shares are the wards of the admitted adults of a complaint; what they lack to 1 is MED.
var shares = map[string][]struct {
	ward  string
	share float64
}{
	"Chest Pain":                     {{"CARD", .62}, {"ICU", .06}},
	"Shortness of Breath":            {{"CARD", .22}, {"ICU", .12}},
	"Abdominal Pain":                 {{"SURG", .66}, {"ICU", .03}},
	"Back Pain":                      {{"ORTHO", .40}, {"SURG", .10}},
	"General Weakness":               {{"CARD", .08}, {"ICU", .03}},
	"Lower Extremity Injury":         {{"ORTHO", .86}, {"SURG", .05}},
	"Upper Extremity Injury":         {{"ORTHO", .84}, {"SURG", .08}},
	"Fever":                          {{"ICU", .07}, {"SURG", .05}},
	"Altered Level of Consciousness": {{"ICU", .22}},
	"Stroke Symptoms":                {{"ICU", .10}},
	"Head Injury":                    {{"SURG", .60}, {"ICU", .14}},
	"Allergic Reaction":              {{"ICU", .12}},
}

// Ward draws the ward of an admitted patient.
func Ward(r *rand.Rand, n *msg.Note) string {
	u := r.Float64()
	if n.Age.Set && n.Age.Value < childhood {
		return "PAED"
	}
	for _, s := range shares[n.Complaint] {
		if u < s.share {
			return s.ward
		}
		u -= s.share
	}
	return "MED"
}
