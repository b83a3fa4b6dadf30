package bridge_test

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wardcast/wardcast/ingest/fhir"
	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/internal/bridge"
)

// resources of one emergency visit.
const (
	person = `{"resourceType":"Patient","id":"P1","identifier":[{"type":{"coding":[{"code":"MR"}]},"value":"M1"}],
		"name":[{"family":"Zzname"}],"gender":"female","birthDate":"1948-02-03"}`
	visit4 = `{"resourceType":"Encounter","id":"E1","identifier":[{"type":{"coding":[{"code":"VN"}]},"value":"V1"}],
		"status":"in-progress","class":{"code":"EMER"},"subject":{"reference":"Patient/P1"},
		"period":{"start":"2026-11-20T08:00:00Z"},"reasonCode":[{"text":"fall"}]}`
	visit5 = `{"resourceType":"Encounter","id":"E1","identifier":[{"type":{"coding":[{"code":"VN"}]},"value":"V1"}],
		"status":"in-progress","class":[{"coding":[{"code":"EMER"}]}],"subject":{"reference":"Patient/P1"},
		"actualPeriod":{"start":"2026-11-20T08:00:00Z"},"reason":[{"value":[{"reference":{"reference":"Condition/C1"}}]}]}`
	condition = `{"resourceType":"Condition","id":"C1","code":{"text":"fall"}}`
)

func observed(code, rest string) string {
	return fmt.Sprintf(`{"resourceType":"Observation","status":"final","code":{"coding":[{"code":%q}]},
		"encounter":{"reference":"Encounter/E1"},"effectiveDateTime":"2026-11-20T08:10:00Z",%s}`, code, rest)
}

func quantity(v, unit string) string {
	return `"valueQuantity":{"value":` + v + `,"code":"` + unit + `"}`
}

func written(text, context, more string) string {
	return `{"resourceType":"DocumentReference","type":{"coding":[{"code":"54094-8"}]},"date":"2026-11-20T08:15:00Z",
		"context":` + context + `,"content":[{"attachment":{"contentType":"text/plain","data":"` +
		base64.StdEncoding.EncodeToString([]byte(text)) + `"}}]` + more + `}`
}

const (
	context4 = `{"encounter":[{"reference":"http://ehr.invalid/fhir/Encounter/E1"}]}`
	current  = `,"status":"current"`
)

// joinFHIR joins resources of one bundle.
func joinFHIR(t *testing.T, b *bridge.Bridge, elsewhere bool,
	all ...string,
) (notes []msg.Note, outcomes []msg.Outcome, wrong []string) {
	t.Helper()
	refs := bridge.NewReferences()
	refs.Elsewhere = elsewhere
	var read []fhir.Resource
	for _, s := range all {
		r, err := fhir.Parse([]byte(s))
		if err != nil {
			t.Fatal(err)
		}
		b.Refer(refs, r, "")
		read = append(read, r)
	}
	for _, one := range read {
		r, err := b.ReadFHIR(one, refs)
		if refusal, ok := errors.AsType[*bridge.Refusal](err); ok {
			wrong = append(wrong, refusal.Place()+" "+refusal.Reason)
			continue
		}
		wrong = append(wrong, r.Unused()...)
		for _, e := range b.Join(r, now) {
			switch e.To {
			case bridge.Notes:
				var n msg.Note
				if err := msg.DecodeNote(e.Value, &n); err != nil {
					t.Fatal(err)
				}
				notes = append(notes, n)
			case bridge.Outcomes:
				var o msg.Outcome
				if err := msg.DecodeOutcome(e.Value, &o); err != nil {
					t.Fatal(err)
				}
				outcomes = append(outcomes, o)
			}
			if strings.Contains(string(e.Value), "Zz") {
				t.Errorf("a name in %s", e.Value)
			}
		}
	}
	return notes, outcomes, wrong
}

