package msg

import (
	"cmp"
	"encoding/json"
	"strconv"
)

// Decision compares the probability of admission with the threshold.
type Decision string

// The probability is at least the threshold, or below it.
const (
	Admit     Decision = "admit"
	Discharge Decision = "discharge"
)

// UnmarshalText reads a decision. Earlier versions wrote not_admit for Discharge, and KafkaTopics may still hold it.
func (d *Decision) UnmarshalText(text []byte) error {
	if *d = Decision(text); *d == "not_admit" {
		*d = Discharge
	}
	return nil
}

// Prediction is an answer to a note with the explanation of its logit, for KafkaTopic triage.predictions. The
// contributions are signed log-odds before calibration and add up, up to rounding; so do the terms of a topic:
//
//	Intercept + Σ Topics.Contribution + Σ Words.Contribution + Σ Aux.Contribution = Logit
//
// Probability is the calibrated probability, in [0,1].
//
// A binary model predicts admission, and the fields of classes are left out. A model of several outcomes explains one
// of them, Class: Probability is that of Class, and Logit its log-odds against Against, the reference class of the
// model. If Class is the reference itself, Against is the most probable other class.
type Prediction struct {
	SchemaVersion string  `json:"schema_version"`
	VisitID       string  `json:"visit_id"`
	ArrivedAt     string  `json:"arrived_at"`
	ScoredAt      string  `json:"scored_at,omitempty"` // RFC 3339 in UTC with milliseconds, see TimeFormat
	Complaint     string  `json:"complaint"`
	Model         Model   `json:"model"`
	Class         string  `json:"class,omitzero"`
	Against       string  `json:"against,omitzero"`
	Classes       []Class `json:"classes,omitempty"` // in the model's order, the reference first; sum 1 within 1e-9
	// AdmissionProbability is the sum over the classes that mean admission. The threshold applies to it.
	AdmissionProbability Optional `json:"admission_probability,omitzero"`
	Probability          float64  `json:"probability"`
	Threshold            float64  `json:"threshold"`
	Decision             Decision `json:"decision"`
	Logit                float64  `json:"logit"`
	Intercept            float64  `json:"intercept"`
	Topics               []Topic  `json:"topics"`         // by |Contribution|, largest first
	Words                []Word   `json:"words,omitzero"` // nil, and left out, if the model has no single words
	Aux                  []Aux    `json:"aux"`
	// Evidence is the same sum by position, Intercept + Σ Evidence.Contribution + Σ Aux.Contribution = Logit: by
	// |Contribution|, largest first, the rest last.
	Evidence []Evidence `json:"evidence"`
	// Warnings name the fields of the note whose values were not used as they came.
	Warnings       []Warning `json:"warnings"`
	KnownTermShare float64   `json:"known_term_share"` // share of the note's tokens that the model knows, in [0,1]
	Abstained      bool      `json:"abstained"`
	AbstainReason  string    `json:"abstain_reason"`
}

// Class is one outcome of several with its calibrated probability.
type Class struct {
	Class       string  `json:"class"`
	Probability float64 `json:"probability"`
}

// Admission returns the calibrated probability of admission, on which Decision is based.
func (p *Prediction) Admission() float64 {
	if p.AdmissionProbability.Set {
		return p.AdmissionProbability.Value
	}
	return p.Probability
}

// Note returns what the model read of the note apart from its text: numbers and words for auxiliary columns.
func (p *Prediction) Note() *Note {
	n := &Note{}
	for i := range p.Aux {
		a := &p.Aux[i]
		if v, ok := a.Value.Number(); ok && n.Number(a.Name) != nil {
			*n.Number(a.Name) = Some(v)
		}
		if v, ok := a.Value.Text(); ok && n.Word(a.Name) != nil {
			*n.Word(a.Name) = v
		}
	}
	return n
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
	Head         string   `json:"-"` // "" or TermHead(Term, Surface), computed once for frequent terms
}

// TermHead returns the beginning of the JSON of a Term or Word, up to its numbers.
func TermHead(term string, surface []string) string {
	return string(appendTerm(nil, "", term, surface))
}

// Word is what a term adds to the logit apart from the topics.
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

// OtherWords is the Other of the entry that sums the words that are no finding.
const OtherWords = "words"

// Evidence is what one part of the note adds to the logit through topics, single terms, phrases and word pieces. Parts
// do not overlap. Two entries have no position, and End 0: the sum of the words that are no finding, whose Other is
// OtherWords, and the sum of what is not listed.
type Evidence struct {
	Start int `json:"start"` // Unicode code points of the note's text
	End   int `json:"end"`
	// as in the note; empty if its words are not in the vocabulary, so that no name is copied
	Text         string   `json:"text"`
	Status       string   `json:"status"` // affirmed, negated, uncertain, historical or other-person
	Contribution float64  `json:"contribution"`
	Terms        []string `json:"terms"` // of the part; may be empty
	Other        string   `json:"other"`
}

