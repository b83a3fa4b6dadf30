package msg

import _ "embed" // of the schemas

// The JSON Schemas, draft 2020-12, of the values of the messages.
var (
	//go:embed schema/note.json
	noteSchema string
	//go:embed schema/outcome.json
	outcomeSchema string
	//go:embed schema/prediction.json
	predictionSchema string
	//go:embed schema/response.json
	responseSchema string
	//go:embed schema/scores.json
	scoresSchema string
)

// NoteSchema returns the JSON Schema of notes.
func NoteSchema() string { return noteSchema }

// OutcomeSchema returns the JSON Schema of outcomes.
func OutcomeSchema() string { return outcomeSchema }

// PredictionSchema returns the JSON Schema of predictions.
func PredictionSchema() string { return predictionSchema }

// ResponseSchema returns the JSON Schema of responses.
func ResponseSchema() string { return responseSchema }

// ScoresSchema returns the JSON Schema of scores.
func ScoresSchema() string { return scoresSchema }
