package bridge

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/wardcast/wardcast/ingest/fhir"
	"github.com/wardcast/wardcast/ingest/hl7"
	"github.com/wardcast/wardcast/ingest/msg"
)

// References are the resources of a bundle or an export that others refer to. Names are hashed: it holds no identifier
// that a patient has elsewhere.
type References struct {
	// Elsewhere says that an encounter that is not among them came before, or will come.
	Elsewhere  bool
	sent       time.Time            // when a bundle was written, or the zero time
	Encounters map[string]Encounter `json:"encounters"`
	Patients   map[string]Patient   `json:"patients"`
	conditions map[string]string
}

// Encounter is what is kept of an encounter, by its hashed reference.
type Encounter struct {
	Visit     string `json:"visit"` // hashed number
	Patient   string `json:"patient,omitzero"`
	Emergency bool   `json:"emergency,omitzero"`
	number    string
}

// Patient is what is kept of a patient, by the hashed reference.
type Patient struct {
	Number string `json:"number"` // hashed
	Sex    string `json:"sex,omitzero"`
	Born   string `json:"born,omitzero"`
	number string
}

// NewReferences returns no references.
func NewReferences() *References {
	return &References{
		Encounters: map[string]Encounter{}, Patients: map[string]Patient{}, conditions: map[string]string{},
	}
}

// Hash returns the key of a reference in References.
func (b *Bridge) Hash(reference string) string {
	return b.key.hash(referencePrefix, b.config.Site, reference)
}

// Refer adds a resource that others may refer to; url is its Bundle.entry.fullUrl, or "".
func (b *Bridge) Refer(to *References, r fhir.Resource, url string) {
	var names []string
	if h := fhir.Of(r); h.ID != "" {
		names = append(names, b.Hash(h.Reference()))
	}
	if url != "" {
		names = append(names, b.Hash(fhir.Reference{Reference: url}.Local()))
	}
	for _, name := range names {
		switch r := r.(type) {
		case *fhir.Encounter:
			to.Encounters[name] = b.encounter(r)
		case *fhir.Patient:
			number := fhir.Number(&r.Head, r.Identifier, "MR")
			to.Patients[name] = Patient{
				b.patientID(number), sexes[r.Gender], r.BirthDate, number,
			}
		case *fhir.Condition:
			to.conditions[name] = r.Code.Words()
		}
	}
}

func (b *Bridge) encounter(e *fhir.Encounter) Encounter {
	number := fhir.Number(&e.Head, e.Identifier, "VN")
	now, before, _ := b.classes(e)
	return Encounter{b.visitID(number), b.Hash(e.Subject.Local()), now || before, number}
}

var sexes = map[string]string{"female": "F", "male": "M", "other": "O"}

// Classes of encounters, of v3-ActCode.
const emergencyClass = "EMER"

var inpatientClasses = []string{"IMP", "ACUTE", "NONAC"}

// classes reports whether the encounter is an emergency, was one before, and is a stay.
func (b *Bridge) classes(e *fhir.Encounter) (now, before, stays bool) {
	emergency := func(c fhir.Coding) bool { return c.Code == emergencyClass || b.isEmergency(c.Code) }
	for _, c := range e.Class {
		now = now || emergency(c)
		stays = stays || slices.Contains(inpatientClasses, c.Code)
	}
	for _, h := range e.ClassHistory {
		before = before || emergency(h.Class)
	}
	return now && !stays, before, stays
}

// ReadFHIR reads what a resource reports: an Encounter, an Observation or a DocumentReference. Others report nothing.
// The error is a *Refusal.
func (b *Bridge) ReadFHIR(r fhir.Resource, refs *References) (Reading, error) {
	h := fhir.Of(r)
	in := &resourceReader{Bridge: b, refs: refs}
	in.Kind, in.digest = h.ResourceType, h.Digest()
	var err error
	switch r := r.(type) {
	case *fhir.Encounter:
		err = in.encounter(r)
	case *fhir.Observation:
		err = in.observation(r)
	case *fhir.DocumentReference:
		err = in.document(r)
	default:
		in.Ignored = true
	}
	return in.Reading, err
}

