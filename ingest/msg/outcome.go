package msg

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
)

// Disposition says how a visit ended.
type Disposition string

// The dispositions.
const (
	Admitted    Disposition = "admitted"
	Discharged  Disposition = "discharged"
	Transferred Disposition = "transferred" // to another hospital
	Died        Disposition = "died"        // before a decision
	Left        Disposition = "left"        // without being seen, or against advice
)

// Dispositions returns all dispositions.
func Dispositions() []Disposition {
	return []Disposition{Admitted, Discharged, Transferred, Died, Left}
}

// CheckAdmission returns an error if dispositions that count as admitted are unknown, or leave nobody who is not.
func CheckAdmission(admission []Disposition) error {
	others := Dispositions()
	for _, d := range admission {
		if !slices.Contains(Dispositions(), d) {
			return fmt.Errorf("%q is no disposition; use %v", d, Dispositions())
		}
		others = slices.DeleteFunc(others, func(other Disposition) bool { return other == d })
	}
	if len(others) == 0 {
		return errors.New("all dispositions count as admitted")
	}
	return nil
}

// OutcomeStatus says how an outcome relates to earlier ones of its visit.
type OutcomeStatus string

// The statuses.
const (
	Final     OutcomeStatus = "final"     // the decision; also what an absent status means
	Corrected OutcomeStatus = "corrected" // replaces what was said of the visit before
	Cancelled OutcomeStatus = "cancelled" // withdraws it: the visit is undecided again
)

// Outcome is one event in the life of a visit, as it comes from KafkaTopic triage.outcomes. Outcomes are revocable: the
// latest event of a visit says what is known of it. Absent strings are "".
type Outcome struct {
	SchemaVersion string        `json:"schema_version"`
	VisitID       string        `json:"visit_id"`
	Disposition   Disposition   `json:"disposition"` // with Cancelled, the one that is withdrawn
	Status        OutcomeStatus `json:"status,omitzero"`
	Ward          string        `json:"ward,omitzero"`
	DecidedAt     string        `json:"decided_at,omitzero"` // RFC 3339, kept as it came and not checked
	// RecordedAt is when the sender learned of the event, if that differs from DecidedAt: labels come late, and a
	// correction may move the decision back. RFC 3339, not checked.
	RecordedAt string `json:"recorded_at,omitzero"`
}

// DecodeOutcome reads an outcome from the JSON object in data into o, whose former contents are lost. An absent status
// is read as Final. It does not keep data.
//
// The rules, the order of errors and the cost are those of DecodeNote; visit_id and disposition are the required
// fields. A disposition or status that is none of the known ones is WrongType.
func DecodeOutcome(data []byte, o *Outcome) error { return decodeOutcome(data, o, "") }

// DecodeOwnOutcome is DecodeOutcome for an outcome that did not come through Kafka: an absent schema_version is
// SchemaVersion.
func DecodeOwnOutcome(data []byte, o *Outcome) error { return decodeOutcome(data, o, SchemaVersion) }

func decodeOutcome(data []byte, o *Outcome, version string) error {
	*o = Outcome{SchemaVersion: version}
	if err := outcomeCodec.decode(data, &o.SchemaVersion, o, "visit_id", "disposition"); err != nil {
		return err
	}
	o.Status = cmp.Or(o.Status, Final)
	if !slices.Contains(Dispositions(), o.Disposition) {
		return &Error{WrongType, "disposition"}
	}
	if !slices.Contains([]OutcomeStatus{Final, Corrected, Cancelled}, o.Status) {
		return &Error{WrongType, "status"}
	}
	return nil
}

// AppendJSON appends the outcome as one JSON object to dst. Absent fields are left out; an empty SchemaVersion is
// written as SchemaVersion. It allocates only to grow dst.
func (o *Outcome) AppendJSON(dst []byte) []byte { return outcomeCodec.append(dst, o) }