// MarshalJSON implements json.Marshaler: an entry without a position is its contribution, and what it is of.
func (e Evidence) MarshalJSON() ([]byte, error) { return e.appendJSON(nil), nil }

func (e *Evidence) appendJSON(dst []byte) []byte {
	switch {
	case e.Other != "":
		dst = appendText(dst, `{"other":`, e.Other)
		return append(appendNumber(dst, `,"contribution":`, e.Contribution), '}')
	case e.End == 0:
		return append(appendNumber(dst, `{"contribution":`, e.Contribution), '}')
	}
	dst = appendInt(dst, `{"start":`, e.Start)
	dst = appendInt(dst, `,"end":`, e.End)
	dst = appendField(dst, `,"text":`, e.Text)
	dst = appendText(dst, `,"status":`, e.Status)
	dst = appendNumber(dst, `,"contribution":`, e.Contribution)
	if len(e.Terms) > 0 {
		dst = appendTexts(dst, `,"terms":[`, e.Terms)
	}
	return append(dst, '}')
}

// Value is the value of an auxiliary feature: a number, a string, or null, the zero value.
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

// AppendJSON appends the value to dst. A number that is not finite becomes null.
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
	switch data[0] {
	case 'n':
		return nil
	case '"':
		v.kind = text
		return json.Unmarshal(data, &v.text)
	}
	v.kind = number
	return json.Unmarshal(data, &v.number)
}

// AppendJSON appends the prediction as one JSON object to dst, in the bytes that encoding/json writes without HTML
// escapes, except: nil slices other than Words become [], an empty SchemaVersion becomes SchemaVersion, and a number
// that is not finite becomes null. It allocates only to grow dst.
func (p *Prediction) AppendJSON(dst []byte) []byte {
	dst = appendText(dst, `{"schema_version":`, cmp.Or(p.SchemaVersion, SchemaVersion))
	dst = appendText(dst, `,"visit_id":`, p.VisitID)
	dst = appendText(dst, `,"arrived_at":`, p.ArrivedAt)
	dst = appendField(dst, `,"scored_at":`, p.ScoredAt)
	dst = appendText(dst, `,"complaint":`, p.Complaint)
	dst = p.Model.appendJSON(append(dst, `,"model":`...))
	dst = appendField(dst, `,"class":`, p.Class)
	dst = appendField(dst, `,"against":`, p.Against)
	if len(p.Classes) > 0 {
		dst = appendList(dst, `,"classes":[`, p.Classes, (*Class).appendJSON)
	}
	if p.AdmissionProbability.Set {
		dst = appendNumber(dst, `,"admission_probability":`, p.AdmissionProbability.Value)
	}
	dst = appendNumber(dst, `,"probability":`, p.Probability)
	dst = appendNumber(dst, `,"threshold":`, p.Threshold)
	dst = appendText(dst, `,"decision":`, string(p.Decision))
	dst = appendNumber(dst, `,"logit":`, p.Logit)
	dst = appendNumber(dst, `,"intercept":`, p.Intercept)
	dst = appendList(dst, `,"topics":[`, p.Topics, (*Topic).appendJSON)
	if p.Words != nil {
		dst = appendList(dst, `,"words":[`, p.Words, (*Word).appendJSON)
	}
	dst = appendList(dst, `,"aux":[`, p.Aux, (*Aux).appendJSON)
	dst = p.AppendEvidence(append(dst, `,"evidence":`...))
	dst = p.AppendWarnings(append(dst, `,"warnings":`...))
	dst = appendNumber(dst, `,"known_term_share":`, p.KnownTermShare)
	dst = strconv.AppendBool(append(dst, `,"abstained":`...), p.Abstained)
	dst = appendText(dst, `,"abstain_reason":`, p.AbstainReason)
	return append(dst, '}')
}

// AppendEvidence appends the list of evidence as a JSON array to dst.
func (p *Prediction) AppendEvidence(dst []byte) []byte {
	return appendList(dst, `[`, p.Evidence, (*Evidence).appendJSON)
}

// AppendWarnings appends the list of warnings as a JSON array to dst.
func (p *Prediction) AppendWarnings(dst []byte) []byte {
	return appendList(dst, `[`, p.Warnings, (*Warning).appendJSON)
}

func (m *Model) appendJSON(dst []byte) []byte {
	dst = appendText(dst, `{"name":`, m.Name)
	dst = appendText(dst, `,"version":`, m.Version)
	dst = appendText(dst, `,"method":`, m.Method)
	dst = appendText(dst, `,"sha256":`, m.SHA256)
	return append(dst, '}')
}