// resourceReader reads one resource.
type resourceReader struct {
	*Bridge
	Reading

	refs *References
}

func (r *resourceReader) refuse(reason string) error {
	return &Refusal{hl7.Failed, reason, hl7.Error{Segment: r.Kind}}
}

// time returns a time, or the zero time. exact says that it has a time of day.
func (r *resourceReader) time(s string) (t time.Time, exact bool) {
	t, exact, _ = fhir.Time(s, r.zone)
	return t, exact
}

// encounter reads class, patient, arrival, reason and end.
func (r *resourceReader) encounter(e *fhir.Encounter) error {
	known := r.Bridge.encounter(e)
	if known.Visit == "" {
		return r.refuse(MissingVisit)
	}
	if r.Ignored = e.Status == "planned"; r.Ignored {
		return nil
	}
	r.visit, r.numbers[0] = known.Visit, known.number
	if e.ID != "" {
		r.references[0], r.alias = e.Reference(), r.stands(e.ID)
	}
	if id := e.Subject.ID("Patient"); id != "" {
		r.references[1] = "Patient/" + id
	}
	recorded, _ := r.time(e.Meta.LastUpdated)
	if recorded.IsZero() {
		recorded = r.refs.sent
	}
	now, before, stays := r.classes(e)
	period := e.Time()
	arrived, exact := r.time(period.Start)
	ended, _ := r.time(period.End)
	if stays && !before {
		whole, is := r.refs.Encounters[r.Hash(e.PartOf.Local())]
		id := e.PartOf.ID("Encounter")
		switch { // a stay that follows
		case is && whole.Emergency:
			r.visit, r.numbers[0] = whole.Visit, whole.number
		case !is && id != "" && r.refs.Elsewhere:
			r.visit, r.numbers[0] = r.stands(id), ""
		default:
			id = ""
		}
		if id != "" {
			r.references, r.alias = [2]string{}, ""
		}
	}
	r.emergency, r.registers = now || before, now || before
	if slices.Contains([]string{"cancelled", "entered-in-error", "discontinued"}, e.Status) {
		r.step = &step{Kind: cancelsAdmit, At: recorded.Unix(), Decided: recorded.Unix()}
		if !stays {
			r.step.Kind = cancelsEnd
			r.values = []value{{name: textField, gone: true}}
		}
		return nil
	}
	if r.at = arrived; r.refs.Elsewhere && !recorded.IsZero() {
		r.at = recorded // an older state of the Encounter may come later
	}
	decided := arrived
	if r.alias != "" && !recorded.IsZero() { // the visit itself becomes a stay
		decided = recorded
	}
	for _, h := range e.ClassHistory {
		if t, _ := r.time(h.Period.Start); slices.Contains(inpatientClasses, h.Class.Code) && !t.IsZero() {
			decided = t
		}
	}
	switch {
	case stays:
		r.step = &step{
			Kind: admits, At: decided.Unix(), Decided: decided.Unix(), Disposition: msg.Admitted, Ward: ward(e),
		}
		if !before {
			return nil // the values of the stay are not those of triage
		}
	case !r.emergency:
		r.Ignored = true
		return nil
	case slices.Contains([]string{"finished", "completed", "discharged"}, e.Status):
		if d := r.disposition(e.Disposition()); d != "" {
			r.step = &step{Kind: ends, At: ended.Unix(), Decided: ended.Unix(), Disposition: d}
		} else {
			r.unused = append(r.unused, UnusedDisposition)
		}
	}
	if exact {
		r.values = append(r.values, value{name: arrivedField, text: arrived.UTC().Format(time.RFC3339)})
	}
	r.subject(known.Patient, arrived)
	if r.patient == "" {
		r.numbers[1] = cmp.Or(e.Subject.Identifier.Value, e.Subject.ID("Patient"))
		r.patient, r.weak = r.patientID(r.numbers[1]), e.Subject.Identifier.Value == ""
	}
	return r.reason(e)
}

