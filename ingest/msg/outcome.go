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

// CheckAdmission returns an error if dispositions that count as admitted are unknown, or all dispositions.
func CheckAdmission(admission []Disposition) error {
	others := Dispositions()
	for _, d := range admission {
		if !slices.Contains(Dispositions(), d) {
			return fmt.Errorf("%q is not a disposition; use one of %v", d, Dispositions())
		}
		others = slices.DeleteFunc(others, func(other Disposition) bool { return other == d })
	}
	if len(others) == 0 {
		return errors.New("all dispositions count as admitted")
	}
	return nil
}

// OutcomeStatus is the relation of an outcome to earlier ones of its visit.
type OutcomeStatus string

// The statuses.
const (
	Final     OutcomeStatus = "final"     // the decision; the default
	Corrected OutcomeStatus = "corrected" // replaces the earlier outcomes of the visit
	Cancelled OutcomeStatus = "cancelled" // withdraws it: the visit is undecided again
)

// Outcome is an event of a visit from KafkaTopic triage.outcomes. The latest one counts. Absent strings are "".
type Outcome struct {
	SchemaVersion string        `json:"schema_version"`
	VisitID       string        `json:"visit_id"`
	Disposition   Disposition   `json:"disposition"` // with Cancelled, the one that is withdrawn
	Status        OutcomeStatus `json:"status,omitzero"`
	Ward          string        `json:"ward,omitzero"`
	DecidedAt     string        `json:"decided_at,omitzero"` // RFC 3339, kept as it came and not checked
	// RecordedAt is when the sender learned of the event, if not at DecidedAt: labels come late, and a correction may
	// move the decision back. RFC 3339, not checked.
	RecordedAt string `json:"recorded_at,omitzero"`
}

// DecodeOutcome reads an outcome from the JSON object in data into o, which it overwrites. An absent status is read as
// Final. It does not keep data. The rules, the order of errors and the cost are those of DecodeNote; visit_id and
// disposition are required. An unknown disposition or status is WrongType.
func DecodeOutcome(data []byte, o *Outcome) error { return decodeOutcome(data, o, "") }

// DecodeOwnOutcome is DecodeOutcome for an outcome not from Kafka: an absent schema_version is SchemaVersion.
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

// AppendJSON appends the outcome as one JSON object to dst, without absent fields. An empty SchemaVersion is written as
// SchemaVersion. It allocates only to grow dst.
func (o *Outcome) AppendJSON(dst []byte) []byte { return outcomeCodec.append(dst, o) }
