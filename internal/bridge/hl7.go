package bridge

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/wardcast/wardcast/ingest/fhir"
	"github.com/wardcast/wardcast/ingest/hl7"
	"github.com/wardcast/wardcast/ingest/msg"
)

// event is what is done with the messages of an event of ADT, ORU or MDM.
type event struct {
	values, merge, registers bool
	step                     stepKind
	withdraws                bool // the document
}

// events are those that are read. Others of these types are accepted and report nothing.
var events = map[string]event{
	"ADT^A01": {values: true, step: admits},
	"ADT^A03": {values: true, step: ends},
	"ADT^A04": {values: true, registers: true},
	"ADT^A06": {values: true, step: admits},
	"ADT^A08": {values: true}, // an update: it never labels, whatever class and disposition it says
	"ADT^A11": {step: cancelsAdmit},
	"ADT^A13": {step: cancelsEnd},
	"ADT^A18": {merge: true}, "ADT^A34": {merge: true}, "ADT^A39": {merge: true}, "ADT^A40": {merge: true},
	"ORU^R01": {values: true},
	"MDM^T02": {values: true}, "MDM^T04": {values: true}, "MDM^T06": {values: true}, "MDM^T08": {values: true},
	"MDM^T10": {values: true}, "MDM^T11": {withdraws: true},
}

// Kinds returns the messages that are read, and "other".
func Kinds() []string {
	all := []string{"other", bundleKind}
	for kind := range events {
		all = append(all, kind)
	}
	for _, t := range fhir.BundleTypes() {
		all = append(all, bundleKind+"^"+t)
	}
	slices.Sort(all)
	return all
}

// ReadHL7 reads a message of HL7 v2. The error is a *Refusal. The header is that of the message, as far as it could be
// read; the reading has its kind, also with an error.
func (b *Bridge) ReadHL7(data []byte) (hl7.Header, Reading, error) {
	m, err := hl7.Parse(data)
	r := &reader{Bridge: b, m: m}
	h := &m.Header
	if h.Type != "" {
		r.Kind = h.Type
		if h.Event != "" {
			r.Kind += "^" + h.Event
		}
	}
	if h.Version != "" && !hl7.Supported(h.Version) {
		return *h, r.Reading, rejected(WrongVersion, 12)
	}
	if h.Type != "" && !slices.Contains([]string{"ADT", "ORU", "MDM"}, h.Type) {
		return *h, r.Reading, rejected(WrongType, 9)
	}
	if wrong, ok := err.(*hl7.Error); ok { //nolint:errorlint // Parse returns no other
		return *h, r.Reading, &Refusal{hl7.Failed, string(wrong.Reason), *wrong}
	}
	return *h, r.Reading, r.read(data)
}

func rejected(reason string, field int) *Refusal {
	return &Refusal{hl7.Rejected, reason, hl7.Error{Position: 1, Segment: "MSH", Field: field}}
}

// reader reads one message.
type reader struct {
	*Bridge
	Reading

	m *hl7.Message
}

func (r *reader) refuse(reason string, s hl7.Segment, name string, field int) error {
	return &Refusal{hl7.Failed, reason, hl7.Error{
		Position: s.Position, Segment: name, Field: field, Sequence: s.Sequence(),
	}}
}

