package bridge_test

import (
	"bytes"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/internal/bridge"
	"github.com/wardcast/wardcast/internal/service/config"
)

// bundleOf returns a transaction of R4 with these resources, written at an hour of the day of arrival.
func bundleOf(hour string, resources ...string) []byte {
	var entries []string
	for _, r := range resources {
		entries = append(entries, `{"resource":`+r+`}`)
	}
	return []byte(`{"resourceType":"Bundle","type":"transaction","timestamp":"2026-11-20T` + hour + `:00Z","entry":[` +
		strings.Join(entries, ",") + `]}`)
}

// A deletion changes nothing, and somebody is told.
func TestDeletion(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]int{"Encounter/e1": 1, "http://h/fhir/Observation/o1": 1, "Claim/1": 0} {
		read, err := newBridge(t, nil).ReadBundle([]byte(`{"resourceType":"Bundle","type":"transaction","entry":[` +
			`{"resource":` + aPatient + `},{"request":{"method":"DELETE","url":"` + url + `"}}]}`))
		if err != nil || len(read.Unread) != want {
			t.Errorf("%s: %+v, %v", url, read.Unread, err)
		}
		for _, u := range read.Unread {
			if u.Reason != bridge.Deletion || u.Where.Position != 2 || !slices.Contains(bridge.Reasons(), u.Reason) {
				t.Errorf("%s: %+v", url, u)
			}
		}
	}
}

const (
	aPatient = `{"resourceType":"Patient","id":"p1","identifier":[{"type":{"coding":[{"code":"MR"}]},"value":"M1"}]}`
	aVisit   = `"subject":{"reference":"Patient/p1"},"period":{"start":"2026-11-20T08:00:00Z",` +
		`"end":"2026-11-20T12:00:00Z"}`
	aNumber = `"id":"e1","identifier":[{"type":{"coding":[{"code":"VN"}]},"value":"V1"}],` + aVisit
	anED    = `{"resourceType":"Encounter","class":{"code":"EMER"},"reasonCode":[{"text":"fall"}],` + aNumber
	aWard   = `{"resourceType":"Encounter","id":"e2","class":{"code":"IMP"},"partOf":{"reference":"Encounter/e1"},` +
		aVisit
	anNote = `{"resourceType":"Observation","status":"final","encounter":{"reference":"Encounter/e1"},
		"code":{"coding":[{"code":"54094-8"}]}`
)

func inProgress(encounter string) string { return encounter + `,"status":"in-progress"}` }

func finished(encounter, disposition string) string {
	return encounter + `,"status":"finished","hospitalization":{"dischargeDisposition":{"coding":[{"code":"` +
		disposition +
		`"}]}}}`
}

func noteAt(at, text string) string {
	return anNote + `,"effectiveDateTime":"2026-11-20T` + at + `:00Z","valueString":"` + text + `"}`
}

// joinBundles joins Bundles and returns the notes and outcomes.
func joinBundles(t *testing.T, b *bridge.Bridge,
	all ...[]byte,
) (notes []msg.Note, outcomes []msg.Outcome, events []bridge.Event) {
	t.Helper()
	for i, data := range all {
		read, err := b.ReadBundle(data)
		if err != nil {
			t.Fatalf("Bundle %d: %v", i, err)
		}
		for _, r := range read.Readings {
			events = append(events, b.Join(r, now)...)
		}
	}
	for _, e := range events {
		var n msg.Note
		var o msg.Outcome
		switch {
		case e.To == bridge.Notes && msg.DecodeNote(e.Value, &n) == nil:
			notes = append(notes, n)
		case e.To == bridge.Outcomes && msg.DecodeOutcome(e.Value, &o) == nil:
			outcomes = append(outcomes, o)
		}
	}
	return notes, outcomes, events
}