// subject reads sex and age of the patient.
func (r *resourceReader) subject(reference string, arrived time.Time) {
	p := r.refs.Patients[reference]
	r.patient, r.numbers[1] = p.Number, p.number
	if p.Sex != "" {
		r.values = append(r.values, value{name: "sex", text: p.Sex})
	}
	born, _, err := fhir.Time(p.Born, r.zone)
	if err != nil || len(p.Born) < len(time.DateOnly) || arrived.IsZero() {
		return
	}
	if years, ok := yearsOld(born, arrived); ok {
		r.values = append(r.values, value{name: "age", number: msg.Some(years), rank: rankDerived})
	}
}

// reason reads why the patient came. What the patient said, an observation, replaces it.
func (r *resourceReader) reason(e *fhir.Encounter) error {
	concepts, references := e.Reasons()
	var words string
	for i := range concepts {
		words = cmp.Or(words, concepts[i].Words())
	}
	for _, reference := range references {
		words = cmp.Or(words, r.refs.conditions[r.Hash(reference.Local())])
	}
	return r.complaint(words, rankReported)
}

func (r *resourceReader) complaint(words string, rank int) error {
	if words = strings.Join(strings.Fields(words), " "); !fits(words) {
		return r.refuse(TooLongText)
	}
	if words != "" {
		r.values = append(r.values, value{name: complaintField, text: words, rank: rank})
	}
	return nil
}

// endings are the codes of FHIR's discharge-disposition. Those of the configuration come first.
var endings = map[string]msg.Disposition{
	"home": msg.Discharged, "alt-home": msg.Discharged, "snf": msg.Discharged, "long": msg.Discharged,
	"hosp": msg.Discharged, "other-hcf": msg.Transferred, "psy": msg.Transferred, "rehab": msg.Transferred,
	"aadvice": msg.Left, "exp": msg.Died,
}

func (r *resourceReader) disposition(c fhir.Concept) msg.Disposition {
	for _, k := range c.Coding {
		if d := r.dispositions[strings.ToLower(k.Code)]; d != "" {
			return d
		}
	}
	for _, k := range c.Coding {
		if d := endings[k.Code]; d != "" {
			return d
		}
	}
	return r.dispositions[strings.ToLower(strings.TrimSpace(c.Text))]
}

// of finds the visit of a reference to its encounter and reports whether it may be an emergency.
func (r *resourceReader) of(reference fhir.Reference) (emergency bool, err error) {
	local := reference.Local()
	if known, ok := r.refs.Encounters[r.Hash(local)]; ok {
		r.visit, r.numbers[0] = known.Visit, known.number
		return known.Emergency, nil
	}
	if r.numbers[0] = reference.Identifier.Value; r.numbers[0] != "" {
		r.visit = r.visitID(r.numbers[0])
		return true, nil
	}
	if r.visit = r.stands(reference.ID("Encounter")); r.visit == "" || !r.refs.Elsewhere {
		return false, r.refuse(MissingVisit)
	}
	return true, nil
}

// stands returns what stands for a visit of whose Encounter only the id is known. It is no number of another visit.
func (b *Bridge) stands(id string) string {
	if id == "" {
		return ""
	}
	return b.visitID("Encounter/" + id)
}

// ward returns the name of the last place of an Encounter, or "".
func ward(e *fhir.Encounter) string {
	for _, l := range slices.Backward(e.Location) {
		if l.Location.Display != "" && fits(l.Location.Display) {
			return l.Location.Display
		}
	}
	return ""
}

// field returns the name of the value that a concept is the code of.
func (r *resourceReader) field(c fhir.Concept) string {
	for _, k := range c.Coding {
		if name := r.fields[k.Code]; name != fieldUnknown {
			return name
		}
	}
	return fieldUnknown
}

