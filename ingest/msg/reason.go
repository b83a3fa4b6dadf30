package msg

// Reason is the fixed code for why a message became a dead letter. It is the
// value of the header dlq-reason and of error.code in the output of predict.
type Reason string

// The reasons, each with what it says about the message.
const (
	NotJSON              Reason = "not_json"               // empty, no JSON, cut short, trailing bytes, or nested too deep
	WrongType            Reason = "wrong_type"             // valid JSON, but not an object, or a field, or an item or confound of the model, of another type or out of float64's range
	MissingField         Reason = "missing_field"          // a required field, or a confound of the model, is absent, null or (but for the text) blank
	EmptyText            Reason = "empty_text"             // the text is there, but holds only white space
	NoAnswers            Reason = "no_answers"             // answers hold nothing, or no number for an item of the model
	OutOfRange           Reason = "out_of_range"           // an answer is outside the range of its item
	UnknownLevel         Reason = "unknown_level"          // a categorical confound has a level that was not in training
	InvalidUTF8          Reason = "invalid_utf8"           // the bytes of the message are not UTF-8
	TooLarge             Reason = "too_large"              // the text exceeds MaxText, or another string MaxField
	UnknownSchemaVersion Reason = "unknown_schema_version" // the major version is not ours, or not of the form N or N.M
	NoModel              Reason = "no_model"               // neither the complaint nor the fallback has a model, or the instrument has none
	ScoringFailed        Reason = "scoring_failed"         // the scorer refused or broke down
)

// Limits of a message's strings in bytes of UTF-8, after JSON escapes are
// resolved. MaxField keeps a prediction, which repeats identifiers and the
// complaint, far below the brokers' usual limit of 1 MiB.
const (
	MaxText  = 64 << 10
	MaxField = 4 << 10
)

// Error says why a message was refused. Neither part quotes the message.
type Error struct {
	Reason Reason
	Field  string // name of our field as the contract spells it, or of the model's item as answers.A1, "" where none applies
}

// Error returns the reason and, where there is one, the name of the field.
func (e *Error) Error() string {
	if e.Field == "" {
		return string(e.Reason)
	}
	return string(e.Reason) + ": " + e.Field
}
