package msg

import "embed"

//go:embed schema/*.json
var schemas embed.FS

// Schema returns the JSON Schema, draft 2020-12, of the messages of a kind: note, outcome, prediction, champion,
// bed-demand, response or scores. It is "" for any other.
func Schema(kind string) string {
	data, err := schemas.ReadFile("schema/" + kind + ".json")
	if err != nil {
		return ""
	}
	return string(data)
}