// observation reads an observation and its components.
func (r *resourceReader) observation(o *fhir.Observation) error {
	name := r.field(o.Code)
	r.Ignored = name == fieldUnknown && !slices.ContainsFunc(o.Component, func(c fhir.Component) bool {
		return r.field(c.Code) != fieldUnknown
	})
	if r.Ignored {
		return nil
	}
	if emergency, err := r.of(o.Encounter); err != nil || !emergency {
		r.Ignored = true
		return err
	}
	r.at, _ = r.time(o.At())
	gone := o.Status == "entered-in-error" || o.Status == "cancelled"
	err := r.value(name, &o.Value, gone)
	for i := range o.Component {
		c := &o.Component[i]
		err = cmp.Or(err, r.value(r.field(c.Code), &c.Value, gone))
	}
	return err
}

// value reads a value.
func (r *resourceReader) value(name string, v *fhir.Value, gone bool) error {
	concept := v.ValueCodeableConcept
	texts := []string{v.ValueString, concept.Text}
	for _, k := range concept.Coding {
		texts = append(texts, k.Code, k.Display)
	}
	var numbers, units []string
	if q := v.ValueQuantity; q != nil {
		numbers, units = []string{q.Value.String()}, []string{q.Code, q.Unit}
	}
	if v.ValueInteger != nil {
		numbers = append(numbers, v.ValueInteger.String())
	}
	numbers = append(numbers, v.ValueString)
	switch {
	case name == fieldUnknown:
		return nil
	case gone:
		r.values = append(r.values, value{name: name, gone: true})
		return nil
	case strings.Join(append(texts, numbers...), "") == "":
		return nil // a reason why there is none
	case name == textField:
		return r.text(cmp.Or(v.ValueString, concept.Words()))
	case name == complaintField && v.ValueString != "":
		return r.complaint(v.ValueString, rankTyped)
	case name == complaintField:
		return r.complaint(concept.Words(), rankCoded)
	case name == "acuity":
		level, known := r.acuity(append(numbers, texts...)...)
		if !known {
			r.unused = append(r.unused, UnusedAcuity)
			return nil
		}
		r.values = append(r.values, value{name: name, number: msg.Some(level)})
		return nil
	}
	measured, isNumber := number(numbers[0])
	if !isNumber {
		r.unused = append(r.unused, UnusedNumber)
		return nil
	}
	converted, known := measure(name, measured, units...)
	if !known {
		r.unused = append(r.unused, UnusedUnit)
		return nil
	}
	r.values = append(r.values, converted)
	return nil
}

// text takes the text of a note.
func (r *resourceReader) text(s string) error {
	if len(s) > msg.MaxText {
		return r.refuse(TooLongText)
	}
	if s = strings.TrimSpace(s); s != "" {
		r.values = append(r.values, value{name: textField, text: s})
	}
	return nil
}

// document reads the text of a document.
func (r *resourceReader) document(d *fhir.DocumentReference) error {
	if r.Ignored = r.field(d.Type) != textField; r.Ignored {
		return nil
	}
	var reference fhir.Reference
	if len(d.Context) > 0 { // in R5 also of appointments and episodes of care
		reference = d.Context[max(0, slices.IndexFunc(d.Context,
			func(c fhir.Reference) bool { return c.ID("Encounter") != "" }))]
	}
	if emergency, err := r.of(reference); err != nil || !emergency {
		r.Ignored = true
		return err
	}
	r.at, _ = r.time(d.Date)
	if d.Status != "current" || d.DocStatus == "entered-in-error" {
		r.values = []value{{name: textField, gone: true}}
		return nil
	}
	err := fhir.ErrElsewhere
	for i := range d.Content {
		var text string
		if text, err = d.Content[i].Attachment.Text(); err == nil {
			return r.text(text)
		}
	}
	return r.refuse(err.Error())
}
