package fhir

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"strings"
	"time"
)

// The errors of this package. Their texts are fixed codes that quote nothing.
var (
	ErrNotJSON     = errors.New("not_json")
	ErrNotFHIR     = errors.New("not_fhir") // no resourceType, or a field of the wrong type
	ErrBadTime     = errors.New("bad_time")
	ErrUnsupported = errors.New("unsupported_attachment") // a document that is no text, or of an unknown character set
	ErrElsewhere   = errors.New("attachment_elsewhere")   // a document whose content is not in the resource
	ErrBadContent  = errors.New("bad_attachment")         // content that is not what its type says
)

// Resource is one of the pointers to the structs of this package that embed Head, or a *Head for a type without one.
type Resource interface{ head() *Head }

// Head is what all resources have.
type Head struct {
	ResourceType string `json:"resourceType"`
	ID           string `json:"id"`
	digest       string
}

func (h *Head) head() *Head { return h }

// Of returns the head of a resource.
func Of(r Resource) *Head { return r.head() }

// Reference returns the relative reference to the resource, such as Encounter/7.
func (h *Head) Reference() string { return h.ResourceType + "/" + h.ID }

// Digest names the content of the resource: the same for the same bytes.
func (h *Head) Digest() string { return h.digest }

// Parse reads a resource.
func Parse(data []byte) (Resource, error) {
	var h Head
	if err := checkJSON(data); err != nil {
		return nil, err
	}
	if json.Unmarshal(data, &h) != nil || h.ResourceType == "" {
		return nil, ErrNotFHIR
	}
	var r Resource = &h
	switch h.ResourceType {
	case "Binary":
		r = &Binary{}
	case "Bundle":
		r = &Bundle{}
	case "Condition":
		r = &Condition{}
	case "DocumentReference":
		r = &DocumentReference{}
	case "Encounter":
		r = &Encounter{}
	case "Observation":
		r = &Observation{}
	case "OperationOutcome":
		r = &OperationOutcome{}
	case "Parameters", "SubscriptionStatus":
		r = &Notification{}
	case "Patient":
		r = &Patient{}
	}
	if json.Unmarshal(data, r) != nil {
		return nil, ErrNotFHIR
	}
	sum := sha256.Sum256(data)
	r.head().digest = hex.EncodeToString(sum[:8])
	return r, nil
}

// Bundle holds resources.
type Bundle struct {
	Head

	Type      string  `json:"type"`
	Timestamp string  `json:"timestamp"`
	Entry     []Entry `json:"entry"`
}

// Entry is one resource of a bundle, or a request to delete one.
type Entry struct {
	FullURL  string          `json:"fullUrl"`
	Resource json.RawMessage `json:"resource"`
	Request  struct {
		Method string `json:"method"`
		URL    string `json:"url"`
	} `json:"request"`
}

// Patient is a patient, of whom only number, sex and date of birth are read.
type Patient struct {
	Head

	Identifier []Identifier `json:"identifier"`
	Gender     string       `json:"gender"`
	BirthDate  string       `json:"birthDate"`
	Link       []struct {
		Other Reference `json:"other"`
		Type  string    `json:"type"`
	} `json:"link"`
}

// Encounter is a visit or a stay.
type Encounter struct {
	Head

	Meta struct {
		LastUpdated string `json:"lastUpdated"`
	} `json:"meta"`
	Identifier   []Identifier `json:"identifier"`
	Status       string       `json:"status"`
	Class        classes      `json:"class"`
	ClassHistory []struct {   // R4
		Class  Coding `json:"class"`
		Period Period `json:"period"`
	} `json:"classHistory"`
	Subject         Reference   `json:"subject"`
	PartOf          Reference   `json:"partOf"`
	Period          Period      `json:"period"`       // R4
	ActualPeriod    Period      `json:"actualPeriod"` // R5
	ReasonCode      []Concept   `json:"reasonCode"`   // R4
	ReasonReference []Reference `json:"reasonReference"`
	Reason          []struct {  // R5
		Value []struct {
			Concept   Concept   `json:"concept"`
			Reference Reference `json:"reference"`
		} `json:"value"`
	} `json:"reason"`
	Hospitalization stay `json:"hospitalization"` // R4
	Admission       stay `json:"admission"`       // R5
	Location        []struct {
		Location Reference `json:"location"`
	} `json:"location"`
}

type stay struct {
	DischargeDisposition Concept `json:"dischargeDisposition"`
}

// Time returns the period of the encounter.
func (e *Encounter) Time() Period {
	if e.ActualPeriod != (Period{}) {
		return e.ActualPeriod
	}
	return e.Period
}

// Disposition returns how the encounter ended.
func (e *Encounter) Disposition() Concept {
	if d := e.Admission.DischargeDisposition; !d.empty() {
		return d
	}
	return e.Hospitalization.DischargeDisposition
}

// Reasons returns why the patient came: texts, and references to Conditions or Observations.
func (e *Encounter) Reasons() (concepts []Concept, references []Reference) {
	concepts, references = e.ReasonCode, e.ReasonReference
	for _, r := range e.Reason {
		for _, v := range r.Value {
			if !v.Concept.empty() {
				concepts = append(concepts, v.Concept)
			}
			if v.Reference.Reference != "" {
				references = append(references, v.Reference)
			}
		}
	}
	return concepts, references
}

// Observation is a measurement or a statement.
type Observation struct {
	Head
	Value

	Status            string      `json:"status"`
	Code              Concept     `json:"code"`
	Encounter         Reference   `json:"encounter"`
	EffectiveDateTime string      `json:"effectiveDateTime"`
	EffectiveInstant  string      `json:"effectiveInstant"`
	EffectivePeriod   Period      `json:"effectivePeriod"`
	Issued            string      `json:"issued"`
	Component         []Component `json:"component"`
}

