package msg

import "encoding/json"

// Decision is the probability held against the threshold.
type Decision string

// The decisions: the probability is at least the threshold, or below it.
const (
	Admit    Decision = "admit"
	NotAdmit Decision = "not_admit"
)

// Prediction is an answer to a note with the explanation of its logit, as it
// goes to KafkaTopic triage.predictions. The contributions are signed
// log-odds before calibration and add up:
//
//	Intercept + Σ Topics.Contribution + Σ Words.Contribution + Σ Aux.Contribution = Logit
//
// and within a topic Σ Terms.Contribution = Contribution, both to rounding.
// Probability is the calibrated probability, in [0,1].
//
// A yes/no model predicts admission, and the fields of classes are left out.
// A model of several outcomes explains one of them, Class: Probability is that
// of Class, Logit its log-odds against Against. Against is the reference class
// of the model; where Class is the reference itself, it is the most probable
// of the others.
type Prediction struct {
	SchemaVersion string  `json:"schema_version"`
	VisitID       string  `json:"visit_id"`
	ArrivedAt     string  `json:"arrived_at"`
	ScoredAt      string  `json:"scored_at"` // RFC 3339 in UTC with milliseconds, see TimeFormat
	Complaint     string  `json:"complaint"`
	Model         Model   `json:"model"`
	Class         string  `json:"class,omitzero"`
	Against       string  `json:"against,omitzero"`
	Classes       []Class `json:"classes,omitempty"` // as ordered in the model, the reference first; sums to 1 within 1e-9
	// AdmissionProbability is the sum over the classes that mean admission, which the threshold is held against.
	AdmissionProbability Optional `json:"admission_probability,omitzero"`
	Probability          float64  `json:"probability"`
	Threshold            float64  `json:"threshold"`
	Decision             Decision `json:"decision"`
	Logit                float64  `json:"logit"`
	Intercept            float64  `json:"intercept"`
	Topics               []Topic  `json:"topics"`         // by |Contribution|, largest first
	Words                []Word   `json:"words,omitzero"` // nil, and left out, where the model carries no single words
	Aux                  []Aux    `json:"aux"`
	KnownTermShare       float64  `json:"known_term_share"` // share of the note's tokens that the model knows, in [0,1]
	Abstained            bool     `json:"abstained"`
	AbstainReason        string   `json:"abstain_reason"`
}

// Class is one outcome of several with its calibrated probability.
type Class struct {
	Class       string  `json:"class"`
	Probability float64 `json:"probability"`
}

// Admission returns the calibrated probability of admission, which Decision
// tells.
func (p *Prediction) Admission() float64 {
	if p.AdmissionProbability.Set {
		return p.AdmissionProbability.Value
	}
	return p.Probability
}

// Model names the model that scored a note or a response.
type Model struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	Method  string `json:"method"`
	SHA256  string `json:"sha256"` // of its manifest, hexadecimal
}

// Topic is what one topic adds to the logit: Contribution = Score·Coefficient.
type Topic struct {
	Topic        int     `json:"topic"` // number within the model, from 1
	Label        string  `json:"label"`
	Score        float64 `json:"score"`
	Coefficient  float64 `json:"coefficient"`
	Contribution float64 `json:"contribution"`
	Terms        []Term  `json:"terms"` // by |Contribution|, largest first
}

// Term is what one term of the note adds to the logit through a topic.
type Term struct {
	Term         string   `json:"term"`
	Surface      []string `json:"surface"` // forms in which the term stands in notes
	Weight       float64  `json:"weight"`  // weight of the term in the topic
	Contribution float64  `json:"contribution"`
	// Head is "" or TermHead(Term, Surface), for a writer of many.
	Head string `json:"-"`
}

// TermHead returns the beginning of the JSON of a Term or Word, up to its
// numbers.
func TermHead(term string, surface []string) string {
	return string(appendTerm(nil, "", term, surface))
}

// Word is what a term adds to the logit beside the topics.
type Word struct {
	Term         string   `json:"term"`
	Surface      []string `json:"surface"`
	Contribution float64  `json:"contribution"`
	Head         string   `json:"-"` // as in Term
}

// Aux is what an auxiliary feature adds to the logit.
type Aux struct {
	Name         string  `json:"name"`
	Value        Value   `json:"value"`
	Contribution float64 `json:"contribution"`
}

// Value is the value of an auxiliary feature: a number, a string, or, as the
// zero value, null.
type Value struct {
	text   string
	number float64
	kind   valueKind
}

type valueKind uint8

const (
	null valueKind = iota
	number
	text
)

// Number returns the value v.
func Number(v float64) Value { return Value{number: v, kind: number} }

// Text returns the value s.
func Text(s string) Value { return Value{text: s, kind: text} }

// Number returns the number that v holds, if it holds one.
func (v Value) Number() (float64, bool) { return v.number, v.kind == number }

// Text returns the string that v holds, if it holds one.
func (v Value) Text() (string, bool) { return v.text, v.kind == text }

// AppendJSON appends the value to dst. A number that is not finite becomes
// null.
func (v Value) AppendJSON(dst []byte) []byte {
	switch v.kind {
	case number:
		return appendFloat(dst, v.number)
	case text:
		return appendString(dst, v.text)
	default:
		return append(dst, "null"...)
	}
}

// MarshalJSON returns the value as AppendJSON writes it.
func (v Value) MarshalJSON() ([]byte, error) { return v.AppendJSON(nil), nil }

