package msg

// Scored is the part of a prediction that is compared with the outcome of its visit.
type Scored struct {
	VisitID   string  `json:"visit_id"`
	ScoredAt  string  `json:"scored_at"` // RFC 3339, not checked
	Model     Model   `json:"model"`
	Admission float64 `json:"-"` // calibrated probability of admission, that of Prediction.Admission
}

// Arrival is the part of a prediction about a patient who waits for a decision.
type Arrival struct {
	Scored
	ArrivedAt string   `json:"arrived_at"` // RFC 3339, not checked
	Complaint string   `json:"complaint"`
	Abstained bool     `json:"abstained"`
	Site      string   `json:"-"`       // "" unless the model reads it
	Age       Optional `json:"-"`       // absent unless the model reads it
	Classes   []Class  `json:"classes"` // of a model of several outcomes
}

type scoredMessage struct {
	Scored
	probabilities
}

type arrivalMessage struct {
	Arrival
	probabilities
	Aux []struct {
		Name  string `json:"name"`
		Value Value  `json:"value"`
	} `json:"aux"`
}

type probabilities struct {
	SchemaVersion        string   `json:"schema_version"`
	Probability          Optional `json:"probability"`
	AdmissionProbability Optional `json:"admission_probability"`
}

func (p *probabilities) admission() (float64, error) {
	v := p.Probability
	if p.AdmissionProbability.Set {
		v = p.AdmissionProbability
	}
	switch {
	case !v.Set:
		return 0, &Error{MissingField, "probability"}
	case !(v.Value >= 0 && v.Value <= 1):
		return 0, &Error{WrongType, "probability"}
	}
	return v.Value, nil
}

// DecodeScored reads a prediction into s, which it overwrites. It skips the explanation and does not keep data. The
// rules and the order of errors are those of DecodeNote; visit_id and a probability in [0,1] are required.
func DecodeScored(data []byte, s *Scored) (err error) {
	var m scoredMessage
	if err = scoredCodec.decode(data, &m.SchemaVersion, &m, "visit_id"); err == nil {
		m.Admission, err = m.admission()
	}
	*s = m.Scored
	return err
}

// DecodeArrival reads a prediction into a, which it overwrites, like DecodeScored but with the fields for a forecast of
// beds. Fields of the explanation with another type are skipped.
func DecodeArrival(data []byte, a *Arrival) (err error) {
	var m arrivalMessage
	if err = arrivalCodec.decode(data, &m.SchemaVersion, &m, "visit_id"); err == nil {
		m.Admission, err = m.admission()
	}
	for _, x := range m.Aux {
		switch x.Name {
		case "age":
			m.Age.Value, m.Age.Set = x.Value.Number()
		case "site":
			m.Site, _ = x.Value.Text()
		}
	}
	*a = m.Arrival
	return err
}