func TestFHIR(t *testing.T) {
	t.Parallel()
	values := []string{
		observed("11289-6", quantity("101.3", "[degF]")), observed("59408-5", quantity("91", "%")),
		observed("85354-9", `"component":[{"code":{"coding":[{"code":"8480-6"}]},`+quantity("98", "mm[Hg]")+
			`},{"code":{"coding":[{"code":"8462-4"}]},`+quantity("61", "mm[Hg]")+`}]`),
		observed("8867-4", `"dataAbsentReason":{"text":"unknown"}`), observed("718-7", quantity("12", "g/dL")),
	}
	four := append(
		[]string{person, visit4, observed("11283-9", `"valueCodeableConcept":{"coding":[{"code":"CTAS-2"}]}`)},
		values...)
	five := append([]string{person, condition, visit5, observed("11283-9", `"valueInteger":2`)}, values...)
	var all []msg.Note
	for name, resources := range map[string][]string{
		"R4":                         append(four, written("fell at home", context4, current)),
		"R5":                         append(five, written("fell at home", `[{"reference":"Encounter/E1"}]`, current)),
		"the text as an Observation": append(four, observed("54094-8", `"valueString":"fell at home"`)),
		"the document first": append([]string{person, visit4, written("fell at home", context4, current)},
			four...),
		"a blood pressure as its own": append(four, written("fell at home", context4, current)),
	} {
		notes, outcomes, wrong := joinFHIR(t, newBridge(t, nil), false, resources...)
		if len(notes) == 0 || len(outcomes) > 0 || len(wrong) > 0 {
			t.Fatalf("%s: %d notes, %d outcomes, %v", name, len(notes), len(outcomes), wrong)
		}
		all = append(all, notes[len(notes)-1])
	}
	byHL7, _, _ := join(t, newBridge(t, nil), message{event: "A04", obx: []string{fell, fall}}.bytes())
	n := all[0]
	if n.VisitID != byHL7[0].VisitID || n.PatientID != byHL7[0].PatientID {
		t.Error("HL7 v2 and FHIR name a visit or a patient differently")
	}
	want := msg.Note{
		SchemaVersion: "1", VisitID: n.VisitID, PatientID: n.PatientID, Site: "A", Text: "fell at home",
		Complaint: "fall", ArrivedAt: "2026-11-20T08:00:00Z", Sex: "F", Age: msg.Some(78), Acuity: msg.Some(2),
	}
	for name, v := range map[string]float64{"temp_c": 38.5, "spo2": 91, "sbp": 98, "dbp": 61} {
		*want.Vitals.Number(name) = msg.Some(v)
	}
	for _, got := range all {
		if d := cmp.Diff(want, got, cmp.AllowUnexported(msg.Value{})); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
	}
}

func TestFHIRComplaints(t *testing.T) {
	t.Parallel()
	coded := observed("8661-1", `"valueCodeableConcept":{"coding":[{"code":"1","display":"Fall (finding)"}]}`)
	for want, more := range map[string][]string{
		"fall":           nil,
		"Fall (finding)": {coded},
		"fell in bath":   {observed("8661-1", `"valueString":"fell  in bath"`), coded},
	} {
		all := append([]string{person, visit4, written("fell", context4, current)}, more...)
		notes, _, _ := joinFHIR(t, newBridge(t, nil), false, all...)
		if got := notes[len(notes)-1].Complaint; got != want {
			t.Errorf("complaint %q, want %q", got, want)
		}
	}
}

