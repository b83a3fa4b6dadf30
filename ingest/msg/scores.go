package msg

// Scores answer a Response: the degree to which each factor is present, as it goes to KafkaTopic questionnaire.scores.
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
	// UnknownItems counts the answers to items that the model does not have. They do not affect the scores.
	UnknownItems int `json:"unknown_items,omitzero"`
	// Beyond names the confounds outside the range of training. Each counts as the nearest end of that range.
	Beyond []string `json:"beyond,omitempty"`
}

// Score is the degree to which one factor is present.
type Score struct {
	Factor string    `json:"factor"` // name within the model, factor1 and so on
	Score  float64   `json:"score"`  // in [0,1]
	Items  []Loading `json:"items"`  // that define the factor, largest Loading first
}

// Loading is what a factor that is fully present adds to the answer to an item, on the scale of the answers.
type Loading struct {
	Item string `json:"item"`
	Text string `json:"text,omitzero"` // of the item, if the model knows it
	// scored from the other end: the factor adds to the opposite of the text
	Reversed bool    `json:"reversed,omitzero"`
	Loading  float64 `json:"loading"` // ≥ 0
}

// AppendJSON appends the scores as one JSON object to dst, by the rules of Prediction.AppendJSON. Nil slices become [],
// or are left out if they are optional.
func (s *Scores) AppendJSON(dst []byte) []byte { return scoresCodec.append(dst, s) }
