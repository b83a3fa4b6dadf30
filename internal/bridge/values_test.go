package bridge_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/internal/service/config"
)

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
			SchemaVersion: "1", VisitID: got.VisitID, PatientID: got.PatientID, Site: "A", Text: "fell",
			Complaint: "fall", ArrivedAt: "2026-11-20T08:00:00Z",
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
	f("age on a New Year's birthday where the hospital is",
		func(n *msg.Note) { n.Age, n.ArrivedAt = msg.Some(78), "2025-12-31T23:30:00Z" },
		message{pid: map[int]string{7: "19480101"}, arrived: "20251231233000+0000"},
		func(c *config.Bridge) { c.TimeZone = "Europe/Berlin" })
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
	f("oxygen with an annotation", vital("vitals.spo2", 91),
		message{obx: []string{"59408-5|91|NM|%{Oxygen}^PercentOxygen^UCUM"}})
	f("temperature with its unit in words", vital("vitals.temp_c", 36.3),
		message{obx: []string{"11289-6|97.3|NM|^[degF]^UCUM"}})
	f("emergency care without a class", none,
		message{pv1: map[int]string{2: ""}, obx: []string{"SS003|261QE0002X^Emergency Care^NUCC|CWE"}})
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
	f("wrong and right", vital("vitals.hr", 101),
		message{obx: []string{"8867-4|110|NM|/min|W", "8867-4|101|NM|/min|C"}})
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
	for written, sex := range map[string]string{"Female": "F", "2": "F", "male": "M", "1": "M", "other": "O"} {
		f("sex "+written, func(n *msg.Note) { n.Sex = sex }, message{pid: map[int]string{8: written}})
	}
	f("unknown sex", none, message{pid: map[int]string{8: "U"}})
	f("a date of arrival", none, message{arrived: "20261119"})
	f("a visit by its account", none, message{pid: map[int]string{18: "ACC1"}, pv1: map[int]string{19: ""}},
		func(c *config.Bridge) { c.Visit = "PID-18" })
	f("every class", none, message{class: "X"}, func(c *config.Bridge) { c.EmergencyClasses = nil })
	f("a class of the site", none, message{class: "ed obs"},
		func(c *config.Bridge) { c.EmergencyClasses = []string{"ED OBS"} })
	// Texts and complaints as senders write them.
	f("several observations and repetitions", text("fell\nat home\nhip pain"),
		message{obx: []string{"54094-8|at home~hip pain"}})
	f("a complaint in component 9", complaint("fall"), message{obx: []string{"8661-1|^^^^^^^^fall|CWE"}})
	f("a complaint of type TX in component 9", complaint("fall"), message{obx: []string{"8661-1|^^^^^^^^fall"}})
	f("a coded complaint", complaint("Fall on same level"),
		message{obx: []string{"8661-1|W18^Fall on same level^I10|CWE"}})
	f("a code alone", complaint("W18"), message{obx: []string{"8661-1|W18|CE"}})
	f("a coded and a typed complaint", complaint("glf"),
		message{obx: []string{"8661-1|W18^Fall^I10|CWE", "8661-1|glf"}})
	f("two typed complaints", complaint("glf"), message{obx: []string{"8661-1|glf", "8661-1|hip pain"}})
	f("an encapsulated text", text("fell\nat home"), message{obx: []string{"54094-8|^TEXT^plain^Base64^YXQgaG9tZQ==|ED"}})
	f("an encapsulated page", text("fell\nat home"),
		message{obx: []string{"54094-8|^TEXT^HTML^Base64^PHA+YXQgaG9tZTwvcD4=|ED"}})
	f("a text in its own type", text("fell\nat home"), message{obx: []string{"54094-8|A^TEXT^^A^at home|ED"}})
	f("an encapsulated PDF", none, message{obx: []string{"54094-8|^application^PDF^Base64^JVBERi0=|ED"}})
	f("a broken text", none, message{obx: []string{"54094-8|^TEXT^plain^Base64^??|ED"}})
	f("a reference to a text", none, message{obx: []string{"54094-8|file.pdf^^^PDF|RP"}})
	f("separators in a text", text("fell\na^b&c"), message{obx: []string{"54094-8|a^b&c"}})
	f("a null and a text", text("fell"), message{obx: []string{`54094-8|""`}})
}

// What a message has and cannot be used is named.
func TestUnused(t *testing.T) {
	t.Parallel()
	f := func(want string, m message) {
		t.Helper()
		m.event = "A04"
		_, r, err := newBridge(t, nil).ReadHL7(m.bytes())
		if got := strings.Join(r.Unused(), ", "); got != want || err != nil {
			t.Errorf("%+v: unused %q, %v, want %q", m, got, err, want)
		}
	}
	f("text", message{obx: []string{"54094-8|^application^PDF^Base64^JVBERi0=|ED"}})
	f("text", message{obx: []string{"54094-8|file.pdf|RP"}})
	f("text", message{obx: []string{`54094-8|{\rtf1\ansi fell`, `54094-8|\par }`}})
	f("text", message{obx: []string{"8661-1|^application^PDF^Base64^JVBERi0=|ED"}})
	f("sex", message{pid: map[int]string{8: "woman"}})
	f("", message{pid: map[int]string{8: "U"}})
	f("time", message{arrived: "20261120"})
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
	f("a document", []string{"fell\nat home"}, message{
		kind: "MDM", event: "T02", more: txa("54094-8", ""),
		obx: []string{"NOTE|fell", "54094-8|at home"},
	})
	f("another document", nil, message{kind: "MDM", event: "T02", more: txa("DS", ""), obx: []string{fell}})
	f("a cancelled document", []string{"fell", "new"}, message{kind: "ORU", event: "R01", obx: []string{fell}},
		message{kind: "MDM", event: "T04", at: "1", more: txa("54094-8", "CA"), obx: []string{fell}},
		message{kind: "MDM", event: "T02", at: "2", more: txa("54094-8", "AV"), obx: []string{"NOTE|new"}})
	f("a document that was withdrawn", []string{"fell", "fell"},
		message{kind: "ORU", event: "R01", obx: []string{fell}},
		message{kind: "MDM", event: "T11", at: "1", more: txa("54094-8", "")},
		message{event: "A08", at: "2", obx: []string{"8867-4|110|NM"}},
		message{event: "A08", at: "3", obx: []string{fell}})
	f("an order", []string{"fell"}, message{
		kind: "ORU", event: "R01",
		more: []string{seg("OBR", map[int]string{1: "1", 4: "54094-8^^LN"})}, obx: []string{"1|fell"},
	})
	f("another order", nil, message{
		kind: "ORU", event: "R01",
		more: []string{seg("OBR", map[int]string{1: "1", 4: "24323-8^^LN"})}, obx: []string{"1|negative"},
	})
	f("no character that shows", nil, message{kind: "ORU", event: "R01", obx: []string{"54094-8| \v"}})
	f("an image of an order", nil, message{
		kind: "ORU", event: "R01",
		more: []string{seg("OBR", map[int]string{1: "1", 4: "54094-8^^LN"})}, obx: []string{"1|x|ED"},
	})
}
