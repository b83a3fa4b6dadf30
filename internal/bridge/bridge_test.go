package bridge_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wardcast/wardcast/ingest/hl7"
	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/internal/bridge"
	"github.com/wardcast/wardcast/internal/goldentest"
	"github.com/wardcast/wardcast/internal/service/config"
)

// now is when all messages of these tests come.
var now = time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)

// newBridge returns a bridge of site A, whose configuration change may alter.
func newBridge(t *testing.T, change func(*config.Bridge)) *bridge.Bridge {
	t.Helper()
	c := config.Default().Bridge
	c.Site = "A"
	if change != nil {
		change(&c)
	}
	b, err := bridge.New(c, bridge.PublicKey())
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// seg returns a segment from its fields by number.
func seg(name string, fields map[int]string) string {
	last := 0
	for n := range fields {
		last = max(last, n)
	}
	all := make([]string, last+1)
	all[0] = name
	for n, v := range fields {
		all[n] = v
	}
	return strings.Join(all, "|") + "\r"
}

const arrival = "20261120080000+0000"

func msh(kind, control, at string) string {
	return seg("MSH",
		map[int]string{1: `^~\&`, 2: "TRIAGE", 3: "GENERAL", 6: at, 8: kind, 9: control, 10: "P", 11: "2.5.1"})
}

// message describes a message of one visit.
type message struct {
	event, control string
	visit, patient string // V1 and M1 by default
	class          string // E by default
	at             string // hours after the arrival
	kind           string // ADT by default
	disposition    string
	old            string // the number that a merge replaces
	pid, pv1       map[int]string
	more           []string // segments
	obx            []string // code|value, or code|value|type|unit|status
	arrived, ward  string
	withoutPV1     bool
}

func (m message) bytes() []byte {
	def := func(s, otherwise string) string {
		if s == "" {
			return otherwise
		}
		return s
	}
	hours, _ := strconv.ParseFloat(def(m.at, "0"), 64)
	at := hl7.FormatTime(time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC).Add(time.Duration(hours * float64(time.Hour))))
	kind := def(m.kind, "ADT")
	out := msh(kind+"^"+m.event, def(m.control, fmt.Sprint(m.event, "-", at, len(m.obx))), at) +
		seg("EVN", map[int]string{1: m.event, 2: at})
	pid := map[int]string{1: "1", 3: def(m.patient, "M1")}
	maps.Copy(pid, m.pid)
	out += seg("PID", pid)
	if m.old != "" {
		return []byte(out + seg("MRG", map[int]string{1: m.old}))
	}
	pv1 := map[int]string{
		1: "1", 2: def(m.class, "E"), 3: def(m.ward, "ED"), 19: def(m.visit, "V1"), 36: m.disposition,
		44: def(m.arrived, arrival),
	}
	maps.Copy(pv1, m.pv1)
	if !m.withoutPV1 {
		out += seg("PV1", pv1)
	}
	out += strings.Join(m.more, "")
	for i, o := range m.obx {
		f := append(strings.Split(o, "|"), "", "", "", "")
		out += seg("OBX", map[int]string{
			1: fmt.Sprint(i + 1), 2: def(f[2], "TX"), 3: f[0] + "^^LN", 5: f[1], 6: f[3], 11: def(f[4], "F"),
		})
	}
	return []byte(out)
}