// TestBundleNotes: resources of a visit come in any order and in Bundles of their own.
func TestBundleNotes(t *testing.T) {
	t.Parallel()
	f := func(name, want string, all ...[]byte) {
		t.Helper()
		notes, _, _ := joinBundles(t, newBridge(t, nil), all...)
		var got []string
		for _, n := range notes {
			got = append(got, n.Text)
		}
		if strings.Join(got, "|") != want {
			t.Errorf("%s: texts %q, want %q", name, got, want)
		}
	}
	f("text first, by the id of an Encounter whose number comes later", "fell",
		bundleOf("08:10", noteAt("08:05", "fell")),
		bundleOf("08:20", aPatient, inProgress(anED)))
	f("text last", "fell", bundleOf("08:10", aPatient, inProgress(anED)), bundleOf("08:20", noteAt("08:05", "fell")))
	f("a changed text", "fell|fell, worse", bundleOf("08:10", inProgress(anED), noteAt("08:05", "fell")),
		bundleOf("08:20", noteAt("08:15", "fell, worse")))
	f("an older text comes late", "new", bundleOf("08:20", inProgress(anED), noteAt("08:15", "new")),
		bundleOf("08:30", noteAt("08:05", "old")))
	f("an older state of the Encounter comes late", "fell",
		bundleOf("08:20", inProgress(anED), noteAt("08:15", "fell")),
		bundleOf("08:10", strings.Replace(inProgress(anED), "fall", "rash", 1)))
	f("the only Encounter", "fell", bundleOf("08:10", inProgress(anED),
		`{"resourceType":"Observation","status":"final","code":{"coding":[{"code":"54094-8"}]},"valueString":"fell"}`))
	f("a text taken back", "", bundleOf("08:10", noteAt("08:05", "fell"), strings.Replace(noteAt("08:05", ""), "final",
		"entered-in-error", 1)), bundleOf("08:20", inProgress(anED)))
	f("an appointment before the Encounter", "fell", bundleOf("08:10", inProgress(anED),
		written("fell", `[{"reference":"Appointment/a1"},{"reference":"Encounter/e1"}]`, current)))
	f("a planned Encounter", "", bundleOf("08:10", noteAt("08:05", "fell"), anED+`,"status":"planned"}`))
	f("again", "fell", bundleOf("08:10", inProgress(anED), noteAt("08:05", "fell")), bundleOf("08:10", inProgress(anED),
		noteAt("08:05", "fell")), bundleOf("08:11", inProgress(anED), noteAt("08:05", "fell")))
}

// TestBundleState: what came before the number of the visit is found again by a bridge that starts anew, and forgotten
// with the visit.
func TestBundleState(t *testing.T) {
	t.Parallel()
	all := [][]byte{
		bundleOf("08:10", noteAt("08:05", "fell")), bundleOf("08:20", aPatient, inProgress(anED)),
		bundleOf("08:30", noteAt("08:25", "worse")),
	}
	var texts []string
	state := map[string][]byte{}
	for _, data := range all {
		b := newBridge(t, nil)
		for key, value := range state {
			if err := b.Load(bridge.State, key, value); err != nil {
				t.Fatal(err)
			}
		}
		notes, _, events := joinBundles(t, b, data)
		for _, n := range notes {
			texts = append(texts, n.Text)
		}
		for _, e := range events {
			if e.To == bridge.State {
				state[e.Key] = e.Value
			}
			if e.To == bridge.State && e.Value == nil {
				delete(state, e.Key)
			}
		}
		if len(state) != 1 {
			t.Errorf("the state has %d visits, want 1", len(state))
		}
	}
	if got := strings.Join(texts, "|"); got != "fell|worse" {
		t.Errorf("texts %q, want fell|worse", got)
	}
	b := newBridge(t, nil)
	joinBundles(t, b, all...)
	b.Expire(now.Add(365 * 24 * time.Hour))
	if notes, _, _ := joinBundles(t, b, all[2]); len(notes) > 0 || b.Count().Visits != 0 {
		t.Errorf("%d notes and %d visits after all was forgotten", len(notes), b.Count().Visits)
	}
}

// TestDocumentWithoutVisit: it is not left out in silence.
func TestDocumentWithoutVisit(t *testing.T) {
	t.Parallel()
	read, err := newBridge(t, nil).ReadBundle(bundleOf("08:10", written("fell", "{}", current),
		`{"resourceType":"Observation","code":{"coding":[{"code":"54094-8"}]},"valueString":"fell"}`))
	if err != nil || len(read.Unread) != 1 || read.Unread[0].Reason != bridge.MissingVisit ||
		read.Unread[0].Where.Position != 1 {
		t.Errorf("%+v, %v", read.Unread, err)
	}
}

func TestBundleOutcomes(t *testing.T) {
	t.Parallel()
	admitted := bundleOf("11:00", inProgress(aWard))
	withdrawn := bundleOf("11:30", aWard+`,"status":"entered-in-error"}`)
	arrives := bundleOf("08:10", inProgress(anED))
	f := func(name, want string, all ...[]byte) {
		t.Helper()
		_, outcomes, _ := joinBundles(t, newBridge(t, nil), all...)
		last := ""
		for _, o := range outcomes {
			if last = string(o.Disposition); o.Status == msg.Cancelled {
				last = ""
			}
		}
		if last != want {
			t.Errorf("%s: %q, want %q", name, last, want)
		}
	}
	f("a stay on a ward that is part of the visit", "admitted", arrives, admitted)
	f("the stay comes first", "admitted", admitted, arrives)
	f("the stay was a mistake", "", arrives, admitted, withdrawn)
	f("the mistake is known first", "", arrives, withdrawn, admitted)
	f("home", "discharged", arrives, bundleOf("12:10", finished(anED, "home")))
	f("the same Encounter becomes a stay", "admitted", arrives,
		bundleOf("10:00", inProgress(strings.Replace(anED, "EMER",
			"ACUTE", 1))))
	f("the end was a mistake", "", arrives, bundleOf("12:10", finished(anED, "home")), bundleOf("13:00",
		anED+`,"status":"entered-in-error"}`))
	f("an unknown disposition", "", arrives, bundleOf("12:10", finished(anED, "elsewhere")))
	f("a stay without a visit", "", bundleOf("11:00", inProgress(strings.Replace(aWard, "partOf", "x", 1))))
	f("a clinic", "", bundleOf("12:10", finished(strings.Replace(anED, "EMER", "AMB", 1), "home")))
}

