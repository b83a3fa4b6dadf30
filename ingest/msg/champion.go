package msg

// Champion says which version of a model scores notes, as it goes to the compacted KafkaTopic triage.models. The key is
// the name of the model: that of one complaint, or of all others. A message without a value says that there is no such
// model any more. A reader learns from it when to look into the model store, which alone says what is served.
type Champion struct {
	SchemaVersion string `json:"schema_version"`
	Generation    string `json:"generation"` // that the version belongs to
	Model         Model  `json:"model"`
}

// DecodeChampion reads a message of triage.models into c, whose former contents are lost. It does not keep data. The
// rules and the order of errors are those of DecodeNote; generation and the model's name and version are the required
// fields.
func DecodeChampion(data []byte, c *Champion) error {
	*c = Champion{}
	return championCodec.decode(data, &c.SchemaVersion, c, "generation", "model.name", "model.version")
}

// AppendJSON appends the message as one JSON object to dst; an empty SchemaVersion is written as SchemaVersion. It
// allocates only to grow dst.
func (c *Champion) AppendJSON(dst []byte) []byte { return championCodec.append(dst, c) }
