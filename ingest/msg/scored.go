package msg

// Scored is what a prediction must tell to be held against the outcome of its visit.
type Scored struct {
	VisitID  string
	ScoredAt string // RFC 3339, not checked
	Model    Model
	// Admission is the calibrated probability of admission, as Prediction.Admission returns it.
	Admission float64
}

// DecodeScored reads a prediction into s, whose former contents are lost. It skips the explanation and does not keep
// data. The rules and the order of errors are those of DecodeNote; visit_id and a probability in [0,1] are required.
func DecodeScored(data []byte, s *Scored) error {
	*s = Scored{}
	var d decoder
	var version string
	var probability, admission Optional
	err := d.message(data, &version, func(name string) bool {
		switch name {
		case "schema_version":
			return d.text(name, &version, MaxField)
		case "visit_id":
			return d.text(name, &s.VisitID, MaxField)
		case "scored_at":
			return d.text(name, &s.ScoredAt, MaxField)
		case "model":
			return d.model(&s.Model)
		case "probability":
			return d.float("", name, &probability)
		case "admission_probability":
			return d.float("", name, &admission)
		}
		return d.Skip(1)
	})
	if admission.Set {
		probability = admission
	}
	s.Admission = probability.Value
	switch {
	case err != nil:
		return err
	case blank(s.VisitID):
		return &Error{MissingField, "visit_id"}
	case !probability.Set:
		return &Error{MissingField, "probability"}
	case !(s.Admission >= 0 && s.Admission <= 1):
		return &Error{WrongType, "probability"}
	}
	return nil
}