func (c *Class) appendJSON(dst []byte) []byte {
	dst = appendText(dst, `{"class":`, c.Class)
	dst = appendNumber(dst, `,"probability":`, c.Probability)
	return append(dst, '}')
}

func (t *Topic) appendJSON(dst []byte) []byte {
	dst = appendInt(dst, `{"topic":`, t.Topic)
	dst = appendText(dst, `,"label":`, t.Label)
	dst = appendNumber(dst, `,"score":`, t.Score)
	dst = appendNumber(dst, `,"coefficient":`, t.Coefficient)
	dst = appendNumber(dst, `,"contribution":`, t.Contribution)
	dst = appendList(dst, `,"terms":[`, t.Terms, (*Term).appendJSON)
	return append(dst, '}')
}

func (t *Term) appendJSON(dst []byte) []byte {
	dst = appendTerm(dst, t.Head, t.Term, t.Surface)
	dst = appendNumber(dst, `,"weight":`, t.Weight)
	dst = appendNumber(dst, `,"contribution":`, t.Contribution)
	return append(dst, '}')
}

func (w *Word) appendJSON(dst []byte) []byte {
	dst = appendTerm(dst, w.Head, w.Term, w.Surface)
	dst = appendNumber(dst, `,"contribution":`, w.Contribution)
	return append(dst, '}')
}

func (a *Aux) appendJSON(dst []byte) []byte {
	dst = appendText(dst, `{"name":`, a.Name)
	dst = a.Value.AppendJSON(append(dst, `,"value":`...))
	dst = appendNumber(dst, `,"contribution":`, a.Contribution)
	return append(dst, '}')
}

// appendTerm opens the object of a term, from its head if that is known.
func appendTerm(dst []byte, head, term string, surface []string) []byte {
	if head != "" {
		return append(dst, head...)
	}
	return appendTexts(appendText(dst, `{"term":`, term), `,"surface":[`, surface)
}

// WarningCode is a fixed code for a problem with a value of a note that was still scored.
type WarningCode string

// The codes. A value out of range, or not a time, counts as missing; one unknown to the model adds nothing.
const (
	ValueOutOfRange WarningCode = "out_of_range" // a number or a time that cannot be
	ValueBadTime    WarningCode = "bad_time"     // not a time of RFC 3339
	// a categorical value that was missing or too rare in training.
	ValueUnknownLevel WarningCode = "unknown_level"
	// a complaint without its own model that the pooled model does not know.
	ValueUnknownComplaint WarningCode = "unknown_complaint"
	ValueNotNumber        WarningCode = "not_a_number" // a text where the model reads a number
	// fields that are no number or text, have another name than FieldName allows, or are more than MaxFields.
	ValueLeftOut WarningCode = "left_out"
)

// Warning names a field of a note whose value was not used as it came.
type Warning struct {
	Field string      `json:"field"` // as the note spells it: age, vitals.hr
	Code  WarningCode `json:"code"`
}

// String describes the problem without showing the value, in a sentence without a full stop.
func (w Warning) String() string {
	switch w.Code {
	case ValueOutOfRange:
		return w.Field + " is out of range and counts as missing"
	case ValueBadTime:
		return w.Field + " is not a time of RFC 3339 and counts as missing"
	case ValueUnknownLevel, ValueUnknownComplaint:
		return "the model does not know the value of " + w.Field
	case ValueNotNumber:
		return w.Field + " is not a number and counts as missing"
	case ValueLeftOut:
		return "some " + w.Field + " are left out: only numbers and words can be read"
	}
	return w.Field + ": " + string(w.Code)
}

func (w *Warning) appendJSON(dst []byte) []byte {
	dst = appendText(dst, `{"field":`, w.Field)
	dst = appendText(dst, `,"code":`, string(w.Code))
	return append(dst, '}')
}

// Champion is the version of a model that scores notes, for the compacted KafkaTopic triage.models. The key is the name
// of the model; a message without a value says that the model is gone. It only prompts readers to look into the model
// store, which alone decides what is served.
type Champion struct {
	SchemaVersion string `json:"schema_version"`
	Generation    string `json:"generation"` // that the version belongs to
	Model         Model  `json:"model"`
}

// DecodeChampion reads a message of triage.models into c, which it overwrites. It does not keep data. The rules and the
// order of errors are those of DecodeNote; generation and the model's name and version are required.
func DecodeChampion(data []byte, c *Champion) error {
	*c = Champion{}
	return championCodec.decode(data, &c.SchemaVersion, c, "generation", "model.name", "model.version")
}

// AppendJSON appends the message as one JSON object to dst, with SchemaVersion by default. It only grows dst.
func (c *Champion) AppendJSON(dst []byte) []byte { return championCodec.append(dst, c) }
