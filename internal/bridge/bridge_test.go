package bridge_test

import (
	"encoding/json"
	"errors"
	"fmt"
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
	return seg("MSH", map[int]string{1: `^~\&`, 2: "TRIAGE", 3: "GENERAL", 6: at, 8: kind, 9: control, 10: "P", 11: "2.5.1"})
}

// message describes a message of one visit.
type message struct {
	event, control   string
	visit, patient   string // V1 and M1 by default
	class            string // E by default
	at               string // hours after the arrival
	kind             string // ADT by default
	disposition      string
	old              string // the number that a merge replaces
	pid, pv1         map[int]string
	more             []string // segments
	obx              []string // code|value, or code|value|type|unit|status
	arrived, ward    string
	withoutPV1, isOR bool
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
	for n, v := range m.pid {
		pid[n] = v
	}
	out += seg("PID", pid)
	if m.old != "" {
		return []byte(out + seg("MRG", map[int]string{1: m.old}))
	}
	pv1 := map[int]string{1: "1", 2: def(m.class, "E"), 3: def(m.ward, "ED"), 19: def(m.visit, "V1"), 36: m.disposition,
		44: def(m.arrived, arrival)}
	for n, v := range m.pv1 {
		pv1[n] = v
	}
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
func join(t *testing.T, b *bridge.Bridge, all ...[]byte) (notes []msg.Note, outcomes []msg.Outcome, events []bridge.Event) {
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
	files, err := filepath.Glob("testdata/*.hl7")
	if err != nil || len(files) < 20 {
		t.Fatalf("%d files: %v", len(files), err)
	}
	for _, file := range files {
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
		golden(t, strings.TrimSuffix(file, ".hl7")+".golden.json", append(got, '\n'))
	}
}

// golden compares got with a file, or writes the file with -update.
func golden(t *testing.T, file string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, got, 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), string(got)); d != "" {
		t.Errorf("%s (-want +got; -update renews it):\n%s", file, d)
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
		message{event: "A08", at: "1", obx: []string{"54094-8|worse"}}, message{event: "A08", at: "2", obx: []string{fell}})
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
	f("an empty class of a report", []string{"fell"}, message{kind: "ORU", event: "R01", pv1: map[int]string{2: ""},
		obx: []string{fell}}, adt)
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
	states(t, b, next, first, second)
	if _, _, again := join(t, next, first, second); len(again) > 0 {
		t.Errorf("%d events of repeats after a restart", len(again))
	}
	// The same number and another content is another message.
	if _, _, other := join(t, b, message{event: "A08", control: "2", obx: []string{"54094-8|better"}}.bytes()); len(other) != 1 {
		t.Errorf("%d events of another message with the same number, want 1", len(other))
	}
}

