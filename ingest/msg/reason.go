package msg

// Reason is the fixed code for why a message became a dead letter. It is the value of the header dlq-reason, and of
// error.code in the output of predict.
type Reason string

// The reasons, each with what it says about the message.
const (
	// empty, not JSON, cut short, with trailing bytes, or nested too deep.
	NotJSON Reason = "not_json"
	// valid JSON, but not an object; or a field, item or confound has another type or exceeds float64.
	WrongType Reason = "wrong_type"
	// a required field or a confound of the model is absent, null or (except the text) blank.
	MissingField Reason = "missing_field"
	EmptyText    Reason = "empty_text" // the text is there, but holds only white space
	// the answers are empty, or none is a number for an item of the model.
	NoAnswers  Reason = "no_answers"
	OutOfRange Reason = "out_of_range" // an answer is outside the range of its item
	// a categorical confound has a level that was not in training.
	UnknownLevel Reason = "unknown_level"
	InvalidUTF8  Reason = "invalid_utf8" // the bytes of the message are not UTF-8
	// the text exceeds MaxText, another string MaxField, or the whole record what a reader takes.
	TooLarge             Reason = "too_large"
	UnknownSchemaVersion Reason = "unknown_schema_version" // another major version, or not of the form N or N.M
	Unreadable           Reason = "unreadable"             // the producer sent a batch that cannot be decompressed
	// neither the complaint nor _other has a model, or the instrument has none.
	NoModel       Reason = "no_model"
	ScoringFailed Reason = "scoring_failed" // the scorer refused or failed
)

// Reasons returns all reasons.
func Reasons() []Reason {
	return []Reason{
		NotJSON, WrongType, MissingField, EmptyText, NoAnswers, OutOfRange, UnknownLevel, InvalidUTF8,
		TooLarge, UnknownSchemaVersion, Unreadable, NoModel, ScoringFailed,
	}
}

// Limits of a message's strings in bytes of UTF-8, after JSON escapes are resolved. MaxField keeps a prediction, which
// repeats identifiers and the complaint, far below the brokers' usual limit of 1 MiB.
const (
	MaxText  = 64 << 10
	MaxField = 4 << 10
)

// Error says why a message was refused. Neither part quotes the message.
type Error struct {
	Reason Reason
	Field  string // our field as the contract spells it, or the model's item as answers.A1; "" if none applies
}

// Error returns the reason, and the name of the field if there is one.
func (e *Error) Error() string {
	if e.Field == "" {
		return string(e.Reason)
	}
	return string(e.Reason) + ": " + e.Field
}
