package bridge

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/wardcast/wardcast/ingest/fhir"
	"github.com/wardcast/wardcast/ingest/hl7"
)

// bundleKind is the kind of a Bundle whose type is not known.
const bundleKind = "Bundle"

// Bundle is what a Bundle of FHIR reports.
type Bundle struct {
	Kind     string // such as Bundle^transaction
	Entries  int
	Readings []Reading
	Unread   []*Refusal       // documents that cannot be read, and deletions; the rest of the Bundle is used
	Focus    []fhir.Reference // of a notification, the resources that it names and does not hold
}

// ReadBundle reads a Bundle. The error is a *Refusal; the kind is known with it too. It may be called at any time.
func (b *Bridge) ReadBundle(data []byte) (Bundle, error) {
	out := Bundle{Kind: bundleKind}
	bundle, resources, err := fhir.ParseBundle(data)
	if err != nil {
		entry := 0
		if e, ok := errors.AsType[*fhir.EntryError](err); ok {
			entry = e.Entry
		}
		return out, &Refusal{hl7.Failed, err.Error(), hl7.Error{Position: entry}}
	}
	out.Kind += "^" + bundle.Type
	notification := false
	if len(resources) > 0 {
		if n, ok := resources[0].(*fhir.Notification); ok {
			out.Focus, notification = n.Focus()
			out.Focus = slices.DeleteFunc(out.Focus, func(f fhir.Reference) bool {
				return slices.ContainsFunc(resources,
					func(r fhir.Resource) bool { return r != nil && fhir.Of(r).Reference() == f.Local() })
			})
		}
	}
	if bundle.Type == fhir.NotifiesInR4 && !notification {
		return out, &Refusal{hl7.Failed, fhir.ErrWrongBundle.Error(), hl7.Error{}}
	}
	sum := sha256.Sum256(data)
	r := b.newBundleReader(hex.EncodeToString(sum[:8]), bundle.Timestamp)
	for i, resource := range resources {
		if resource != nil {
			r.refer(resource, bundle.Entry[i].FullURL)
			continue
		}
		request := bundle.Entry[i].Request
		kind, _, _ := strings.Cut(fhir.Reference{Reference: request.URL}.Local(), "/")
		if request.Method == "DELETE" && slices.Contains(
			[]string{"Encounter", "Observation", "DocumentReference"}, kind) {
			r.unread = append(r.unread, &Refusal{hl7.Failed, Deletion, hl7.Error{Position: i + 1, Segment: kind}})
		}
	}
	err = r.readAll(resources)
	out.Entries, out.Readings, out.Unread = len(resources), r.readings, r.unread
	return out, err
}

// ReadResources reads resources of a server, which refer to each other. The same resources again have the same digest.
// The error is a *Refusal. It may be called at any time.
func (b *Bridge) ReadResources(resources []fhir.Resource,
	digest string,
) (readings []Reading, unread []*Refusal, err error) {
	r := b.newBundleReader(digest, "")
	for _, resource := range resources {
		r.refer(resource, "")
	}
	err = r.readAll(resources)
	return r.readings, r.unread, err
}

// bundleReader reads the resources of one Bundle: one reading for each visit, so that the visit has one note of them.
type bundleReader struct {
	*Bridge

	refs     *References
	digest   string
	binaries map[string]*fhir.Binary
	sole     string // the reference to the only Encounter, or ""
	visits   map[string]int
	readings []Reading
	unread   []*Refusal
}

func (b *Bridge) newBundleReader(digest, sent string) *bundleReader {
	r := &bundleReader{
		Bridge: b, refs: NewReferences(), digest: digest, binaries: map[string]*fhir.Binary{}, visits: map[string]int{},
	}
	r.refs.Elsewhere = true
	r.refs.sent, _, _ = fhir.Time(sent, b.zone)
	return r
}

