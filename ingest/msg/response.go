package msg

// Response is a participant's answers to a questionnaire (KafkaTopic questionnaire.responses). Absent strings are "".
type Response struct {
	SchemaVersion string `json:"schema_version"`
	ResponseID    string `json:"response_id"`
	ParticipantID string `json:"participant_id,omitzero"`
	Instrument    string `json:"instrument"`           // names the questionnaire and chooses the model
	AnsweredAt    string `json:"answered_at,omitzero"` // RFC 3339, kept as it came and not checked
	// Answers and Confounds are in the order of the message. The last one of a repeated name counts.
	Answers   []Answer   `json:"answers"`             // as an object, item: number or null, or mistyped
	Confounds []Confound `json:"confounds,omitempty"` // as an object, name: number, string or null, or mistyped
}

// Answer is the answer to one item, absent if it is missing.
type Answer struct {
	Item     string
	Value    Optional
	Mistyped bool // the value, which is not kept, is neither a number within float64 nor null
}

// Confound is a property of the participant, for example age; null if it is missing.
type Confound struct {
	Name     string
	Value    Value
	Mistyped bool // the value, which is not kept, is neither a number within float64, a string nor null
}

// DecodeResponse reads a response from the JSON object in data into r. It overwrites r, but reuses its lists. It does
// not keep data.
//
// The rules and the order of errors are those of DecodeNote; response_id, instrument and answers are required.
// NoAnswers comes last: all answers are null. An answer or confound of another type, or a long string, is not an error,
// since only the model knows which of them are used. An error about a name has the field answers or confounds, not the
// name, which the sender chose. Only the size of a message bounds their number.
//
// It takes time linear in len(data). In the steady state it allocates once, plus once for each string with a JSON
// escape.
func DecodeResponse(data []byte, r *Response) error {
	// Keep nothing of an earlier, longer message.
	clear(r.Answers)
	clear(r.Confounds)
	*r = Response{Answers: r.Answers[:0], Confounds: r.Confounds[:0]}
	var d decoder
	hasAnswers, answered := false, false
	answer := func(item string) bool {
		d.bound("answers", item, MaxField)
		r.Answers = append(r.Answers, Answer{Item: item})
		a := &r.Answers[len(r.Answers)-1]
		fits, ok := d.optional(&a.Value, 2)
		a.Mistyped = !fits
		answered = answered || a.Value.Set || a.Mistyped
		return ok
	}
	confound := func(name string) bool {
		d.bound("confounds", name, MaxField)
		r.Confounds = append(r.Confounds, Confound{Name: name})
		c := &r.Confounds[len(r.Confounds)-1]
		fits, ok := d.value(&c.Value, 2)
		c.Mistyped = !fits
		return ok
	}
	err := d.message(data, &r.SchemaVersion, func(name string) bool {
		switch name {
		case "schema_version":
			return d.text(name, &r.SchemaVersion, MaxField)
		case "response_id":
			return d.text(name, &r.ResponseID, MaxField)
		case "participant_id":
			return d.text(name, &r.ParticipantID, MaxField)
		case "instrument":
			return d.text(name, &r.Instrument, MaxField)
		case "answered_at":
			return d.text(name, &r.AnsweredAt, MaxField)
		case "answers":
			clear(r.Answers)
			r.Answers, answered = r.Answers[:0], false
			hasAnswers = d.Peek() != 'n'
			return d.fields(name, answer)
		case "confounds":
			clear(r.Confounds)
			r.Confounds = r.Confounds[:0]
			return d.fields(name, confound)
		}
		return d.Skip(1)
	})
	switch {
	case err != nil:
		return err
	case blank(r.ResponseID):
		return &Error{MissingField, "response_id"}
	case blank(r.Instrument):
		return &Error{MissingField, "instrument"}
	case !hasAnswers:
		return &Error{MissingField, "answers"}
	case !answered:
		return &Error{NoAnswers, "answers"}
	}
	return nil
}

// Scores answer a Response: the degree to which each factor is present, for KafkaTopic questionnaire.scores.
type Scores struct {
	SchemaVersion string  `json:"schema_version"`
	ResponseID    string  `json:"response_id"`
	ParticipantID string  `json:"participant_id,omitzero"`
	Instrument    string  `json:"instrument"`
	AnsweredAt    string  `json:"answered_at,omitzero"`
	ScoredAt      string  `json:"scored_at"` // RFC 3339 in UTC with milliseconds, see TimeFormat
	Model         Model   `json:"model"`
	Scores        []Score `json:"scores"`   // in the model's order of factors
	Answered      int     `json:"answered"` // items of the model with an answer
	Items         int     `json:"items"`    // all items of the model
	// UnknownItems counts the answers to items unknown to the model. They do not affect the scores.
	UnknownItems int `json:"unknown_items,omitzero"`
	// Beyond names the confounds outside the range of training, which count as the nearest end of that range.
	Beyond []string `json:"beyond,omitempty"`
}

// Score is the degree to which one factor is present.
type Score struct {
	Factor string  `json:"factor"` // name within the model, factor1 and so on
	Score  float64 `json:"score"`  // in [0,1], without bounds by a graded response model
	// StandardError is that of Score, given by graded response models alone.
	StandardError float64   `json:"standard_error,omitzero"`
	Items         []Loading `json:"items"` // that define the factor, largest absolute Loading first
}

// Loading is what a fully present factor adds to the answer to an item, on the scale of the answers; by a graded
// response model it is the item's standardized loading.
type Loading struct {
	Item string `json:"item"`
	Text string `json:"text,omitzero"` // of the item, if the model knows it
	// scored in reverse: the factor adds to the opposite of the text
	Reversed bool    `json:"reversed,omitzero"`
	Loading  float64 `json:"loading"` // ≥ 0, or by a graded response model from −1 to 1
}

// AppendJSON appends the scores as one JSON object to dst, like Prediction.AppendJSON. Nil slices become [] or are
// omitted.
func (s *Scores) AppendJSON(dst []byte) []byte { return scoresCodec.append(dst, s) }
