package msg

// Disposition says how a visit ended.
type Disposition string

// The dispositions.
const (
	Admitted    Disposition = "admitted"
	Discharged  Disposition = "discharged"
	Transferred Disposition = "transferred"
	Died        Disposition = "died"
	Left        Disposition = "left"
)

// Outcome is the end of a visit as it comes from KafkaTopic triage.outcomes.
type Outcome struct {
	SchemaVersion string      `json:"schema_version"`
	VisitID       string      `json:"visit_id"`
	Disposition   Disposition `json:"disposition"`
	Ward          string      `json:"ward,omitzero"`
	DecidedAt     string      `json:"decided_at,omitzero"` // RFC 3339, kept as it came and not checked
}

// DecodeOutcome reads an outcome from the JSON object in data into o, by the rules of DecodeNote. visit_id and
// disposition are required. A disposition that is none of the constants is WrongType.
func DecodeOutcome(data []byte, o *Outcome) error {
	*o = Outcome{}
	var d decoder
	var disposition string
	err := d.decode(data, func(name string) bool {
		switch name {
		case "schema_version":
			return d.text(name, &o.SchemaVersion, MaxField)
		case "visit_id":
			return d.text(name, &o.VisitID, MaxField)
		case "disposition":
			return d.text(name, &disposition, MaxField)
		case "ward":
			return d.text(name, &o.Ward, MaxField)
		case "decided_at":
			return d.text(name, &o.DecidedAt, MaxField)
		}
		return d.Skip(1)
	})
	if err == nil {
		err = d.check(o.SchemaVersion, [2]string{"visit_id", o.VisitID}, [2]string{"disposition", disposition})
	}
	if err != nil {
		return err
	}
	switch o.Disposition = Disposition(disposition); o.Disposition {
	case Admitted, Discharged, Transferred, Died, Left:
		return nil
	}
	return &Error{WrongType, "disposition"}
}

// AppendJSON appends the outcome as one JSON object to dst, by the rules of Note.AppendJSON.
func (o *Outcome) AppendJSON(dst []byte) []byte {
	dst = appendHead(dst, o.SchemaVersion, `,"visit_id":`, o.VisitID)
	dst = appendText(dst, `,"disposition":`, string(o.Disposition))
	dst = appendField(dst, `,"ward":`, o.Ward)
	dst = appendField(dst, `,"decided_at":`, o.DecidedAt)
	return append(dst, '}')
}