// join reads and joins messages, which must be accepted, and returns the notes and outcomes.
func join(t *testing.T, b *bridge.Bridge,
	all ...[]byte,
) (notes []msg.Note, outcomes []msg.Outcome, events []bridge.Event) {
	t.Helper()
	for i, data := range all {
		_, r, err := b.ReadHL7(data)
		if err != nil {
			t.Fatalf("message %d: %v", i, err)
		}
		for _, e := range b.Join(r, now) {
			switch e.To {
			case bridge.Notes:
				var n msg.Note
				if err := msg.DecodeNote(e.Value, &n); err != nil {
					t.Fatalf("message %d: a note that cannot be read: %v", i, err)
				}
				notes = append(notes, n)
			case bridge.Outcomes:
				var o msg.Outcome
				if err := msg.DecodeOutcome(e.Value, &o); err != nil {
					t.Fatalf("message %d: an outcome that cannot be read: %v", i, err)
				}
				outcomes = append(outcomes, o)
			case bridge.State, bridge.Identifiers:
				continue
			}
			if e.ID == "" || e.Type == "" || e.Time.IsZero() {
				t.Errorf("message %d: an event without %+v", i, e)
			}
			events = append(events, e)
		}
	}
	return notes, outcomes, events
}

const (
	fell = "54094-8|fell"
	fall = "8661-1|fall"
)

// one joins one message and returns its note, which must be the only one.
func one(t *testing.T, b *bridge.Bridge, m message) msg.Note {
	t.Helper()
	notes, _, _ := join(t, b, m.bytes())
	if len(notes) != 1 {
		t.Fatalf("%d notes, want 1", len(notes))
	}
	return notes[0]
}

func TestGolden(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.*")
	if err != nil || len(files) < 40 {
		t.Fatalf("%d files: %v", len(files), err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, ".golden.json") {
			continue
		}
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		b := newBridge(t, func(c *config.Bridge) {
			c.TimeZone, c.Acuity.Map = "America/New_York", map[string]int{"Yellow": 3}
		})
		topic := func(to bridge.To) string { return []string{"triage.notes", "triage.outcomes"}[to] }
		got, err := json.MarshalIndent(b.Check(data, topic, now), "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		goldentest.Equal(t, strings.TrimSuffix(file, filepath.Ext(file))+".golden.json", append(got, '\n'))
	}
}

func TestNoteGoesOutWhenItIsWhole(t *testing.T) {
	t.Parallel()
	f := func(name string, want []string, all ...message) {
		t.Helper()
		var data [][]byte
		for i, m := range all {
			m.control = fmt.Sprint(name, i)
			data = append(data, m.bytes())
		}
		notes, _, events := join(t, newBridge(t, nil), data...)
		got, ids := []string(nil), map[string]bool{}
		for i, n := range notes {
			got = append(got, n.Text)
			ids[events[i].ID] = true
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: notes %q, want %q", name, got, want)
		}
		if len(ids) != len(events) {
			t.Errorf("%s: %d events share %d identifiers", name, len(events), len(ids))
		}
	}
	adt := message{event: "A04", obx: []string{fall}}
	oru := message{kind: "ORU", event: "R01", obx: []string{fell}}
	f("together", []string{"fell"}, message{event: "A04", obx: []string{fell, fall}})
	f("in this order", []string{"fell"}, adt, oru)
	f("and the other", []string{"fell"}, oru, adt)
	f("no text", nil, adt, adt)
	f("no complaint", nil, oru)
	f("nothing new", []string{"fell"}, adt, oru, oru, message{event: "A08", at: "1"})
	f("a changed text", []string{"fell", "fell, worse"}, adt, oru,
		message{event: "A08", at: "1", obx: []string{"54094-8|fell, worse"}})
	f("a text that returns", []string{"fell", "worse", "fell"}, adt, oru,
		message{event: "A08", at: "1", obx: []string{"54094-8|worse"}},
		message{event: "A08", at: "2", obx: []string{fell}})
	f("an older text", []string{"worse"}, message{event: "A08", at: "2", obx: []string{"54094-8|worse", fall}}, oru)
	f("changed vital signs", []string{"fell", "fell"}, adt, oru,
		message{event: "A08", at: "1", obx: []string{"8867-4|110|NM|/min"}})
	f("a corrected arrival", []string{"fell"}, adt, oru, message{event: "A08", arrived: "20261120075900+0000"})
	f("another class", nil, message{event: "A04", class: "O", obx: []string{fell, fall}})
	f("an emergency later", []string{"fell"}, message{event: "A04", class: "O", obx: []string{fell, fall}},
		message{event: "A04", at: "1"})
	f("a withdrawn text", []string{"fell", "new"}, adt, oru,
		message{event: "A08", at: "1", obx: []string{"54094-8|fell|||W"}},
		message{event: "A08", at: "2", obx: []string{"54094-8|new"}})
	f("an empty class of a report", []string{"fell"}, message{
		kind: "ORU", event: "R01", pv1: map[int]string{2: ""},
		obx: []string{fell},
	}, adt)
}

// The same message again changes nothing, also after another one, or by another process.
func TestRepeats(t *testing.T) {
	t.Parallel()
	first := message{event: "A08", control: "1", obx: []string{fell, fall}}.bytes()
	second := message{event: "A08", control: "2", obx: []string{"54094-8|worse"}}.bytes()
	b := newBridge(t, nil)
	_, _, events := join(t, b, first, second)
	if _, _, again := join(t, b, first, second, first); len(events) != 2 || len(again) > 0 {
		t.Errorf("%d events, and %d of repeats, want 2 and 0", len(events), len(again))
	}
	// A process that lost both messages before they were acknowledged.
	_, _, anew := join(t, newBridge(t, nil), first, second)
	if d := cmp.Diff(events, anew); d != "" {
		t.Errorf("events of a repeat (-first +again):\n%s", d)
	}
	// A process that goes on from the state of the first one.
	next := newBridge(t, nil)
	states(t, next, first, second)
	if _, _, again := join(t, next, first, second); len(again) > 0 {
		t.Errorf("%d events of repeats after a restart", len(again))
	}
	// Nor is the clock of the bridge in an event of a visit without a time of arrival.
	var ids []string
	for hours := range 2 {
		b := newBridge(t, nil)
		_, r, err := b.ReadHL7(message{event: "A08", pv1: map[int]string{44: ""}, obx: []string{fell, fall}}.bytes())
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, b.Join(r, now.Add(time.Duration(hours)*time.Hour))[0].ID)
	}
	if ids[0] != ids[1] {
		t.Errorf("an hour later the ce_id is %s, not %s", ids[1], ids[0])
	}
	// The same number and another content is another message.
	if _, _, other := join(t, b,
		message{event: "A08", control: "2", obx: []string{"54094-8|better"}}.bytes()); len(other) != 1 {
		t.Errorf("%d events of another message with the same number, want 1", len(other))
	}
}