// UnmarshalJSON reads a number, a string or null.
func (v *Value) UnmarshalJSON(data []byte) error {
	*v = Value{}
	switch {
	case string(data) == "null":
		return nil
	case data[0] == '"':
		v.kind = text
		return json.Unmarshal(data, &v.text)
	default:
		v.kind = number
		return json.Unmarshal(data, &v.number)
	}
}

// AppendJSON appends the prediction as one JSON object to dst, in the bytes
// that encoding/json writes without HTML escapes; but nil slices other than
// Words become [], an empty SchemaVersion becomes SchemaVersion, and a number
// that is not finite becomes null. It allocates only to grow dst.
func (p *Prediction) AppendJSON(dst []byte) []byte {
	dst = appendHead(dst, p.SchemaVersion, `,"visit_id":`, p.VisitID)
	dst = append(dst, `,"arrived_at":`...)
	dst = appendString(dst, p.ArrivedAt)
	dst = append(dst, `,"scored_at":`...)
	dst = appendString(dst, p.ScoredAt)
	dst = append(dst, `,"complaint":`...)
	dst = appendString(dst, p.Complaint)
	dst = append(dst, `,"model":`...)
	dst = p.Model.appendJSON(dst)
	dst = appendField(dst, `,"class":`, p.Class)
	dst = appendField(dst, `,"against":`, p.Against)
	if len(p.Classes) > 0 {
		dst = append(dst, `,"classes":[`...)
		for i := range p.Classes {
			c := &p.Classes[i]
			dst = appendComma(dst, i)
			dst = append(dst, `{"class":`...)
			dst = appendString(dst, c.Class)
			dst = append(dst, `,"probability":`...)
			dst = appendFloat(dst, c.Probability)
			dst = append(dst, '}')
		}
		dst = append(dst, ']')
	}
	dst = appendOptional(dst, `,"admission_probability":`, p.AdmissionProbability)
	dst = append(dst, `,"probability":`...)
	dst = appendFloat(dst, p.Probability)
	dst = append(dst, `,"threshold":`...)
	dst = appendFloat(dst, p.Threshold)
	dst = append(dst, `,"decision":`...)
	dst = appendString(dst, string(p.Decision))
	dst = append(dst, `,"logit":`...)
	dst = appendFloat(dst, p.Logit)
	dst = append(dst, `,"intercept":`...)
	dst = appendFloat(dst, p.Intercept)
	dst = append(dst, `,"topics":[`...)
	for i := range p.Topics {
		dst = appendComma(dst, i)
		dst = p.Topics[i].appendJSON(dst)
	}
	dst = append(dst, ']')
	if p.Words != nil {
		dst = append(dst, `,"words":[`...)
		for i := range p.Words {
			w := &p.Words[i]
			dst = appendComma(dst, i)
			dst = appendTerm(dst, w.Head, w.Term, w.Surface)
			dst = append(dst, `,"contribution":`...)
			dst = appendFloat(dst, w.Contribution)
			dst = append(dst, '}')
		}
		dst = append(dst, ']')
	}
	dst = append(dst, `,"aux":[`...)
	for i := range p.Aux {
		a := &p.Aux[i]
		dst = appendComma(dst, i)
		dst = append(dst, `{"name":`...)
		dst = appendString(dst, a.Name)
		dst = append(dst, `,"value":`...)
		dst = a.Value.AppendJSON(dst)
		dst = append(dst, `,"contribution":`...)
		dst = appendFloat(dst, a.Contribution)
		dst = append(dst, '}')
	}
	dst = append(dst, `],"known_term_share":`...)
	dst = appendFloat(dst, p.KnownTermShare)
	dst = append(dst, `,"abstained":`...)
	if p.Abstained {
		dst = append(dst, "true"...)
	} else {
		dst = append(dst, "false"...)
	}
	dst = append(dst, `,"abstain_reason":`...)
	dst = appendString(dst, p.AbstainReason)
	return append(dst, '}')
}

func (m *Model) appendJSON(dst []byte) []byte {
	dst = append(dst, `{"name":`...)
	dst = appendString(dst, m.Name)
	dst = append(dst, `,"version":`...)
	dst = appendString(dst, m.Version)
	dst = append(dst, `,"method":`...)
	dst = appendString(dst, m.Method)
	dst = append(dst, `,"sha256":`...)
	dst = appendString(dst, m.SHA256)
	return append(dst, '}')
}

func (t *Topic) appendJSON(dst []byte) []byte {
	dst = append(dst, `{"topic":`...)
	dst = appendInt(dst, t.Topic)
	dst = append(dst, `,"label":`...)
	dst = appendString(dst, t.Label)
	dst = append(dst, `,"score":`...)
	dst = appendFloat(dst, t.Score)
	dst = append(dst, `,"coefficient":`...)
	dst = appendFloat(dst, t.Coefficient)
	dst = append(dst, `,"contribution":`...)
	dst = appendFloat(dst, t.Contribution)
	dst = append(dst, `,"terms":[`...)
	for i := range t.Terms {
		m := &t.Terms[i]
		dst = appendComma(dst, i)
		dst = appendTerm(dst, m.Head, m.Term, m.Surface)
		dst = append(dst, `,"weight":`...)
		dst = appendFloat(dst, m.Weight)
		dst = append(dst, `,"contribution":`...)
		dst = appendFloat(dst, m.Contribution)
		dst = append(dst, '}')
	}
	return append(dst, "]}"...)
}

// appendTerm opens the object of a term, by its head where it is known.
func appendTerm(dst []byte, head, term string, surface []string) []byte {
	if head != "" {
		return append(dst, head...)
	}
	dst = append(dst, `{"term":`...)
	dst = appendString(dst, term)
	dst = append(dst, `,"surface":`...)
	return appendStrings(dst, surface)
}
