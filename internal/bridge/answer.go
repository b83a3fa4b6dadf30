package bridge

import (
	"encoding/json"
	"errors"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/wardcast/wardcast/ingest/hl7"
	"github.com/wardcast/wardcast/ingest/msg"
)

// ErrUnknownVisit says that a prediction is not about a visit of this bridge.
var ErrUnknownVisit = errors.New("the visit of a prediction is unknown")

var errNoPrediction = errors.New("not a prediction")

// prediction is what answers say of one.
type prediction struct {
	VisitID              string         `json:"visit_id"`
	ScoredAt             string         `json:"scored_at"`
	Model                msg.Model      `json:"model"`
	Probability          float64        `json:"probability"`
	AdmissionProbability msg.Optional   `json:"admission_probability"`
	Threshold            float64        `json:"threshold"`
	Evidence             []msg.Evidence `json:"evidence"`
	Abstained            bool           `json:"abstained"`
	AbstainReason        string         `json:"abstain_reason"`
}

func (p *prediction) admission() float64 {
	if p.AdmissionProbability.Set {
		return p.AdmissionProbability.Value
	}
	return p.Probability
}

// Codes of the observations of an answer, of our own coding system.
const (
	codeSystem      = "99WARDCAST"
	codeProbability = "admission-probability"
	codeFindings    = "admission-findings"
	codeModel       = "model-version"
)

// maxFindings is how many parts of a note an answer names.
const maxFindings = 3

// maxControl is the length of MSH-10 before version 2.7.
const maxControl = 20

// ORU returns a prediction as ORU^R01 of version 2.5.1, with its MSH-10, which follows from the ce_id of the
// prediction.
func (b *Bridge) ORU(value []byte, id string, now time.Time) (message []byte, control string, err error) {
	var p prediction
	if json.Unmarshal(value, &p) != nil {
		return nil, "", errNoPrediction
	}
	v := b.visits[p.VisitID]
	if v == nil {
		return nil, "", ErrUnknownVisit
	}
	scored, err := time.Parse(time.RFC3339, p.ScoredAt)
	if err != nil {
		scored = now
	}
	number := func(hashed string) string {
		if n, known := b.known[hashed]; known {
			return n.Number
		}
		return hashed
	}
	control = id[:min(len(id), maxControl)]
	s := hl7.Standard()
	var out strings.Builder
	segment := func(fields ...string) { out.WriteString(strings.Join(fields, "|") + "\r") }
	empty := func(n int) string { return strings.Repeat("|", n-1) }
	at := hl7.FormatTime(scored.UTC())
	name := func(code, text string) string { return code + "^" + s.Quote(text) + "^" + codeSystem }
	segment("MSH", "^~\\&", "WARDCAST", s.Quote(b.config.Site), "", "", hl7.FormatTime(now.UTC()), "",
		"ORU^R01^ORU_R01", control, "P", "2.5.1", empty(5), "UNICODE UTF-8")
	// The name is absent: a pseudonym, type S.
	patient := s.Quote(number(b.current(v.Patient))) + "^^^" + s.Quote(b.config.Site) + "^MR"
	pid := []string{"PID", "1", "", patient, "", "^^^^^^S"}
	pv1, visit := []string{"PV1", "1", "E"}, s.Quote(number(p.VisitID))
	if b.config.Visit == "PID-18" {
		pid = append(pid, empty(12), visit)
	} else {
		pv1 = append(pv1, empty(16), visit)
	}
	segment(pid...)
	segment(pv1...)
	// The order is that of the visit, so that a later prediction replaces an earlier one.
	segment("OBR", "1", "", p.VisitID+"^WARDCAST", name(codeProbability, "Probability of hospital admission"), "", "",
		at,
		empty(14), at, empty(2), "F")
	probability, unit, status := p.admission()*100, "%^percent^UCUM", "F"
	if b.config.Answers.Scale == "fraction" {
		probability, unit = p.admission(), "1^ratio^UCUM"
	}
	shown := strconv.FormatFloat(math.Round(probability*1000)/1000, 'f', -1, 64)
	if p.Abstained {
		shown, status = "", "X" // no result
	}
	set := 0
	observe := func(kind, code, text, value, unit, status string) {
		set++
		segment("OBX", strconv.Itoa(set), kind, name(code, text), "", value, unit, "", "", "", "", status, "", "", at)
	}
	observe("NM", codeProbability, "Probability of hospital admission, by AI", shown, unit, status)
	for _, finding := range findings(&p) {
		observe("TX", codeFindings, "Findings behind the probability", s.Quote(finding), "", "F")
	}
	observe("ST", codeModel, "Model and version", s.Quote(p.Model.Name+" "+p.Model.Version), "", "F")
	return []byte(out.String()), control, nil
}

// findings returns the parts of a note that moved a prediction most, in words.
func findings(p *prediction) (all []string) {
	for _, e := range p.Evidence {
		if e.Text == "" || len(all) == maxFindings {
			continue
		}
		direction := "raises: "
		if e.Contribution < 0 {
			direction = "lowers: "
		}
		all = append(all, direction+e.Text)
	}
	if p.Abstained {
		all = append(all, "no prediction: "+p.AbstainReason)
	}
	return all
}