// states joins messages in a new bridge, and loads its states into another one.
func states(t *testing.T, to *bridge.Bridge, all ...[]byte) {
	t.Helper()
	fresh := newBridge(t, nil)
	for _, data := range all {
		_, r, err := fresh.ReadHL7(data)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range fresh.Join(r, now) {
			if e.To == bridge.State {
				if err := to.Load(bridge.State, e.Key, e.Value); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	f := func(name string, data []byte, code hl7.Code, reason, place string, change ...func(*config.Bridge)) {
		t.Helper()
		var alter func(*config.Bridge)
		if len(change) > 0 {
			alter = change[0]
		}
		_, _, err := newBridge(t, alter).ReadHL7(data)
		got, ok := errors.AsType[*bridge.Refusal](err)
		if !ok || got.Code != code || got.Reason != reason || got.Place() != place || got.Error() != reason {
			t.Errorf("%s: %+v, want %s %s %s", name, err, code, reason, place)
		}
		if !slices.Contains(bridge.Reasons(), reason) {
			t.Errorf("Reasons lacks %s", reason)
		}
	}
	swap := func(m message, from, to string) []byte {
		return []byte(strings.Replace(string(m.bytes()), from, to, 1))
	}
	a04 := message{event: "A04", control: "K1", obx: []string{fell, fall}}
	f("not HL7", []byte("hello"), hl7.Failed, "not_hl7", "")
	f("another type", swap(a04, "ADT^A04", "QBP^Q11"), hl7.Rejected, bridge.WrongType, "MSH-9")
	f("no type", swap(a04, "ADT^A04", ""), hl7.Rejected, bridge.WrongType, "MSH-9")
	f("another version", swap(a04, "2.5.1", "2.2"), hl7.Rejected, bridge.WrongVersion, "MSH-12")
	f("no version", swap(a04, "|2.5.1", ""), hl7.Rejected, bridge.WrongVersion, "MSH-12")
	f("no number", swap(a04, "|K1|", "||"), hl7.Failed, bridge.MissingControl, "MSH-10")
	f("no visit", message{event: "A04", pv1: map[int]string{19: ""}}.bytes(), hl7.Failed, bridge.MissingVisit, "PV1-19")
	f("a null visit", message{event: "A04", visit: `""`}.bytes(), hl7.Failed, bridge.MissingVisit, "PV1-19")
	f("no PV1", message{event: "A04", withoutPV1: true}.bytes(), hl7.Failed, bridge.MissingSegment, "PV1")
	f("no account", a04.bytes(), hl7.Failed, bridge.MissingVisit, "PID-18",
		func(c *config.Bridge) { c.Visit = "PID-18" })
	f("a merge of nobody", message{event: "A40", patient: " ", old: "M0"}.bytes(), hl7.Failed,
		bridge.MissingPatient, "PID-3")
	f("a merge with nobody", message{event: "A40", old: `""`}.bytes(), hl7.Failed, bridge.MissingPatient, "MRG-1")
	f("a merge without MRG", message{event: "A40"}.bytes(), hl7.Failed, bridge.MissingSegment, "MRG")
	other := seg("PID", map[int]string{3: "M2"}) + seg("PV1", map[int]string{2: "E", 19: "V2"})
	report := message{kind: "ORU", event: "R01", obx: []string{fell}}
	f("two messages", slices.Concat(report.bytes(), a04.bytes()), hl7.Failed, "several_messages", "MSH")
	f("two patients", append(report.bytes(), other...), hl7.Failed, bridge.SeveralPatients, "PID-3")
	f("two visits", append(report.bytes(), seg("PV1", map[int]string{2: "E", 19: "V2"})...), hl7.Failed,
		bridge.SeveralPatients, "PV1-19")
	f("two accounts", append(message{event: "A04", pid: map[int]string{18: "1"}}.bytes(),
		seg("PID", map[int]string{3: "M1", 18: "2"})...), hl7.Failed, bridge.SeveralPatients, "PID-18",
		func(c *config.Bridge) { c.Visit = "PID-18" })
	join(t, newBridge(t, nil), append(report.bytes(), seg("PID", map[int]string{3: "M1"})...)) // the same one again
	_, _, err := newBridge(t, nil).ReadHL7(append(report.bytes(), other...))
	if got, _ := errors.AsType[*bridge.Refusal](err); got.Where.Sequence != 2 || got.Condition() != hl7.SegmentSequence {
		t.Errorf("the second patient is refused as %+v", got)
	}
	f("a long text", message{event: "A04", obx: []string{"54094-8|" + strings.Repeat("x", msg.MaxText+1)}}.bytes(),
		hl7.Failed, bridge.TooLongText, "OBX-5")
	f("a long complaint", message{event: "A04", obx: []string{"8661-1|" + strings.Repeat("x", msg.MaxField+1)}}.bytes(),
		hl7.Failed, bridge.TooLongText, "OBX-5")
}

// What is not read is accepted, and reports nothing.
func TestIgnored(t *testing.T) {
	t.Parallel()
	b := newBridge(t, nil)
	for _, m := range []message{
		{event: "A02"}, {event: "A31"}, {kind: "MDM", event: "T01"}, {kind: "ORU", event: "R30"},
	} {
		_, r, err := b.ReadHL7(m.bytes())
		if err != nil || !r.Ignored || b.Join(r, now) != nil {
			t.Errorf("%s%s: ignored %v, %v", m.kind, m.event, r.Ignored, err)
		}
	}
	if c := b.Count(); c.Visits != 0 {
		t.Errorf("%+v, want no visit", c)
	}
	if kinds := bridge.Kinds(); !slices.IsSorted(kinds) || !slices.Contains(kinds, "ADT^A08") {
		t.Errorf("Kinds = %v", kinds)
	}
	// In version 2.3 the event may be in EVN alone.
	_, r, err := b.ReadHL7([]byte(strings.Replace(string(message{event: "A04"}.bytes()), "ADT^A04", "ADT", 1)))
	if err != nil || r.Kind != "ADT^A04" || r.Ignored {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestCountAndExpire(t *testing.T) {
	t.Parallel()
	b := newBridge(t, nil)
	join(t, b, message{event: "A04", visit: "V1", obx: []string{fell, fall}}.bytes(),
		message{event: "A03", visit: "V1", at: "2", disposition: "01"}.bytes(),
		message{event: "A04", visit: "V2", obx: []string{fall}}.bytes(),
		message{event: "A04", visit: "V3", obx: []string{fell}}.bytes(),
		message{event: "A04", visit: "V4", class: "O"}.bytes())
	want := bridge.Counts{
		Visits: 3, OtherClasses: 1, WithoutText: 1, WithoutComplaint: 1, WithoutOutcome: 2, OldestUnjoined: now.Local(),
	}
	if got := b.Count(); got != want {
		t.Errorf("Count = %+v, want %+v", got, want)
	}
	if events := b.Expire(now.Add(29 * 24 * time.Hour)); len(events) > 0 {
		t.Errorf("%d visits are forgotten too early", len(events))
	}
	if events := b.Expire(now.Add(30 * 24 * time.Hour)); len(events) != 4 || b.Count().Visits != 0 {
		t.Errorf("%d visits are forgotten, want 4", len(events))
	}
}

func TestLoadRefuses(t *testing.T) {
	t.Parallel()
	b := newBridge(t, nil)
	for _, key := range []string{"v-1", "p-1"} {
		if err := b.Load(bridge.State, key, []byte(`{"values":"zzsecretname`)); err == nil ||
			strings.Contains(err.Error(), "zz") {
			t.Errorf("%s: %v", key, err)
		}
	}
	if err := b.Load(bridge.State, "other", []byte("x")); err != nil {
		t.Errorf("a key that is not of a visit: %v", err)
	}
}

// FuzzRead reads and joins any message.
func FuzzRead(f *testing.F) {
	f.Add(message{event: "A04", obx: []string{fell, fall, "11289-6|101|NM|[degF]"}}.bytes())
	f.Add(message{event: "A40", old: "M0"}.bytes())
	f.Add(message{event: "A03", disposition: "01"}.bytes())
	for _, name := range []string{"r4-transaction", "r5-transaction", "r4-admitted", "r4b-notification", "r4-binary"} {
		data, err := os.ReadFile("testdata/fhir-" + name + ".json")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	c := config.Default().Bridge
	c.Site = "A"
	f.Fuzz(func(t *testing.T, data []byte) {
		b, err := bridge.New(c, bridge.PublicKey())
		if err != nil {
			t.Fatal(err)
		}
		_, r, err := b.ReadHL7(data)
		resources, fhirErr := b.ReadBundle(data)
		for _, err := range []error{err, fhirErr} {
			if _, ok := errors.AsType[*bridge.Refusal](err); !ok && err != nil {
				t.Errorf("%T", err)
			}
		}
		readings := resources.Readings
		if err == nil {
			readings = append(readings, r)
		}
		for _, r := range readings {
			for _, e := range b.Join(r, now) {
				var n msg.Note
				var o msg.Outcome
				if e.To == bridge.Notes && msg.DecodeNote(e.Value, &n) != nil ||
					e.To == bridge.Outcomes && msg.DecodeOutcome(e.Value, &o) != nil {
					t.Errorf("an event that others refuse: %s", e.Value)
				}
			}
		}
	})
}
