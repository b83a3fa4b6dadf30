package bridge

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// object is a JSON object. Its keys are written in order, so that the same prediction has the same bytes.
type object = map[string]any

// PredictionSystem is the system of the identifier of a RiskAssessment: the ce_id of its prediction.
const PredictionSystem = "urn:wardcast:prediction"

// riskWindow is the time for which a prediction counts: an admission is decided within it.
const riskWindow = 24 * time.Hour

// RiskAssessment returns a prediction as a resource of the configured version of FHIR. id is the ce_id of the
// prediction.
func (b *Bridge) RiskAssessment(value []byte, id string) ([]byte, error) {
	var p prediction
	if json.Unmarshal(value, &p) != nil {
		return nil, errNoPrediction
	}
	v := b.visits[p.VisitID]
	if v == nil {
		return nil, ErrUnknownVisit
	}
	at, err := time.Parse(time.RFC3339, p.ScoredAt)
	if err != nil {
		return nil, errNoPrediction
	}
	instant := at.UTC().Format(time.RFC3339)
	name, named := "deviceName", object{"name": "wardcast", "type": "model-name"}
	if b.config.Answers.Version == "R5" {
		name, named = "name", object{"value": "wardcast", "type": "user-friendly-name"}
	}
	forecast := object{
		"outcome":    object{"text": "Admission to hospital"},
		"whenPeriod": object{"start": instant, "end": at.Add(riskWindow).UTC().Format(time.RFC3339)},
		"rationale":  rationale(&p),
	}
	if !p.Abstained {
		shown := p.admission() * 100
		if b.config.Answers.Scale == "fraction" {
			shown = p.admission()
		}
		forecast["probabilityDecimal"] = math.Round(shown*1000) / 1000
	}
	return json.Marshal(object{
		"resourceType": "RiskAssessment",
		"meta": object{"security": []object{{
			"system": "http://terminology.hl7.org/CodeSystem/v3-ObservationValue", "code": "AIAST",
			"display": "Artificial Intelligence asserted",
		}}},
		"contained": []object{{
			"resourceType": "Device", "id": "wardcast", name: []object{named}, "modelNumber": p.Model.Name,
			"version": []object{{"value": p.Model.Version}},
		}},
		"identifier":         []object{{"system": PredictionSystem, "value": id}},
		"status":             "final",
		"method":             object{"text": strings.TrimSpace("wardcast " + p.Model.Name + " " + p.Model.Version)},
		"code":               object{"text": "Probability of admission to hospital, by artificial intelligence"},
		"subject":            b.reference(b.current(v.Patient), "Patient", "MR"),
		"encounter":          b.reference(p.VisitID, "Encounter", "VN"),
		"occurrenceDateTime": instant,
		"performer":          object{"reference": "#wardcast"},
		"prediction":         []object{forecast},
	})
}

// reference returns the reference to a patient or visit: as received, if it is kept, else by number or hash.
func (b *Bridge) reference(hashed, kind, code string) object {
	known := b.known[hashed]
	if known.Reference != "" {
		return object{"reference": known.Reference}
	}
	return object{"type": kind, "identifier": object{
		"type": object{"coding": []object{{
			"system": "http://terminology.hl7.org/CodeSystem/v2-0203", "code": code,
		}}},
		"system": "urn:wardcast:" + strings.ToLower(kind), "value": cmp.Or(known.Number, hashed, "unknown"),
	}}
}

// percent returns a probability in words. That it is percent stands next to it.
func percent(p float64) string { return fmt.Sprintf("%.3g %%", math.Round(p*1000)/10) }

// maxWords is how many words of a finding FHIR has: a rationale is no copy of a note.
const maxWords = 4

// brief returns the findings in few words.
func brief(p *prediction) []string {
	all := findings(p)
	for i, finding := range all {
		if words := strings.Fields(finding); len(words) > maxWords+1 && !p.Abstained { // and the direction
			all[i] = strings.Join(words[:maxWords+1], " ") + " …"
		}
	}
	return all
}

// rationale says what moved a prediction.
func rationale(p *prediction) string {
	said := strings.Join(brief(p), "; ")
	if p.Abstained {
		return said
	}
	return strings.TrimSuffix(percent(p.admission())+" probability of admission; "+said, "; ")
}

// Predicted keeps a prediction for cards, if it is about a visit that is known.
func (b *Bridge) Predicted(value []byte) {
	var p prediction
	if json.Unmarshal(value, &p) != nil {
		return
	}
	if v := b.visits[p.VisitID]; v != nil {
		p.Evidence = slices.Clone(p.Evidence[:min(2*maxFindings, len(p.Evidence))]) // the rest is not shown
		v.predicted = &p
	}
}

// Card returns the card of CDS Hooks about an encounter by its id, or by the number of its visit; nil if there is no
// prediction of it. page is the address of the pages.
func (b *Bridge) Card(encounter, page string) any {
	visit := b.aliases[b.stands(encounter)]
	v := b.visits[cmp.Or(visit, b.visitID(encounter))]
	if v == nil || v.predicted == nil {
		return nil
	}
	p := v.predicted
	summary := "Admission to hospital: " + percent(p.admission()) + " (by AI)"
	if p.Abstained {
		summary = "Admission to hospital: no prediction"
	}
	detail := "- " + strings.Join(append(brief(p), "model "+p.Model.Name+", version "+p.Model.Version), "\n- ")
	return object{
		"summary": summary, "detail": detail, "indicator": "info", "source": object{"label": "wardcast"},
		"links": []object{{"label": "Open wardcast", "url": page, "type": "absolute"}},
	}
}