// states joins messages in a new bridge like from, and loads its states into another one.
func states(t *testing.T, from, to *bridge.Bridge, all ...[]byte) {
	t.Helper()
	_ = from
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

func TestValuesOfNotes(t *testing.T) {
	t.Parallel()
	f := func(name string, want func(*msg.Note), m message, change ...func(*config.Bridge)) {
		t.Helper()
		if m.event == "" {
			m.event = "A04"
		}
		m.obx = append([]string{fell}, m.obx...)
		if !slices.ContainsFunc(m.obx, func(o string) bool { return strings.HasPrefix(o, "8661-1") }) {
			m.obx = append(m.obx, fall)
		}
		var alter func(*config.Bridge)
		if len(change) > 0 {
			alter = change[0]
		}
		b := newBridge(t, alter)
		got := one(t, b, m)
		expected := msg.Note{
			SchemaVersion: "1", VisitID: got.VisitID, PatientID: got.PatientID, Site: "A", Text: "fell", Complaint: "fall",
			ArrivedAt: "2026-11-20T08:00:00Z",
		}
		want(&expected)
		if d := cmp.Diff(expected, got, cmp.AllowUnexported(msg.Value{})); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
	vital := func(name string, v float64) func(*msg.Note) {
		return func(n *msg.Note) { *n.Number(name) = msg.Some(v) }
	}
	none := func(*msg.Note) {}
	text := func(s string) func(*msg.Note) { return func(n *msg.Note) { n.Text = s } }
	complaint := func(s string) func(*msg.Note) { return func(n *msg.Note) { n.Complaint = s } }
	f("plain", none, message{})
	for unit, v := range map[string]float64{"a^Year^UCUM": 78, "a": 78, "^years": 78, "": 78, "Y": 78} {
		f("age in "+unit, vital("age", v), message{obx: []string{"21612-7|78|NM|" + unit}})
	}
	f("age in months", vital("age", 1.5), message{obx: []string{"21612-7|18|NM|mo^Month^UCUM"}})
	f("age in weeks", vital("age", .5), message{obx: []string{"21612-7|26|NM|wk^Week^UCUM"}})
	f("age in days", vital("age", .2), message{obx: []string{"21612-7|73|NM|d^Day^UCUM"}})
	f("age in hours", vital("age", 0), message{obx: []string{"21612-7|6|NM|h"}})
	f("age of type SN", vital("age", 78), message{obx: []string{"21612-7|=^78|SN|a"}})
	f("age of type SN without a comparator", vital("age", 78), message{obx: []string{"21612-7|^78|SN|a"}})
	f("age over", none, message{obx: []string{"21612-7|>^89|SN|a"}})
	f("unknown age", none, message{obx: []string{"21612-7|0|NM|UNK^^NULLFL"}})
	f("age that is a word", none, message{obx: []string{"21612-7|adult|ST|a"}})
	f("age by birth", vital("age", 78), message{pid: map[int]string{7: "19480203"}})
	f("age the day before a birthday", vital("age", 77), message{pid: map[int]string{7: "19481121"}})
	f("age on a birthday", vital("age", 78), message{pid: map[int]string{7: "19481120"}})
	f("age of an infant by birth", vital("age", .5), message{pid: map[int]string{7: "20260521"}})
	f("year of birth", none, message{pid: map[int]string{7: "1948"}})
	f("birth after arrival", none, message{pid: map[int]string{7: "20270101"}})
	f("reported age before birth", vital("age", 70),
		message{pid: map[int]string{7: "19480203"}, obx: []string{"21612-7|70|NM|a"}})
	for value, c := range map[string]float64{
		"101.3|NM|[degF]^^UCUM": 38.5, "38.5|NM|Cel^^UCUM": 38.5, "101.3|NM|[degF]^FARENHEIT^UCUM": 38.5,
		"101.3|NM": 38.5, "38.5|NM": 38.5, "311.65|NM|K": 38.5, "38.5|NM|C": 38.5, "98.6|NM|F": 37,
	} {
		f("temperature "+value, vital("vitals.temp_c", c), message{obx: []string{"11289-6|" + value}})
	}
	f("unknown unit", none, message{obx: []string{"11289-6|30|NM|degR"}})
	f("other code of a temperature", vital("vitals.temp_c", 38.5), message{obx: []string{"8310-5|38.5|NM|Cel"}})
	f("oxygen", vital("vitals.spo2", 91), message{obx: []string{"59408-5|91|NM|%^^UCUM"}})
	f("oxygen as a share", vital("vitals.spo2", 91), message{obx: []string{"59408-5|.91|NM|1"}})
	f("pressure", vital("vitals.sbp", 98), message{obx: []string{"8480-6|98|NM|mm[Hg]^^UCUM"}})
	f("pressure in kPa", vital("vitals.dbp", 60), message{obx: []string{"8462-4|8|NM|kPa"}})
	f("heart rate", vital("vitals.hr", 110), message{obx: []string{"8867-4|110|NM|{beats}/min^^UCUM"}})
	f("respiratory rate", vital("vitals.rr", 24), message{obx: []string{"9279-1|24|NM|/min^^UCUM"}})
	f("a vital sign of the site", vital("vitals.hr", 110), message{obx: []string{"PULSE|110|NM|bpm"}},
		func(c *config.Bridge) { c.Vitals["hr"] = []string{"PULSE"} })
	f("a code in a number", none, message{obx: []string{"8867-4|1e9|NM"}})
	f("no result", none, message{obx: []string{"8867-4|110|NM|/min|X"}})
	f("not asked", none, message{obx: []string{"8867-4|110|NM|/min|N"}})
	f("wrong and right", vital("vitals.hr", 101), message{obx: []string{"8867-4|110|NM|/min|W", "8867-4|101|NM|/min|C"}})
	f("acuity", vital("acuity", 2), message{obx: []string{"11283-9|2|NM"}})
	f("acuity with its scale", vital("acuity", 2), message{obx: []string{"11283-9|ESI-2^^L|CWE"}})
	f("acuity in words", vital("acuity", 4), message{obx: []string{"11283-9|X^Semi-urgent^L|CWE"}},
		func(c *config.Bridge) { c.Acuity.Scale = "CTAS" })
	f("acuity in colours", vital("acuity", 3), message{obx: []string{"11283-9|^^^^^^^^Yellow|CWE"}},
		func(c *config.Bridge) { c.Acuity.Scale = "MTS" })
	f("acuity of the site", vital("acuity", 5), message{obx: []string{"11283-9|P9^x^L|CWE"}},
		func(c *config.Bridge) { c.Acuity.Map["p9"] = 5 })
	f("unknown acuity", none, message{obx: []string{"11283-9|9|NM"}})
	f("sex", func(n *msg.Note) { n.Sex = "F" }, message{pid: map[int]string{8: "F^Female^HL70001"}})
	f("unknown sex", none, message{pid: map[int]string{8: "U"}})
	// Texts and complaints as senders write them.
	f("several observations and repetitions", text("fell\nat home\nhip pain"),
		message{obx: []string{"54094-8|at home~hip pain"}})
	f("a complaint in component 9", complaint("fall"), message{obx: []string{"8661-1|^^^^^^^^fall|CWE"}})
	f("a complaint of type TX in component 9", complaint("fall"), message{obx: []string{"8661-1|^^^^^^^^fall"}})
	f("a coded complaint", complaint("Fall on same level"), message{obx: []string{"8661-1|W18^Fall on same level^I10|CWE"}})
	f("a code alone", complaint("W18"), message{obx: []string{"8661-1|W18|CE"}})
	f("a coded and a typed complaint", complaint("glf"),
		message{obx: []string{"8661-1|W18^Fall^I10|CWE", "8661-1|glf"}})
	f("two typed complaints", complaint("glf"), message{obx: []string{"8661-1|glf", "8661-1|hip pain"}})
	f("separators in a text", text("fell\na^b&c"), message{obx: []string{"54094-8|a^b&c"}})
	f("a null and a text", text("fell"), message{obx: []string{`54094-8|""`}})
}

func TestDocuments(t *testing.T) {
	t.Parallel()
	f := func(name string, want []string, all ...message) {
		t.Helper()
		data := [][]byte{message{event: "A04", control: "adt", obx: []string{fall}}.bytes()}
		for i, m := range all {
			m.control = fmt.Sprint(i)
			data = append(data, m.bytes())
		}
		notes, _, _ := join(t, newBridge(t, nil), data...)
		var got []string
		for _, n := range notes {
			got = append(got, n.Text)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: notes %q, want %q", name, got, want)
		}
	}
	txa := func(kind, status string) []string {
		return []string{seg("TXA", map[int]string{1: "1", 2: kind, 3: "TX", 17: "AU", 19: status})}
	}
	f("a document", []string{"fell\nat home"}, message{kind: "MDM", event: "T02", more: txa("54094-8", ""),
		obx: []string{"NOTE|fell", "54094-8|at home"}})
	f("another document", nil, message{kind: "MDM", event: "T02", more: txa("DS", ""), obx: []string{fell}})
	f("a cancelled document", []string{"fell", "new"}, message{kind: "ORU", event: "R01", obx: []string{fell}},
		message{kind: "MDM", event: "T04", at: "1", more: txa("54094-8", "CA"), obx: []string{fell}},
		message{kind: "MDM", event: "T02", at: "2", more: txa("54094-8", "AV"), obx: []string{"NOTE|new"}})
	f("a document that was withdrawn", []string{"fell", "fell"}, message{kind: "ORU", event: "R01", obx: []string{fell}},
		message{kind: "MDM", event: "T11", at: "1", more: txa("54094-8", "")},
		message{event: "A08", at: "2", obx: []string{"8867-4|110|NM"}},
		message{event: "A08", at: "3", obx: []string{fell}})
	f("an order", []string{"fell"}, message{kind: "ORU", event: "R01",
		more: []string{seg("OBR", map[int]string{1: "1", 4: "54094-8^^LN"})}, obx: []string{"1|fell"}})
	f("another order", nil, message{kind: "ORU", event: "R01",
		more: []string{seg("OBR", map[int]string{1: "1", 4: "24323-8^^LN"})}, obx: []string{"1|negative"}})
	f("an image of an order", nil, message{kind: "ORU", event: "R01",
		more: []string{seg("OBR", map[int]string{1: "1", 4: "54094-8^^LN"})}, obx: []string{"1|x|ED"}})
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
	f("no account", a04.bytes(), hl7.Failed, bridge.MissingVisit, "PID-18", func(c *config.Bridge) { c.Visit = "PID-18" })
	f("a merge of nobody", message{event: "A40", patient: " ", old: "M0"}.bytes(), hl7.Failed, bridge.MissingPatient, "PID-3")
	f("a merge with nobody", message{event: "A40", old: `""`}.bytes(), hl7.Failed, bridge.MissingPatient, "MRG-1")
	f("a merge without MRG", message{event: "A40"}.bytes(), hl7.Failed, bridge.MissingSegment, "MRG")
	f("a long text", message{event: "A04", obx: []string{"54094-8|" + strings.Repeat("x", msg.MaxText+1)}}.bytes(),
		hl7.Failed, bridge.TooLongText, "OBX-5")
	f("a long complaint", message{event: "A04", obx: []string{"8661-1|" + strings.Repeat("x", msg.MaxField+1)}}.bytes(),
		hl7.Failed, bridge.TooLongText, "OBX-5")
}

// What is not read is accepted, and reports nothing.
func TestIgnored(t *testing.T) {
	t.Parallel()
	b := newBridge(t, nil)
	for _, m := range []message{{event: "A02"}, {event: "A31"}, {kind: "MDM", event: "T01"}, {kind: "ORU", event: "R30"}} {
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

func TestOutcomes(t *testing.T) {
	t.Parallel()
	const e, i = "E", "I"
	home, died, left, inpatient, unknown := "01", "20", "07", "09", "99"
	f := func(name string, want []string, all ...message) {
		t.Helper()
		b := newBridge(t, nil)
		var got []string
		recorded := ""
		for n, m := range all {
			m.control = fmt.Sprint(name, n)
			_, outcomes, _ := join(t, b, m.bytes())
			for _, o := range outcomes {
				got = append(got, fmt.Sprintf("%s %s %s", o.Disposition, o.Status, o.DecidedAt[11:13]))
				if o.RecordedAt < recorded {
					t.Errorf("%s: an outcome is recorded at %s, after one of %s", name, o.RecordedAt, recorded)
				}
				recorded = o.RecordedAt
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	m := func(event, at, class string, disposition ...string) message {
		return message{event: event, at: at, class: class, disposition: strings.Join(disposition, "")}
	}
	a04 := m("A04", "0", e)
	f("goes home", []string{"discharged final 11"}, a04, m("A03", "3", e, home))
	f("is admitted", []string{"admitted final 11"}, a04, m("A01", "3", i))
	f("becomes an inpatient", []string{"admitted final 11"}, a04, m("A06", "3", i))
	f("an admission is cancelled", []string{"admitted final 11", "admitted cancelled 11", "discharged final 13"},
		a04, m("A01", "3", i), m("A11", "4", i), m("A03", "5", e, home))
	f("a discharge is cancelled", []string{"discharged final 11", "discharged cancelled 11", "admitted final 13"},
		a04, m("A03", "3", e, home), m("A13", "4", e), m("A01", "5", i))
	f("a correction", []string{"discharged final 11", "died corrected 12"}, a04, m("A03", "3", e, home), m("A03", "4", e, died))
	f("an update never labels", nil, a04, m("A08", "2", e, home), m("A08", "3", i, inpatient))
	f("an update after the end", []string{"left final 11"}, a04, m("A03", "3", e, left), m("A08", "4", e, died))
	f("the end of a stay on a ward", []string{"admitted final 11"}, a04, m("A01", "3", i), m("A03", "96", i, home))
	f("the disposition says admitted", []string{"admitted final 11"}, a04, m("A03", "3", e, inpatient))
	f("an unknown disposition", nil, a04, m("A03", "3", e, unknown))
	f("no disposition", nil, a04, m("A03", "3", e))
	f("a clinic", nil, m("A04", "0", "O"), m("A03", "3", "O", home))
	f("an admission from elsewhere", nil, m("A01", "0", i), m("A03", "96", i, home))
	f("an admission before the registration", []string{"admitted final 11"}, m("A01", "3", i), a04)
	f("a cancellation before its admission", nil, a04, m("A11", "4", i), m("A01", "3", i))
	f("cancelled twice", []string{"admitted final 11", "admitted cancelled 11"}, a04, m("A01", "3", i),
		m("A11", "4", i), m("A11", "5", i))
	f("admitted twice, cancelled once", []string{"admitted final 11", "admitted corrected 12", "admitted cancelled 12"},
		a04, m("A01", "3", i), m("A06", "4", i), m("A11", "5", i))
	f("the end, then an older admission that was cancelled", []string{"discharged final 13"}, a04,
		m("A03", "5", e, home), m("A11", "4", i), m("A01", "3", i))
	f("admitted while boarding in an emergency class", []string{"admitted final 11"}, a04, m("A01", "3", e))
	f("registered by A01", []string{"discharged final 11"}, m("A01", "0", e), m("A03", "3", e, home))
	f("registered by A01, and admitted", []string{"admitted final 11"}, m("A01", "0", e), m("A06", "3", i))
	// The ward of an admission, and the time of the discharge itself.
	_, outcomes, _ := join(t, newBridge(t, nil), a04.bytes(), message{event: "A06", at: "3", class: i, ward: "ORTHO^12^1"}.bytes())
	if len(outcomes) != 1 || outcomes[0].Ward != "ORTHO" || outcomes[0].VisitID == "" {
		t.Errorf("outcomes %+v, want the ward ORTHO", outcomes)
	}
	_, outcomes, _ = join(t, newBridge(t, nil), message{event: "A03", at: "3", disposition: home,
		pv1: map[int]string{45: "20261120103000+0000"}}.bytes())
	if len(outcomes) != 1 || outcomes[0].DecidedAt != "2026-11-20T10:30:00Z" || outcomes[0].RecordedAt != "2026-11-20T11:00:00Z" {
		t.Errorf("outcomes %+v, want the time of PV1-45", outcomes)
	}
}

func TestMerges(t *testing.T) {
	t.Parallel()
	b := newBridge(t, nil)
	control := 0
	say := func(patient, text string) string {
		t.Helper()
		control++
		m := message{event: "A08", control: fmt.Sprint(control), at: fmt.Sprint(control), patient: patient,
			obx: []string{"54094-8|" + text, fall}}
		return one(t, b, m).PatientID
	}
	merge := func(old, into string) {
		t.Helper()
		control++
		if _, _, events := join(t, b, message{event: "A40", control: fmt.Sprint(control), patient: into, old: old}.bytes()); events != nil {
			t.Errorf("a merge causes %v", events)
		}
	}
	first, second := say("M1", "a"), say("M2", "b")
	if first == second || !strings.HasPrefix(first, "p-") {
		t.Fatalf("patients %q and %q", first, second)
	}
	merge("M1", "M2")
	if got := say("M1", "c"); got != second {
		t.Errorf("the old number is %s, want that of the new one, %s", got, second)
	}
	third := say("M3", "d")
	merge("M2", "M3")
	if got := say("M1", "e"); got != third {
		t.Errorf("after two merges the oldest number is %s, want %s", got, third)
	}
	merge("M3", "M1") // the other way round
	if got := say("M3", "f"); got != first {
		t.Errorf("after a merge back the number is %s, want %s", got, first)
	}
	merge("M1", "M1")
	if got := say("M1", "g"); got != first {
		t.Errorf("after a merge with itself the number is %s, want %s", got, first)
	}
	// Medical record numbers come before others, and PID-2 is that of old versions.
	for list, want := range map[string]string{"X9^^^H^PI~M1^^^H^MR": first, "M1^^^H": first} {
		if got := say(list, list); got != want {
			t.Errorf("%s is %s, want %s", list, got, want)
		}
	}
}

func TestKeepIdentifiers(t *testing.T) {
	t.Parallel()
	keep := func(c *config.Bridge) { c.KeepIdentifiers = true }
	b := newBridge(t, keep)
	data := message{event: "A04", obx: []string{fell, fall}}.bytes()
	_, r, err := b.ReadHL7(data)
	if err != nil {
		t.Fatal(err)
	}
	restored := newBridge(t, keep)
	got := map[string]string{}
	visit := ""
	for _, e := range b.Join(r, now) {
		if e.To == bridge.Notes {
			visit = e.Key
		} else if err := restored.Load(e.To, e.Key, e.Value); err != nil {
			t.Fatal(err)
		}
		if e.To == bridge.Identifiers {
			got[e.Key[:2]] = string(e.Value)
		}
	}
	if d := cmp.Diff(map[string]string{"v-": `{"number":"V1"}`, "p-": `{"number":"M1"}`}, got); d != "" {
		t.Errorf("identifiers (-want +got):\n%s", d)
	}
	value := fmt.Appendf(nil, `{"visit_id":%q,"scored_at":"2026-11-20T08:15:02Z","probability":0.5}`, visit)
	oru, _, err := restored.ORU(value, "1", now)
	if err != nil || !strings.Contains(string(oru), "|M1^^^A^MR|") || !strings.Contains(string(oru), "|V1\r") {
		t.Errorf("the answer lacks the numbers: %q, %v", oru, err)
	}
	// A visit that is forgotten takes its number with it.
	deleted := 0
	for _, e := range restored.Expire(now.Add(31 * 24 * time.Hour)) {
		if e.Value != nil || e.Key != visit {
			t.Errorf("%+v does not delete the visit", e)
		}
		deleted++
	}
	if _, _, err := restored.ORU(value, "1", now); deleted != 2 || !errors.Is(err, bridge.ErrUnknownVisit) {
		t.Errorf("%d keys are deleted, and the answer is %v", deleted, err)
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
	want := bridge.Counts{Visits: 3, WithoutText: 1, WithoutComplaint: 1, WithoutOutcome: 2, OldestUnjoined: now.Local()}
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
		if err := b.Load(bridge.State, key, []byte(`{"values":"zzsecretname`)); err == nil || strings.Contains(err.Error(), "zz") {
			t.Errorf("%s: %v", key, err)
		}
	}
	if err := b.Load(bridge.State, "other", []byte("x")); err != nil {
		t.Errorf("a key that is not of a visit: %v", err)
	}
}

func TestKeys(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "bridge.key")
	if err := bridge.NewKeyFile(name); err != nil {
		t.Fatal(err)
	}
	if err := bridge.NewKeyFile(name); !errors.Is(err, os.ErrExist) {
		t.Errorf("an existing key is overwritten: %v", err)
	}
	key, err := bridge.ReadKey(name)
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(name)
	if err != nil || len(data) != 65 {
		t.Errorf("a key file of %d bytes, %v", len(data), err)
	}
	if len(key.ID()) != 8 || key.ID() == bridge.PublicKey().ID() {
		t.Errorf("ID %s", key.ID())
	}
	for _, wrong := range []string{"", "xyz", strings.Repeat("a", 62)} {
		if err := os.WriteFile(name, []byte(wrong), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := bridge.ReadKey(name); err == nil || strings.Contains(err.Error(), "aaa") {
			t.Errorf("a key file of %q: %v", wrong, err)
		}
	}
	if _, err := bridge.ReadKey(name + "x"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no key file: %v", err)
	}
}

// TestIdentifiersStay plants identifiers in every field of every segment, and finds none in what leaves the bridge.
func TestIdentifiersStay(t *testing.T) {
	t.Parallel()
	m := message{event: "A04", visit: "Zzvisit1", patient: "Zzmrn1^^^H^MR", obx: []string{fell, fall}}
	m.pid, m.pv1 = map[int]string{}, map[int]string{}
	for n := 2; n < 40; n++ {
		if n != 3 && n != 7 && n != 8 {
			m.pid[n] = fmt.Sprintf("Zzpid%d^Zzname", n)
		}
		if n != 2 && n != 19 {
			m.pv1[n] = fmt.Sprintf("Zzpv1-%d^Zzdoctor", n)
		}
	}
	delete(m.pv1, 3)
	m.more = []string{"NK1|1|Zzrelative\r", "IN1|1|Zzinsured\r", "ZZZ|Zzsite\r"}
	b := newBridge(t, nil)
	_, r, err := b.ReadHL7(m.bytes())
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range b.Join(r, now) {
		if text := strings.ToLower(fmt.Sprintf("%+v %s", e, e.Value)); strings.Contains(text, "zz") {
			t.Errorf("an identifier leaves the bridge: %s", text)
		}
	}
}

func TestORU(t *testing.T) {
	t.Parallel()
	b := newBridge(t, nil)
	_, _, events := join(t, b, message{event: "A04", obx: []string{fell, fall}}.bytes())
	value := func(more string) []byte {
		return fmt.Appendf(nil, `{"visit_id":%q,"scored_at":"2026-11-20T08:15:02.000Z","probability":0.8312,`+
			`"model":{"name":"fall","version":"2026-11-20T02-00-00Z-3f9c1a"},"evidence":[`+
			`{"start":0,"end":4,"text":"unable to wt bear | x","status":"affirmed","contribution":0.71,"terms":[]},`+
			`{"start":5,"end":6,"status":"affirmed","contribution":0.7,"terms":[]},`+
			`{"start":7,"end":9,"text":"walks","status":"affirmed","contribution":-0.2,"terms":[]},{"contribution":-0.08}]%s}`,
			events[0].Key, more)
	}
	const id = "0123456789abcdef0123456789abcdef"
	for name, more := range map[string]string{
		"oru": "", "oru-abstained": `,"abstained":true,"abstain_reason":"no_known_term"`,
		"oru-classes": `,"admission_probability":0.25`,
	} {
		got, control, err := b.ORU(value(more), id, now)
		if err != nil || control != id[:20] {
			t.Fatalf("ORU: %s, %v", control, err)
		}
		if m, err := hl7.Parse(got); err != nil || m.Header.Control != control {
			t.Errorf("the answer cannot be read: %v", err)
		}
		golden(t, "testdata/answers/"+name+".golden.hl7", []byte(strings.ReplaceAll(string(got), "\r", "\n")))
	}
	fraction := newBridge(t, func(c *config.Bridge) { c.Answers.Scale = "fraction" })
	join(t, fraction, message{event: "A04", obx: []string{fell, fall}}.bytes())
	if got, _, err := fraction.ORU(value(""), id, now); err != nil || !strings.Contains(string(got), "||0.831|1^ratio^UCUM|") {
		t.Errorf("as a fraction: %q, %v", got, err)
	}
	if _, _, err := b.ORU([]byte("{"), id, now); err == nil {
		t.Error("half a prediction is answered")
	}
	if _, _, err := b.ORU([]byte(`{"visit_id":"v-1"}`), id, now); !errors.Is(err, bridge.ErrUnknownVisit) {
		t.Errorf("a prediction of another site: %v", err)
	}
}

// FuzzRead reads and joins any message.
func FuzzRead(f *testing.F) {
	f.Add(message{event: "A04", obx: []string{fell, fall, "11289-6|101|NM|[degF]"}}.bytes())
	f.Add(message{event: "A40", old: "M0"}.bytes())
	f.Add(message{event: "A03", disposition: "01"}.bytes())
	c := config.Default().Bridge
	c.Site = "A"
	f.Fuzz(func(t *testing.T, data []byte) {
		b, err := bridge.New(c, bridge.PublicKey())
		if err != nil {
			t.Fatal(err)
		}
		_, r, err := b.ReadHL7(data)
		if err != nil {
			if _, ok := errors.AsType[*bridge.Refusal](err); !ok {
				t.Errorf("%T", err)
			}
			return
		}
		for _, e := range b.Join(r, now) {
			var n msg.Note
			if e.To == bridge.Notes && msg.DecodeNote(e.Value, &n) != nil {
				t.Errorf("a note that the scorer refuses: %s", e.Value)
			}
		}
	})
}
