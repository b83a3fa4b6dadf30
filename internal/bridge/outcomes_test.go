package bridge_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/internal/service/config"
)

func TestOutcomes(t *testing.T) {
	t.Parallel()
	const e, i = "E", "I"
	home, died, left, inpatient, unknown := "01", "20", "07", "09", "99"
	registers := func(c *config.Bridge) { c.A01Registers = true }
	var site func(*config.Bridge)
	f := func(name string, want []string, all ...message) {
		t.Helper()
		b := newBridge(t, site)
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
	f("a correction", []string{"discharged final 11", "died corrected 12"}, a04, m("A03", "3", e, home),
		m("A03", "4", e, died))
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
	f("A01 alone", []string{"admitted final 11"}, m("A01", "3", e))
	site = registers
	f("registered by A01", []string{"discharged final 11"}, m("A01", "0", e), m("A03", "3", e, home))
	f("registered by A01, and admitted", []string{"admitted final 11"}, m("A01", "0", e), m("A06", "3", i))
	f("registered by A04, and admitted", []string{"admitted final 11"}, m("A01", "3", e), a04)
	// A text of the site.
	own := newBridge(t, func(c *config.Bridge) { c.Dispositions["AMA"] = msg.Left })
	if _, outcomes, _ := join(t, own, a04.bytes(), m("A03", "3", e, "Ama").bytes()); len(outcomes) != 1 ||
		outcomes[0].Disposition != msg.Left {
		t.Errorf("outcomes %+v, want left", outcomes)
	}
	// The ward of an admission, and the time of the discharge itself.
	_, outcomes, _ := join(t, newBridge(t, nil), a04.bytes(),
		message{event: "A06", at: "3", class: i, ward: "ORTHO^12^1"}.bytes())
	if len(outcomes) != 1 || outcomes[0].Ward != "ORTHO" || outcomes[0].VisitID == "" {
		t.Errorf("outcomes %+v, want the ward ORTHO", outcomes)
	}
	_, outcomes, _ = join(t, newBridge(t, nil), message{
		event: "A03", at: "3", disposition: home,
		pv1: map[int]string{45: "20261120103000+0000"},
	}.bytes())
	if len(outcomes) != 1 || outcomes[0].DecidedAt != "2026-11-20T10:30:00Z" ||
		outcomes[0].RecordedAt != "2026-11-20T11:00:00Z" {
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
		m := message{
			event: "A08", control: fmt.Sprint(control), at: fmt.Sprint(control), patient: patient,
			obx: []string{"54094-8|" + text, fall},
		}
		return one(t, b, m).PatientID
	}
	merge := func(old, into string) {
		t.Helper()
		control++
		if _, _, events := join(t, b,
			message{event: "A40", control: fmt.Sprint(control), patient: into, old: old}.bytes()); events != nil {
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
	// Of several old numbers the medical record number counts, and one message may merge several patients.
	fifth, pair := say("M5", "h"), seg("PID", map[int]string{3: "M5"})+seg("MRG", map[int]string{1: "M7"})
	control++
	_, _, events := join(t, b, append(message{
		event: "A40", control: fmt.Sprint(control), patient: "M5", old: "X1^^^H^PI~M6^^^H^MR",
	}.bytes(), pair...))
	if got := []string{say("M6", "i"), say("M7", "j")}; events != nil || got[0] != fifth || got[1] != fifth {
		t.Errorf("after a merge of two the numbers are %s, want %s", got, fifth)
	}
	// Medical record numbers come before others, and PID-2 is that of old versions.
	for list, want := range map[string]string{"X9^^^H^PI~M1^^^H^MR": first, "M1^^^H": first} {
		if got := say(list, list); got != want {
			t.Errorf("%s is %s, want %s", list, got, want)
		}
	}
}
