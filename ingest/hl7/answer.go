package hl7

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Code is an acknowledgement code (MSA-1).
type Code string

// The codes of the original mode.
const (
	Accepted Code = "AA" // the receiver has the message for good
	Failed   Code = "AE" // the receiver cannot use this message
	Rejected Code = "AR" // the receiver does not take messages of this type or version
)

// Answer is what an acknowledgement says.
type Answer struct {
	Code   Code
	Reason string // why not Accepted: a fixed text that quotes nothing
	// Condition is the number in HL7's table 0357 (ERR-3) of what is wrong; 0 is InternalError.
	Condition int
	Where     Error  // the place, if one is known
	ID        string // MSH-10 of the acknowledgement
	Time      time.Time
}

// standard are the separators of messages that answer nothing readable.
var standard = Separators{'|', '^', '~', '\\', '&'}

// Standard returns the separators that the standard recommends.
func Standard() Separators { return standard }

// What may be wrong with a message, in HL7's table 0357.
const (
	SegmentSequence    = 100 // segments are missing, or are not those expected
	FieldMissing       = 101
	DataType           = 102
	ValueNotFound      = 103 // in its table
	UnsupportedType    = 200
	UnsupportedVersion = 203
	InternalError      = 207
)

var conditions = map[int]string{
	SegmentSequence: "Segment sequence error", FieldMissing: "Required field missing", DataType: "Data type error",
	ValueNotFound: "Table value not found", UnsupportedType: "Unsupported message type",
	UnsupportedVersion: "Unsupported version id", InternalError: "Application internal error",
}

// Acknowledge returns the acknowledgement of the message with this header, with its separators and version. MSA-2 is
// its MSH-10, byte for byte.
func (h *Header) Acknowledge(a Answer) []byte {
	s := h.Separators
	if s.Component == 0 {
		s = standard
	}
	version := h.Version
	if !Supported(version) {
		version = "2.5.1"
	}
	kind := "ACK"
	if h.Event != "" {
		kind += string(s.Component) + h.Event
		if version >= "2.4" {
			kind += string(s.Component) + "ACK"
		}
	}
	var b strings.Builder
	line := func(fields ...string) {
		b.WriteString(strings.TrimRight(strings.Join(fields, string(s.Field)), string(s.Field)) + "\r")
	}
	encoding := strings.TrimRight(string([]byte{s.Component, s.Repetition, s.Escape, s.Subcomponent}), "\x00")
	charset := h.CharacterSet
	if _, known := findCharset(charset); !known {
		charset = ""
	}
	processing := h.Processing
	if processing == "" {
		processing = "P"
	}
	line(header, encoding, h.ReceivingApplication, h.ReceivingFacility, h.SendingApplication, h.SendingFacility,
		FormatTime(a.Time), "", kind, a.ID, processing, version, "", "", "", "", "", charset)
	line("MSA", string(a.Code), h.Control, a.Reason)
	if a.Code != Accepted {
		place := ""
		if a.Where.Segment != "" {
			place = a.Where.Segment + string(s.Component) + strconv.Itoa(max(1, a.Where.Sequence))
			if a.Where.Field > 0 {
				place += string(s.Component) + strconv.Itoa(a.Where.Field)
			}
		}
		condition := cmp.Or(a.Condition, InternalError)
		code := strings.Join([]string{strconv.Itoa(condition), conditions[condition], "HL70357"}, string(s.Component))
		if version >= "2.5" {
			line("ERR", "", place, code, "E", "", "", "", a.Reason)
		} else {
			line("ERR", place)
		}
	}
	return []byte(b.String())
}

// versions are those that this package reads.
var versions = []string{"2.3", "2.3.1", "2.4", "2.5", "2.5.1", "2.6", "2.7", "2.7.1", "2.8", "2.8.1", "2.8.2"}

// Supported reports whether a version of HL7 is one that this package reads.
func Supported(version string) bool { return slices.Contains(versions, version) }

// ReadAcknowledgement returns MSA-1 and MSA-2 of an acknowledgement; its codes of the enhanced mode, CA, CE and CR, as
// those of the original mode.
func ReadAcknowledgement(data []byte) (code Code, control string, err error) {
	m, err := Parse(data)
	if err != nil {
		return "", "", err
	}
	msa := m.First("MSA")
	if msa.Position == 0 {
		return "", "", &Error{Reason: NotHL7, Segment: "MSA"}
	}
	code = Code(strings.ToUpper(msa.Field(1).String()))
	if strings.HasPrefix(string(code), "C") {
		code = "A" + code[1:]
	}
	return code, msa.Field(2).String(), nil
}