// refer adds a resource that others may refer to.
func (r *bundleReader) refer(resource fhir.Resource, url string) {
	switch resource := resource.(type) {
	case *fhir.Binary:
		r.binaries[resource.Reference()], r.binaries[url] = resource, resource
	case *fhir.Encounter:
		if r.sole = cmp.Or(url, resource.Reference()); len(r.refs.Encounters) > 0 {
			r.sole = ""
		}
	}
	r.Refer(r.refs, resource, url)
}

func (r *bundleReader) readAll(resources []fhir.Resource) error {
	for i, resource := range resources {
		switch resource := resource.(type) {
		case nil:
			continue
		case *fhir.Patient:
			r.links(resource)
		case *fhir.Observation:
			if resource.Encounter == (fhir.Reference{}) {
				resource.Encounter.Reference = r.sole
			}
		case *fhir.DocumentReference:
			r.fill(resource)
		}
		reading, err := r.ReadFHIR(resource, r.refs)
		if refusal, ok := errors.AsType[*Refusal](err); ok {
			refusal.Where.Position = i + 1
			_, visit := resource.(*fhir.Encounter)
			_, document := resource.(*fhir.DocumentReference)
			switch {
			case document && refusal.Reason != TooLongText:
				r.unread = append(r.unread, refusal)
			case refusal.Reason == MissingVisit && !visit: // it is about no visit
			default:
				return refusal
			}
			continue
		}
		if !reading.Ignored {
			r.add(reading)
		}
	}
	return nil
}

// fill sets what a document lacks and other resources of the Bundle have: its visit, and its content.
func (r *bundleReader) fill(d *fhir.DocumentReference) {
	if len(d.Context) == 0 && r.sole != "" {
		d.Context = []fhir.Reference{{Reference: r.sole}}
	}
	for i := range d.Content {
		a := &d.Content[i].Attachment
		found := cmp.Or(r.binaries[a.URL], r.binaries[fhir.Reference{Reference: a.URL}.Local()])
		if found != nil && a.Data == "" && a.URL != "" {
			a.ContentType, a.Data = cmp.Or(a.ContentType, found.ContentType), found.Data
		}
	}
}

// add adds a reading to that of its visit. A second step towards an outcome has a reading of its own.
func (r *bundleReader) add(reading Reading) {
	for i := range reading.values {
		reading.values[i].at = reading.at
	}
	if reading.at.IsZero() {
		reading.at = r.refs.sent
	}
	i, known := r.visits[reading.visit]
	if !known || reading.step != nil && r.readings[i].step != nil {
		reading.digest = fmt.Sprint(r.digest, "-", len(r.readings))
		r.visits[reading.visit] = len(r.readings)
		r.readings = append(r.readings, reading)
		return
	}
	of := &r.readings[i]
	of.emergency, of.registers = of.emergency || reading.emergency, of.registers || reading.registers
	of.values, of.unused = append(of.values, reading.values...), append(of.unused, reading.unused...)
	of.step, of.alias = cmp.Or(of.step, reading.step), cmp.Or(of.alias, reading.alias)
	if of.patient == "" {
		of.patient, of.weak, of.numbers[1] = reading.patient, reading.weak, reading.numbers[1]
	}
	for n, reference := range reading.references {
		of.references[n] = cmp.Or(of.references[n], reference)
	}
	if reading.at.After(of.at) {
		of.at = reading.at
	}
}

// links reads which numbers of a patient replace which.
func (r *bundleReader) links(p *fhir.Patient) {
	for _, link := range p.Link {
		number := cmp.Or(r.refs.Patients[r.Hash(link.Other.Local())].number, link.Other.Identifier.Value,
			link.Other.ID("Patient"))
		from, to := fhir.Number(&p.Head, p.Identifier, "MR"), number
		switch link.Type {
		case "replaces":
			from, to = to, from
		case "replaced-by":
		default:
			continue
		}
		if from != "" && to != "" {
			r.readings = append(r.readings, Reading{
				merged: r.patientID(from), patient: r.patientID(to), numbers: [2]string{"", to}, at: r.refs.sent,
			})
		}
	}
}