func TestFHIRRefusals(t *testing.T) {
	t.Parallel()
	f := func(want string, all ...string) {
		t.Helper()
		notes, _, wrong := joinFHIR(t, newBridge(t, nil), false, all...)
		if strings.Join(wrong, "|") != want || len(notes) > 0 {
			t.Errorf("%d notes, %v, want %q", len(notes), wrong, want)
		}
	}
	f("DocumentReference unsupported_attachment", person, visit4,
		strings.Replace(written("%PDF", context4, current), "text/plain", "application/pdf", 1))
	f("DocumentReference attachment_elsewhere", person, visit4,
		strings.Replace(written("fell", context4, current), `"data":"ZmVsbA=="`, `"url":"Binary/7"`, 1))
	f("DocumentReference missing_visit", person, written("fell", context4, current))
	f("Encounter missing_visit", `{"resourceType":"Encounter","class":{"code":"EMER"}}`)
	f("DocumentReference text_too_large", visit4, written(strings.Repeat("x", msg.MaxText+1), context4, current))
	f("unit", visit4, observed("11289-6", quantity("38", "bananas")))
	f("acuity", visit4, observed("11283-9", `"valueString":"urgentish"`))
	f("number", visit4, observed("8867-4", `"valueString":"fast"`))
	f("disposition", strings.Replace(visit4, "in-progress", "finished", 1))
	f("", person, strings.Replace(visit4, "EMER", "AMB", 1), written("fell", context4, current)) // no emergency
	// A later bundle names the encounter by its id alone.
	b := newBridge(t, nil)
	joinFHIR(t, b, true, strings.Replace(visit4, `"value":"V1"`, `"value":"E1"`, 1))
	if notes, _, wrong := joinFHIR(t, b, true, written("fell", context4, current)); len(notes) != 1 || len(wrong) > 0 {
		t.Errorf("%d notes of two bundles, %v", len(notes), wrong)
	}
}

// A text that the sender takes back makes no further note.
func TestFHIRTakenBack(t *testing.T) {
	t.Parallel()
	b := newBridge(t, nil)
	for _, gone := range []string{
		written("fell", context4, `,"status":"entered-in-error"`),
		strings.Replace(visit4, "in-progress", "cancelled", 1),
		strings.Replace(observed("54094-8", `"valueString":"fell"`), "final", "entered-in-error", 1),
	} {
		first, _, _ := joinFHIR(t, b, false, person, visit4, written("fell", context4, current))
		after, _, wrong := joinFHIR(t, b, false, visit4, gone, strings.Replace(visit4, "fall", "rash", 1))
		if len(after) > 0 || len(wrong) > 0 {
			t.Errorf("%d and %d notes, %v", len(first), len(after), wrong)
		}
	}
}

func TestFHIROutcomes(t *testing.T) {
	t.Parallel()
	ended := func(codes string) string {
		return strings.NewReplacer("in-progress", "finished",
			`"period":{`, `"hospitalization":{"dischargeDisposition":`+codes+
				`},"period":{"end":"2026-11-20T12:00:00Z",`).Replace(visit4)
	}
	coded := func(codes ...string) string {
		return `{"coding":[{"code":"` + strings.Join(codes, `"},{"code":"`) + `"}]}`
	}
	stay := func(more string) string {
		return `{"resourceType":"Encounter","id":"E2","status":"in-progress","class":{"code":"IMP"},` + more +
			`"subject":{"reference":"Patient/P1"},"period":{"start":"2026-11-20T12:00:00Z"}}`
	}
	f := func(want string, all ...string) {
		t.Helper()
		_, outcomes, _ := joinFHIR(t, newBridge(t, nil), false, append([]string{person, visit4}, all...)...)
		got := ""
		if len(outcomes) > 0 {
			o := outcomes[len(outcomes)-1]
			got = string(o.Disposition)
			if o.DecidedAt != "2026-11-20T12:00:00Z" {
				t.Errorf("%s is decided at %s", want, o.DecidedAt)
			}
		}
		if got != want {
			t.Errorf("outcome %q, want %q", got, want)
		}
	}
	f("")
	f("discharged", ended(coded("home")))
	f("admitted", ended(coded("hosp", "09"))) // the code of the configuration counts
	f("left", ended(coded("aadvice")))
	f("died", ended(coded("exp")))
	f("transferred", ended(coded("other-hcf")))
	f("", ended(coded("oth")))
	f("admitted", stay(`"partOf":{"reference":"Encounter/E1"},`))
	f("admitted", ended(coded("home")), stay(`"partOf":{"reference":"Encounter/E1"},`))
	f("", stay(""))
	f("admitted", strings.Replace(visit4, `"class":{"code":"EMER"}`, `"class":{"code":"IMP"},"classHistory":[
		{"class":{"code":"EMER"}},{"class":{"code":"IMP"},"period":{"start":"2026-11-20T12:00:00Z"}}]`, 1))
}
