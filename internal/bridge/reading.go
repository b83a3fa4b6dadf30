package bridge

import (
	"fmt"
	"slices"
	"time"

	"github.com/wardcast/wardcast/ingest/fhir"
	"github.com/wardcast/wardcast/ingest/hl7"
	"github.com/wardcast/wardcast/ingest/msg"
)

// Reading is what a message reports of one visit, or of a merge of patients.
type Reading struct {
	Kind string // type and event, such as ADT^A04
	// Ignored says that messages of this kind report nothing that is used.
	Ignored bool

	digest  string    // of the sender, the number and the content of the message: the same for a repeat
	at      time.Time // of the message
	visit   string    // hashed
	alias   string    // what stands for the visit where only the id of its Encounter is known, or ""
	patient string    // hashed, or ""
	weak    bool      // the patient's number is an id, in whose place there may be another number
	numbers [2]string // of visit and patient, as received
	// references are those of visit and patient in FHIR, as received, or "".
	references [2]string
	emergency  bool // the class of the visit is that of an emergency
	registers  bool // the visit begins
	values     []value
	step       *step     // towards an outcome, or nil
	merged     string    // the hashed number that patient replaces, or ""
	also       []Reading // further merges
	unused     []string
}

// value is a value of a note. A later one replaces an earlier one of its name.
type value struct {
	name   string // textField, complaintField, arrivedField, or a name of msg.Note
	text   string
	number msg.Optional
	at     time.Time // zero: that of the message
	rank   int       // a lower one does not replace a higher one
	gone   bool      // the sender takes back what it sent
}

// Names of values of a note that msg.Note.Number and Word do not know.
const (
	textField      = "text"
	complaintField = "complaint"
	arrivedField   = "arrived_at"
)

// stepKind is what an event means for the outcome of a visit.
type stepKind string

// The kinds.
const (
	admits       stepKind = "admit"
	ends         stepKind = "end" // of the emergency visit
	cancelsAdmit stepKind = "cancel_admit"
	cancelsEnd   stepKind = "cancel_end"
)

// step is an event on the way to an outcome.
type step struct {
	Kind        stepKind        `json:"kind"`
	At          int64           `json:"at"`      // when the event was recorded, in seconds since 1970
	Decided     int64           `json:"decided"` // when it happened
	Disposition msg.Disposition `json:"disposition,omitzero"`
	Ward        string          `json:"ward,omitzero"`
	// Registered counts only if another message registered the visit as an emergency: this one may register it
	// (bridge.a01_registers).
	Registered bool `json:"registered,omitzero"`
}

// Reasons of refusal beside those of package hl7.
const (
	WrongType      = "wrong_type"    // not ADT, ORU or MDM
	WrongVersion   = "wrong_version" // of HL7
	MissingSegment = "missing_segment"
	MissingVisit   = "missing_visit"   // the field that names the visit is empty
	MissingPatient = "missing_patient" // of a merge
	MissingControl = "missing_control" // MSH-10 is empty
	// SeveralPatients refuses a message with segments of more than one patient or visit: one's values would count as
	// the other's.
	SeveralPatients = "several_patients"
	// Deletion is an entry of a Bundle that deletes. What was joined of the resource stays.
	Deletion    = "unsupported_deletion"
	TooLongText = "text_too_large" // for a note
	NoServer    = "no_server"      // resources are named, and there is no bridge.fhir.server to fetch them from
)

// Reasons returns all reasons of refusal.
func Reasons() []string {
	all := []string{
		WrongType, WrongVersion, MissingSegment, MissingVisit, MissingPatient, MissingControl, SeveralPatients,
		Deletion, TooLongText, NoServer,
	}
	for _, err := range fhir.Errors() {
		all = append(all, err.Error())
	}
	for _, r := range hl7.Reasons() {
		all = append(all, string(r))
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Refusal says why and where a message cannot be used. It quotes nothing of it.
type Refusal struct {
	Code   hl7.Code // hl7.Failed or hl7.Rejected
	Reason string   // one of Reasons
	Where  hl7.Error
}

func (r *Refusal) Error() string { return r.Reason }

// Condition is the number of what is wrong in HL7's table 0357.
func (r *Refusal) Condition() int {
	switch r.Reason {
	case WrongType:
		return hl7.UnsupportedType
	case WrongVersion:
		return hl7.UnsupportedVersion
	case MissingSegment, SeveralPatients, string(hl7.SeveralMessages), string(hl7.NotHL7):
		return hl7.SegmentSequence
	case MissingVisit, MissingPatient, MissingControl:
		return hl7.FieldMissing
	case string(hl7.UnknownCharacterSet):
		return hl7.ValueNotFound
	case TooLongText, string(hl7.InvalidCharacters), string(hl7.BadSeparators):
		return hl7.DataType
	}
	return hl7.InternalError // it is larger than this bridge takes, or the bridge failed
}

// Place names the segment and the field of the fault, as in PV1-19, or is "".
func (r *Refusal) Place() string {
	if r.Where.Field == 0 {
		return r.Where.Segment
	}
	return fmt.Sprintf("%s-%d", r.Where.Segment, r.Where.Field)
}

// Visit returns the hashed number of the visit, or "".
func (r *Reading) Visit() string { return r.visit }

// At returns when what is reported was recorded, zero if that is unknown.
func (r *Reading) At() time.Time { return r.at }

// Unused names the values that the message has and that cannot be used: some of UnusedValues.
func (r *Reading) Unused() []string { return r.unused }