// read reads a message that was parsed; data are its bytes.
func (r *reader) read(data []byte) error {
	h := &r.m.Header
	msh, evn, pid, pv1 := r.m.First("MSH"), r.m.First("EVN"), r.m.First("PID"), r.m.First("PV1")
	switch {
	case h.Type == "":
		return rejected(WrongType, 9)
	case h.Version == "":
		return rejected(WrongVersion, 12)
	case h.Control == "":
		return r.refuse(MissingControl, msh, "MSH", 10)
	}
	if h.Event == "" { // as some senders of 2.3 have it
		h.Event = cmp.Or(strings.TrimSpace(evn.Field(1).String()), map[string]string{"ORU": "R01"}[h.Type])
		r.Kind = strings.TrimSuffix(h.Type+"^"+h.Event, "^")
	}
	e, known := events[r.Kind]
	if !known {
		r.Ignored = true
		return nil
	}
	r.digest = digest(data, h)
	recorded := r.time(evn.Field(2), msh.Field(7))
	r.at = r.time(msh.Field(7), evn.Field(2))
	if e.merge {
		return r.readMerges(pid)
	}
	r.numbers[1] = patientNumber(pid)
	r.patient = r.patientID(r.numbers[1])
	name, field, _ := strings.Cut(r.config.Visit, "-")
	n, _ := strconv.Atoi(field) // the configuration was checked
	holder := r.m.First(name)
	for _, s := range r.m.Segments() {
		if s.Name == "PID" && patientNumber(s) != r.numbers[1] {
			return r.refuse(SeveralPatients, s, s.Name, 3)
		}
		if s.Name == name && code(s.Field(n)) != code(holder.Field(n)) {
			return r.refuse(SeveralPatients, s, name, n)
		}
	}
	r.numbers[0] = code(holder.Field(n))
	r.visit = r.visitID(r.numbers[0])
	switch {
	case holder.Position == 0:
		return r.refuse(MissingSegment, holder, name, 0)
	case r.visit == "":
		return r.refuse(MissingVisit, holder, name, n)
	}
	r.emergency = r.isEmergency(pv1.Field(2).Component(1).String()) || pv1.Field(2).Empty() && r.emergencyCare()
	r.registers = e.registers && r.emergency
	r.readStep(e, recorded)
	switch {
	case e.withdraws:
		if r.noteCodes[code(r.m.First("TXA").Field(2))] {
			r.values = append(r.values, value{name: textField, gone: true})
		}
	case e.values:
		r.readPatient(e, pid, pv1, recorded)
		return r.readObservations()
	}
	return nil
}

// readMerges reads which numbers of patients replace which: each MRG belongs to the PID before it.
func (r *reader) readMerges(pid hl7.Segment) error {
	to := &r.Reading
	for _, s := range r.m.Segments() {
		switch s.Name {
		case "PID":
			pid = s
		case "MRG":
			if to.merged != "" {
				r.also = append(r.also, Reading{at: r.at})
				to = &r.also[len(r.also)-1]
			}
			to.merged = r.patientID(medicalRecord(s.Field(1)))
			to.numbers[1] = patientNumber(pid)
			to.patient = r.patientID(to.numbers[1])
			switch {
			case to.merged == "":
				return r.refuse(MissingPatient, s, s.Name, 1)
			case to.patient == "":
				return r.refuse(MissingPatient, pid, "PID", 3)
			}
		}
	}
	if r.merged == "" {
		return r.refuse(MissingSegment, r.m.First("MRG"), "MRG", 0)
	}
	return nil
}

// digest names a message and its content apart from MSH, which a sender that repeats it may write anew.
func digest(data []byte, h *hl7.Header) string {
	sum := sha256.New()
	for _, s := range []string{h.SendingApplication, h.SendingFacility, h.Control} {
		sum.Write([]byte(s + "\x00"))
	}
	sum.Write(data[max(0, bytes.IndexAny(bytes.TrimLeft(data, "\r\n"), "\r\n")):])
	return hex.EncodeToString(sum.Sum(nil)[:8])
}

// time returns the first of these values that is a time, or the zero time. A date alone is none: its midnight would be
// before what happened that day.
func (r *reader) time(values ...hl7.Value) time.Time {
	for _, v := range values {
		if t, digits, ok := v.Time(r.zone); ok && digits >= len("YYYYMMDDHH") {
			return t
		}
	}
	return time.Time{}
}

// medicalRecord returns the medical record number of a list of identifiers, else the first one.
func medicalRecord(list hl7.Value) string {
	for v := range list.Repetitions() {
		if v.Component(5).String() == "MR" {
			return code(v)
		}
	}
	return code(list)
}

// patientNumber returns the number of a patient, of PID-3, else of PID-2.
func patientNumber(pid hl7.Segment) string {
	return cmp.Or(medicalRecord(pid.Field(3)), code(pid.Field(2)))
}

// isEmergency reports whether a class of a visit, such as PV1-2, is one of emergency visits.
func (b *Bridge) isEmergency(class string) bool {
	return len(b.config.EmergencyClasses) == 0 || slices.ContainsFunc(b.config.EmergencyClasses, func(c string) bool {
		return strings.EqualFold(c, strings.TrimSpace(class))
	})
}

// The observation that says where a visit takes place, which syndromic surveillance has in place of PV1-2, and its
// value for an emergency department, of the code set NUCC.
const (
	facilityType  = "SS003"
	emergencyCare = "261QE0002X"
)

// emergencyCare reports whether an observation says that the visit is one of an emergency department.
func (r *reader) emergencyCare() bool {
	return slices.ContainsFunc(r.m.Segments(), func(s hl7.Segment) bool {
		return s.Name == "OBX" && code(s.Field(3)) == facilityType && code(s.Field(5)) == emergencyCare
	})
}

