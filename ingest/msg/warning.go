package msg

// WarningCode is the fixed code for what is wrong with a value of a note that was scored all the same.
type WarningCode string

// The codes. A value that is out of range or no time counts as missing; one that the model does not know adds nothing.
const (
	ValueOutOfRange WarningCode = "out_of_range" // a number or a time that cannot be
	ValueBadTime    WarningCode = "bad_time"     // not a time of RFC 3339
	// a categorical value that was not in training, or too seldom.
	ValueUnknownLevel WarningCode = "unknown_level"
	// a complaint without a model of its own, of which the model of all knows nothing.
	ValueUnknownComplaint WarningCode = "unknown_complaint"
)

// Warning names a field of a note that was not read as it came.
type Warning struct {
	Field string      `json:"field"` // as the note spells it: age, vitals.hr
	Code  WarningCode `json:"code"`
}

// String says what is wrong, in a sentence without a full stop. It does not show the value.
func (w Warning) String() string {
	switch w.Code {
	case ValueOutOfRange:
		return w.Field + " is out of range and counts as missing"
	case ValueBadTime:
		return w.Field + " is not a time of RFC 3339 and counts as missing"
	case ValueUnknownLevel, ValueUnknownComplaint:
		return "the model does not know the value of " + w.Field
	}
	return w.Field + ": " + string(w.Code)
}

func (w *Warning) appendJSON(dst []byte) []byte {
	dst = appendText(dst, `{"field":`, w.Field)
	dst = appendText(dst, `,"code":`, string(w.Code))
	return append(dst, '}')
}