// TestBundlePatients: the number of the Patient counts more than the id, and links replace numbers.
func TestBundlePatients(t *testing.T) {
	t.Parallel()
	number := func(all ...[]byte) string {
		notes, _, _ := joinBundles(t, newBridge(t, nil), all...)
		return notes[len(notes)-1].PatientID
	}
	hl7 := one(t, newBridge(t, nil), message{event: "A04", obx: []string{fell, fall}}).PatientID
	visit := bundleOf("08:10", inProgress(anED), noteAt("08:05", "fell"))
	later := bundleOf("08:30", inProgress(anED), noteAt("08:25", "worse"))
	if id := number(visit); id == "" || id == hl7 {
		t.Errorf("a patient by its id is %q, that by its number %q", id, hl7)
	}
	if got := number(bundleOf("08:00", inProgress(anED), aPatient), later); got != hl7 {
		t.Errorf("an id in place of a number that is known: %q, want %q", got, hl7)
	}
	if got := number(visit, bundleOf("08:30", aPatient, inProgress(anED), noteAt("08:25", "worse"))); got != hl7 {
		t.Errorf("a number that comes later: %q, want %q", got, hl7)
	}
	merged := strings.TrimSuffix(strings.Replace(aPatient, "M1", "M0", 1), "}") +
		`,"link":[{"other":{"identifier":{"value":"M1"}},"type":"replaced-by"}]}`
	if got := number(bundleOf("08:00", merged), bundleOf("08:10", strings.Replace(aPatient, "M1", "M0", 1),
		inProgress(anED),
		noteAt("08:05", "fell"))); got != hl7 {
		t.Errorf("a replaced number: %q, want %q", got, hl7)
	}
}

// TestBundleRefusals: the place of the fault, and no word of the Bundle.
func TestBundleRefusals(t *testing.T) {
	t.Parallel()
	f := func(reason string, entry int, data []byte) {
		t.Helper()
		_, err := newBridge(t, nil).ReadBundle(data)
		refusal, ok := errors.AsType[*bridge.Refusal](err)
		if !ok || refusal.Reason != reason || refusal.Where.Position != entry {
			t.Errorf("%.60s: %+v, want %s in entry %d", data, refusal, reason, entry)
		}
	}
	f("not_json", 0, []byte("{"))
	f("not_json", 0, bytes.Replace(bundleOf("08:10"), []byte("transaction"), []byte("\xff"), 1))
	f("wrong_bundle", 0, []byte(`{"resourceType":"Zzname"}`))
	f("wrong_bundle", 0, []byte(`{"resourceType":"Bundle","type":"Zzname"}`))
	f("wrong_bundle", 0, []byte(`{"resourceType":"Bundle","type":"history"}`))
	f("not_fhir", 2, bundleOf("08:10", aPatient, `{"resourceType":"Observation","status":{}}`))
	f("missing_visit", 2, bundleOf("08:10", aPatient, `{"resourceType":"Encounter","status":"x"}`))
	f("text_too_large", 2, bundleOf("08:10", inProgress(anED), noteAt("08:05", strings.Repeat("a", 1<<17))))
}

// TestBundleIdentifiersStay plants identifiers in every string of a Bundle that is no code, and finds none in what
// leaves the bridge.
func TestBundleIdentifiersStay(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/fhir-r4-transaction.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, number := range []string{"M1", "V1", "p1", "e1", "ehr.example", "1.2.36"} {
		data = bytes.ReplaceAll(data, []byte(number), []byte("Zz"+number))
	}
	for _, keep := range []bool{false, true} {
		_, _, events := joinBundles(t, newBridge(t, func(c *config.Bridge) { c.KeepIdentifiers = keep }), data)
		kept := 0
		for _, e := range events {
			switch planted := bytes.Contains(e.Value, []byte("Zz")); {
			case e.To == bridge.Identifiers && planted:
				kept++
			case planted:
				t.Errorf("an identifier leaves the bridge: %s", e.Value)
			}
		}
		if want := map[bool]int{true: 2}[keep]; kept != want {
			t.Errorf("keep_identifiers %t: %d kept, want %d", keep, kept, want)
		}
	}
}