// readStep reads what the event means for the outcome.
func (r *reader) readStep(e event, recorded time.Time) {
	pv1 := r.m.First("PV1")
	decided := r.time(r.m.First("EVN").Field(6))
	if e.step == ends && decided.IsZero() {
		decided = r.time(pv1.Field(45))
	}
	if decided.IsZero() {
		decided = recorded
	}
	s := &step{Kind: e.step, At: recorded.Unix(), Decided: decided.Unix()}
	switch e.step {
	case "":
		return
	case admits:
		s.Disposition, s.Ward = msg.Admitted, pv1.Field(3).Component(1).String()
		if !fits(s.Ward) {
			s.Ward = ""
		}
		s.Registered = r.config.A01Registers && r.emergency && r.m.Header.Event == "A01"
	case ends:
		if !r.emergency { // the end of a stay on a ward, or in a clinic
			return
		}
		if s.Disposition = r.dispositions[strings.ToLower(code(pv1.Field(36)))]; s.Disposition == "" {
			r.unused = append(r.unused, UnusedDisposition)
			return
		}
	}
	r.step = s
}

// Values that a message has and that cannot be used. The rest of the message is.
const (
	UnusedDisposition = "disposition" // PV1-36 is empty, or not in bridge.dispositions
	UnusedNumber      = "number"      // not a number where one is expected
	UnusedUnit        = "unit"        // unknown
	UnusedAcuity      = "acuity"      // not in bridge.acuity
	UnusedTime        = "time"        // not a time, or a date alone
	UnusedText        = "text"        // a document that is no text, such as PDF or RTF
	UnusedSex         = "sex"         // not in sexCodes
)

// UnusedValues returns all of them.
func UnusedValues() []string {
	return []string{
		UnusedDisposition, UnusedNumber, UnusedUnit, UnusedAcuity, UnusedTime, UnusedText, UnusedSex,
	}
}

func (r *reader) unusable(what string) { r.unused = append(r.unused, what) }

// sexCodes are those of PID-8 in table 0001, and of the ISO standard 5218, as senders write them; "" is unknown.
var sexCodes = map[string]string{
	"F": "F", "FEMALE": "F", "2": "F", "M": "M", "MALE": "M", "1": "M", "O": "O", "OTHER": "O",
	"": "", "U": "", "UNKNOWN": "", "A": "", "N": "", "0": "", "9": "",
}

// readPatient reads sex, arrival, and the age by the date of birth.
func (r *reader) readPatient(e event, pid, pv1 hl7.Segment, recorded time.Time) {
	switch sex, known := sexCodes[strings.ToUpper(code(pid.Field(8)))]; {
	case !known:
		r.unusable(UnusedSex)
	case sex != "":
		r.values = append(r.values, value{name: "sex", text: sex})
	}
	if !r.emergency {
		return // its PV1-44 is the time of another admission
	}
	arrived := r.time(pv1.Field(44))
	if arrived.IsZero() {
		if !pv1.Field(44).Empty() {
			r.unusable(UnusedTime)
		}
		if e.registers {
			arrived = r.time(r.m.First("EVN").Field(6))
			if arrived.IsZero() {
				arrived = recorded
			}
		}
	}
	if !arrived.IsZero() {
		r.values = append(r.values, value{name: arrivedField, text: arrived.UTC().Format(time.RFC3339)})
	}
	if born, digits, ok := pid.Field(7).Time(r.zone); ok && digits >= len("YYYYMMDD") {
		at := arrived
		if at.IsZero() {
			at = r.at
		}
		if years, ok := yearsOld(born, at); ok {
			r.values = append(r.values, value{name: "age", number: msg.Some(years), rank: rankDerived})
		}
	}
}

// yearsOld returns completed years of age, and of an infant hundredths of a year.
func yearsOld(born, at time.Time) (years float64, ok bool) {
	at = at.In(born.Location()) // whose year it is
	whole := at.Year() - born.Year()
	if at.Before(born.AddDate(whole, 0, 0)) {
		whole--
	}
	const infant = 2
	if whole < infant {
		years, ok = age(at.Sub(born).Hours(), "h")
		return years, ok
	}
	return float64(whole), true
}

// Ranks of values of one name: what was typed or measured replaces what was derived.
const (
	rankDerived  = -1
	rankCoded    = 1
	rankReported = 0
	rankTyped    = 2
)

// code returns the first component: the code of a value of type CE or CWE, the number of one of type CX.
func code(v hl7.Value) string { return strings.TrimSpace(v.Component(1).String()) }