// Component is a part of an observation.
type Component struct {
	Value

	Code Concept `json:"code"`
}

// At returns when the observation was made, or "".
func (o *Observation) At() string {
	for _, t := range []string{o.EffectiveDateTime, o.EffectiveInstant, o.EffectivePeriod.Start, o.Issued} {
		if t != "" {
			return t
		}
	}
	return ""
}

// Value is the value of an observation or of a part of one.
type Value struct {
	ValueQuantity        *Quantity    `json:"valueQuantity"`
	ValueString          string       `json:"valueString"`
	ValueCodeableConcept Concept      `json:"valueCodeableConcept"`
	ValueInteger         *json.Number `json:"valueInteger"`
}

// Quantity is a number with its unit.
type Quantity struct {
	Value json.Number `json:"value"`
	Unit  string      `json:"unit"`
	Code  string      `json:"code"`
}

// DocumentReference is a document.
type DocumentReference struct {
	Head

	Status    string   `json:"status"`
	DocStatus string   `json:"docStatus"`
	Type      Concept  `json:"type"`
	Date      string   `json:"date"`
	Context   contexts `json:"context"`
	Content   []struct {
		Attachment Attachment `json:"attachment"`
	} `json:"content"`
}

// Condition is a diagnosis or a complaint.
type Condition struct {
	Head

	Code Concept `json:"code"`
}

// OperationOutcome says what went wrong.
type OperationOutcome struct {
	Head

	Issue []struct {
		Severity string `json:"severity"`
		Code     string `json:"code"`
	} `json:"issue"`
}

// IssueCodes returns the codes of issues, of R4 and R5.
func IssueCodes() []string {
	return strings.Fields(`invalid structure required value invariant security login unknown expired forbidden suppressed
		processing not-supported duplicate multiple-matches not-found deleted too-long code-invalid extension too-costly
		business-rule conflict limited-filter transient lock-error no-store exception timeout incomplete throttled
		informational success`)
}

// Identifier is a number of a patient or a visit.
type Identifier struct {
	Type   Concept `json:"type"`
	System string  `json:"system"`
	Value  string  `json:"value"`
}

// Number returns the identifier of a type of table v2-0203, else the id.
func Number(h *Head, all []Identifier, kind string) string {
	for _, i := range all {
		for _, c := range i.Type.Coding {
			if number := strings.TrimSpace(i.Value); c.Code == kind && number != "" {
				return number
			}
		}
	}
	return strings.TrimSpace(h.ID)
}

// Reference refers to a resource by its address, or by a number.
type Reference struct {
	Reference  string `json:"reference"`
	Display    string `json:"display"`
	Identifier struct {
		Value string `json:"value"`
	} `json:"identifier"`
}

// ID returns the id of the resource of this type that the address names, or "".
func (r Reference) ID(kind string) string {
	id, is := strings.CutPrefix(r.Local(), kind+"/")
	if !is {
		return ""
	}
	return id
}

// Local returns the reference without the address of a server and without a version: Encounter/7.
func (r Reference) Local() string {
	path, _, _ := strings.Cut(r.Reference, "/_history/")
	parts := strings.Split(path, "/")
	return strings.Join(parts[max(0, len(parts)-2):], "/")
}

// Coding is a code of a system.
type Coding struct {
	System  string `json:"system"`
	Code    string `json:"code"`
	Display string `json:"display"`
}

// Concept is a coded text.
type Concept struct {
	Coding []Coding `json:"coding"`
	Text   string   `json:"text"`
}

func (c *Concept) empty() bool { return c.Text == "" && len(c.Coding) == 0 }

// Words returns the text of the concept, else the first name of a code, else "".
func (c *Concept) Words() string {
	if c.Text != "" {
		return c.Text
	}
	for _, k := range c.Coding {
		if k.Display != "" {
			return k.Display
		}
	}
	return ""
}

// Period is a time with beginning and end.
type Period struct {
	Start string `json:"start"`
	End   string `json:"end"`
}

// Time reads a date, dateTime or instant. A time without an offset is one of zone. exact says that it has a time of
// day.
func Time(s string, zone *time.Location) (t time.Time, exact bool, err error) {
	if t, err = time.Parse(time.RFC3339, s); err == nil {
		return t, true, nil
	}
	for _, layout := range []string{"2006-01-02T15:04:05", time.DateOnly, "2006-01", "2006"} {
		if t, err = time.ParseInLocation(layout, s, zone); err == nil {
			return t, strings.Contains(s, "T"), nil
		}
	}
	return time.Time{}, false, ErrBadTime
}

// classes is Encounter.class: a Coding in R4, a list of CodeableConcept in R5.
type classes []Coding

func (c *classes) UnmarshalJSON(data []byte) error {
	if data[0] == '{' {
		var one Coding
		err := json.Unmarshal(data, &one)
		*c = classes{one}
		return err
	}
	var all []Concept
	err := json.Unmarshal(data, &all)
	for _, one := range all {
		*c = append(*c, one.Coding...)
	}
	return err
}

// contexts is DocumentReference.context: an object with encounters in R4, a list of references in R5.
type contexts []Reference

func (c *contexts) UnmarshalJSON(data []byte) error {
	if data[0] != '{' {
		return json.Unmarshal(data, (*[]Reference)(c))
	}
	var r4 struct {
		Encounter []Reference `json:"encounter"`
	}
	err := json.Unmarshal(data, &r4)
	*c = r4.Encounter
	return err
}
