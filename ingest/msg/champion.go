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
	var d decoder
	err := d.message(data, &c.SchemaVersion, func(name string) bool {
		switch name {
		case "schema_version":
			return d.text(name, &c.SchemaVersion, MaxField)
		case "generation":
			return d.text(name, &c.Generation, MaxField)
		case "model":
			return d.model(&c.Model)
		}
		return d.Skip(1)
	})
	switch {
	case err != nil:
		return err
	case blank(c.Generation):
		return &Error{MissingField, "generation"}
	case blank(c.Model.Name):
		return &Error{MissingField, "model.name"}
	case blank(c.Model.Version):
		return &Error{MissingField, "model.version"}
	}
	return nil
}

// model reads the name, version, method and hash of a model.
func (d *decoder) model(m *Model) bool {
	*m = Model{}
	return d.fields("model", func(name string) bool {
		switch name {
		case "name":
			return d.text("model.name", &m.Name, MaxField)
		case "version":
			return d.text("model.version", &m.Version, MaxField)
		case "method":
			return d.text("model.method", &m.Method, MaxField)
		case "sha256":
			return d.text("model.sha256", &m.SHA256, MaxField)
		}
		return d.Skip(2)
	})
}

// AppendJSON appends the message as one JSON object to dst; an empty SchemaVersion is written as SchemaVersion. It
// allocates only to grow dst.
func (c *Champion) AppendJSON(dst []byte) []byte {
	dst = appendHead(dst, c.SchemaVersion, `,"generation":`, c.Generation)
	return append(c.Model.appendJSON(append(dst, `,"model":`...)), '}')
}
